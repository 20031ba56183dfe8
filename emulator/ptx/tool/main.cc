// plumbline-ptx: counts the instructions of PTX that can be translated, prints or compiles the
// translation, and packs and lists fat binaries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "emulator/ptx/compile.h"
#include "emulator/ptx/contraction.h"
#include "emulator/ptx/tool/fat_binary.h"

namespace {

using plumbline::ptx::Function;
using plumbline::ptx::Module;

// The exit statuses of plumbline: 2 for the command line, 3 for a file.
constexpr int file_is_wrong = 3;

int complain(std::string_view what) {
  fmt::print(stderr, "plumbline-ptx: {}\n", what);
  return file_is_wrong;
}
int complain_of(const std::string& path, const plumbline::ptx::Error& error) {
  return complain(fmt::format("{}:{}: {}", path, error.line, error.text));
}

tl::expected<Module, std::string> read(const std::string& path) {
  const auto text = plumbline::ptx::contents(path);
  if (!text) return tl::unexpected(text.error());
  auto module = plumbline::ptx::parse(*text);
  if (!module)
    return tl::unexpected(fmt::format("{}:{}: {}", path, module.error().line, module.error().text));
  return std::move(*module);
}

bool is_kernel(const Function& function) { return function.entry && !function.external; }

std::size_t distinct_opcodes(const Function& function) {
  std::set<std::string> opcodes;
  for (const auto& statement : function.body)
    if (statement.kind == plumbline::ptx::Statement::Kind::instruction)
      opcodes.insert(statement.opcode);
  return opcodes.size();
}

// Shortens a name to `width` characters. Keeps its end, where template instances differ.
std::string shortened(const std::string& name, std::size_t width) {
  return name.size() <= width ? name : "..." + name.substr(name.size() - width + 3);
}

// Prints a line per kernel, then the refused opcodes: each with its first line, or every line.
int census(const std::vector<std::string>& paths, bool every_line) {
  fmt::print("{:<44} {:>12} {:>8} {:>11}\n", "kernel", "instructions", "opcodes", "translated");
  std::map<std::string, std::vector<std::string>> refused;
  int instructions = 0, wrong = 0, code = 0;
  for (const std::string& path : paths) {
    const auto module = read(path);
    if (!module) {
      code = complain(module.error());
      continue;
    }
    for (const Function& function : module->functions) {
      if (!is_kernel(function)) continue;
      const auto made = translate(*module, function, {});
      if (!made) {
        code = complain_of(path, made.error());
        continue;
      }
      const auto not_known = static_cast<int>(made->refused.size());
      fmt::print("{:<44} {:>12} {:>8} {:>9.2f} %\n", shortened(function.name, 44),
                 made->instructions, distinct_opcodes(function),
                 100.0 * (made->instructions - not_known) / std::max(made->instructions, 1));
      instructions += made->instructions;
      wrong += not_known;
      for (const auto& refusal : made->refused)
        refused[fmt::format("{}: {}", refusal.opcode, refusal.reason)].push_back(
            fmt::format("{}:{}", path, refusal.line));
    }
  }
  fmt::print("{:<44} {:>12} {:>8} {:>9.2f} %\n", "all", instructions, "",
             100.0 * (instructions - wrong) / std::max(instructions, 1));
  for (const auto& [what, places] : refused) {
    fmt::print("refused {:>4} times, first at {}\n  {}\n", places.size(), places.front(), what);
    if (!every_line) continue;
    for (const std::string& place : places) fmt::print("  at {}\n", place);
  }
  return code;
}

// Prints a line per kernel, with its full name last.
int float_counts(const std::vector<std::string>& paths, bool contract) {
  fmt::print("{:>8} {:>8} {:>8} {:>9} {:>10}  {}\n", "fma", "add", "mul", "plus_zero", "contracted",
             "kernel");
  for (const std::string& path : paths) {
    const auto module = read(path);
    if (!module) return complain(module.error());
    for (const Function& function : module->functions) {
      if (!is_kernel(function)) continue;
      const auto counts = plumbline::ptx::count_floats(*module, function, contract);
      fmt::print("{:>8} {:>8} {:>8} {:>9} {:>10}  {}\n", counts.fma, counts.add, counts.mul,
                 counts.plus_zero, counts.contracted, function.name);
    }
  }
  return 0;
}

int translate_one(const std::string& path, const std::string& entry, bool contract) {
  const auto module = read(path);
  if (!module) return complain(module.error());
  for (const Function& function : module->functions) {
    if (!is_kernel(function) || function.name.find(entry) == std::string::npos) continue;
    const auto made = translate(*module, function, {.contract = contract});
    if (!made) return complain_of(path, made.error());
    fmt::print("{}", full_source(*made, path));
    return 0;
  }
  std::string names;
  for (const Function& function : module->functions)
    if (is_kernel(function)) names += "\n  " + function.name;
  return complain(
      fmt::format("{} has no kernel whose name has \"{}\"\n  remedy: name one of its kernels:{}",
                  path, entry, names.empty() ? " it has none" : names));
}

// Compiles each kernel of the files to a library in `folder`, where emulator/cudart looks first.
int compile_all(const std::vector<std::string>& paths, const std::string& folder) {
  for (const std::string& path : paths) {
    const auto text = plumbline::ptx::contents(path);
    const auto module = read(path);
    if (!text) return complain(text.error());
    if (!module) return complain(module.error());
    for (const Function& function : module->functions) {
      if (!is_kernel(function)) continue;
      const auto made = plumbline::ptx::compile_ahead(*module, function.name,
                                                      plumbline::ptx::text_name(*text), {}, folder);
      if (!made) return complain(fmt::format("{}: {}", path, made.error()));
    }
  }
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{"Translates the PTX of compiled kernels to C++ for the emulator."};
  app.footer(
      "Examples:\n  plumbline-ptx census kernel.ptx\n"
      "  plumbline-ptx counts kernel.ptx --no-contract\n"
      "  plumbline-ptx translate kernel.ptx --kernel attn > attn.cc\n"
      "  plumbline-ptx fatbin kernel_80.ptx kernel_90.ptx -o kernel.fatbin\n"
      "  plumbline-ptx list kernel.fatbin\n"
      "  plumbline-ptx compile kernel.ptx -o compiled");
  app.require_subcommand(1);
  std::vector<std::string> paths;
  auto* const counts = app.add_subcommand(
      "census", "How many instructions of each kernel translate, and which do not, by line");
  counts->add_option("file", paths, "Files of PTX")->required();
  bool every_line = false;
  counts->add_flag("--lines", every_line, "Print every refused line, not one for each reason");
  std::string path, entry;
  bool separately = false;
  auto* const floats = app.add_subcommand(
      "counts", "How many fma, sums and products of fp32 each kernel has after contraction");
  floats->add_option("file", paths, "Files of PTX")->required();
  auto* const one = app.add_subcommand("translate", "The C++ of one kernel");
  one->add_option("file", path, "A file of PTX")->required();
  one->add_option("-k,--kernel", entry, "Part of the kernel's name (default: the first kernel)");
  for (auto* const command : {floats, one})
    command->add_flag("--no-contract", separately,
                      "Products and sums stay apart (ptxas -fmad=false)");
  std::string output;
  auto* const packs = app.add_subcommand(
      "fatbin", "Write a CUDA fat binary of PTX, each file for the architecture of its .target");
  packs->add_option("file", paths, "Files of PTX")->required();
  packs->add_option("-o,--output", output, "The fat binary")->required();
  auto* const lists = app.add_subcommand("list", "List the entries of a CUDA fat binary");
  lists->add_option("file", path, "A fat binary, such as nvcc -fatbin writes")->required();
  auto* const compiles = app.add_subcommand(
      "compile", "Compile every kernel for the emulator now instead of when it first runs");
  compiles->add_option("file", paths, "Files of PTX")->required();
  compiles->add_option("-o,--output", output, "The folder of compiled kernels")->required();
  CLI11_PARSE(app, argc, argv);
  if (*counts) return census(paths, every_line);
  if (*floats) return float_counts(paths, !separately);
  if (*one) return translate_one(path, entry, !separately);
  if (*compiles) return compile_all(paths, output);
  const auto said = *packs ? plumbline::ptx::pack(paths, output) : plumbline::ptx::list(path);
  if (!said) return complain(said.error());
  fmt::print("{}", *said);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int code = file_is_wrong;
  try {
    code = run(argc, argv);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) complain(error.what());
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return complain(
      "stdout cannot be written: the output is incomplete\n"
      "  remedy: free space where it goes, or send it elsewhere");
}
