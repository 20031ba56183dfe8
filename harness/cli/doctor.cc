// plumbline doctor: is everything there that a run needs? Each line says what was looked at and
// what to do if it is missing.
#include <fmt/color.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/cli/settings.h"
#include "harness/contract/reviewed_text.h"
#include "harness/provider/client/bundled_providers.h"
#include "harness/provider/client/default_providers.h"
#include "harness/provider/client/launch.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct Finding {
  std::string what;
  bool good = false;
  bool needed = true;  // false: worth knowing, not a fault
  std::string detail;
};

Finding processor() {
  const bool good = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  return {"processor", good, true,
          good ? fmt::format("x86-64-v3, {} threads", std::thread::hardware_concurrency())
               : "no AVX2 and FMA: the CPU kernels refuse to run here"};
}

Finding settings() {
  const SettingsInUse& in_use = settings_in_use();
  const std::string sentence = in_use.sentence();
  const std::string file = in_use.file.empty()
                               ? fmt::format("no {} here or above", settings_file_name)
                               : std::filesystem::absolute(in_use.file).lexically_normal().string();
  return {"settings", true, false, sentence.empty() ? file : file + "; " + sentence};
}

Finding reviewed_text(const ProviderOptions& options) {
  const auto text = options.reviewed_text();
  return {"contracts", text.has_value(), true,
          text ? fmt::format("{} contracts, {} support entries", text->contracts.contracts.size(),
                             text->support.entries.size())
               : to_string(text.error())};
}

// "cpu 0.1.0: cpu/flash, cpu/naive and 7 more", and where they run or why nowhere.
std::string kernels_of(const Hello& hello) {
  constexpr std::size_t most = 4;
  const std::vector<std::string> first(
      hello.kernels.begin(), hello.kernels.begin() + std::min(most, hello.kernels.size()));
  const std::size_t more = hello.kernels.size() - first.size();
  return fmt::format(
      "{} {}: {}{}{}{}", hello.provider, hello.version, fmt::join(first, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "",
      hello.devices.empty() ? "" : fmt::format(" (on {})", fmt::join(hello.devices, ", ")),
      hello.no_device.empty() ? "" : fmt::format(" (no device: {})", hello.no_device));
}

Finding provider(const std::string& what, const std::string& named, bool needed) {
  MeasureOptions measure;
  measure.providers = {named};
  const auto found = discover(measure);
  return {what, found.has_value(), needed,
          found ? kernels_of(found->front().hello) : error_text(found.error(), 0)};
}

// What a run loads must work. The other bundled providers may lack a package or a GPU: that is said
// of each.
std::vector<Finding> providers(const ProviderOptions& options) {
  const auto loaded = options.libraries();
  std::vector<std::function<Finding()>> questions;
  questions.reserve(loaded.size());
  for (const auto& named : loaded)
    questions.emplace_back([named] { return provider("provider", named, true); });
  for (const BundledProvider& bundled : bundled_providers(library_directory())) {
    if (std::find(loaded.begin(), loaded.end(), bundled.path.string()) != loaded.end()) continue;
    questions.emplace_back([bundled] {
      Finding finding = provider("bundled", bundled.path.string(), false);
      // a package, as its version says, or a device
      const bool lacks = finding.detail.find(" absent") != std::string::npos ||
                         finding.detail.find(" (no device: ") != std::string::npos;
      finding.good = finding.good && !lacks;
      finding.detail = fmt::format("--provider {}{}: {}", bundled.name,
                                   finding.good ? "" : " cannot be used", finding.detail);
      return finding;
    });
  }
  // Importing a framework takes seconds of a processor: as many at once as there are.
  std::vector<Finding> findings(questions.size());
  std::atomic<std::size_t> next = 0;
  const auto ask = [&] {
    for (std::size_t i = next++; i < questions.size(); i = next++) findings[i] = questions[i]();
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(ask);
  ask();
  for (auto& other : others) other.join();
  return findings;
}

// The interpreter of Python kernels, and the packages without which none runs.
Finding python() {
  const auto worker = find_python_worker();
  if (!worker) return {"Python", false, false, error_text(worker.error(), 0)};
  if (!std::filesystem::exists(worker->parent_path() / "plumbline_python_support.so")) {
    return {"Python", false, false,
            fmt::format("{} is there, plumbline_python_support.so is not beside it\n  remedy: run "
                        "ci/quickstart.sh (target programs)",
                        worker->string())};
  }
  const auto interpreter = find_python();
  if (!interpreter) return {"Python", false, false, error_text(interpreter.error(), 0)};
  const std::string program =
      "import sys, importlib\nprint(sys.version.split()[0], end='')\nfor name in ('numpy', "
      "'ml_dtypes'):\n"
      "    print(',', name, importlib.import_module(name).__version__, end='')\n";
  const std::string command =
      shell_quoted(interpreter->string()) + " -c " + shell_quoted(program) + " 2>&1";
  std::string said;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr)
    return {"Python", false, false, fmt::format("{} cannot be started", interpreter->string())};
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    said.append(buffer.data(), n);
  if (::pclose(pipe) == 0)
    return {"Python", true, false, fmt::format("{}: {}", interpreter->string(), said)};
  while (said.ends_with('\n')) said.pop_back();
  const auto last = said.rfind('\n');
  return {
      "Python", false, false,
      fmt::format("{} cannot serve kernels: {}\n  remedy: run ci/setup.sh --numpy, or set "
                  "PLUMBLINE_PYTHON to an interpreter with "
                  "numpy and ml_dtypes",
                  interpreter->string(), last == std::string::npos ? said : said.substr(last + 1))};
}

Finding database(const DatabaseOption& option) {
  if (!std::filesystem::exists(option.path))
    return {"database", true, false, fmt::format("{} does not exist yet", option.path.string())};
  auto store = option.open(true);
  if (!store) return {"database", false, true, to_string(store.error())};
  auto runs = (*store)->runs(0);
  return {"database", runs.has_value(), true,
          runs ? fmt::format("{}: {} runs", option.path.string(), runs->size())
               : to_string(runs.error())};
}

Finding gpu() {
  const bool there = has_cuda_device();
  return {"GPU", there, false,
          there ? "a CUDA device is there"
                : "neither /dev/nvidia0 nor nvidia-smi shows one: kernels of cuda are not loaded, "
                  "those of emulated stand in"};
}

Finding reference() {
  const auto library = ReferenceOption{}.open();
  return {"reference", true, false,
          *library != nullptr ? fmt::format("on {}", (*library)->device_name()) : "on the CPU"};
}

int doctor(const ProviderOptions& provider_options, const DatabaseOption& database_option,
           const std::string& format) {
  std::vector<Finding> findings{processor(), settings(), reviewed_text(provider_options)};
  for (auto& finding : providers(provider_options)) findings.push_back(std::move(finding));
  findings.push_back(python());
  findings.push_back(database(database_option));
  findings.push_back(gpu());
  findings.push_back(reference());

  bool fine = true;
  Json json = Json::array();
  const Style style = output_style();
  for (const auto& finding : findings) {
    fine = fine && (finding.good || !finding.needed);
    const char* mark = finding.good ? "ok" : finding.needed ? "MISSING" : "-";
    json.push_back({{"what", finding.what},
                    {"good", finding.good},
                    {"needed", finding.needed},
                    {"detail", finding.detail}});
    if (format == "json") continue;
    const auto colour = finding.good     ? fmt::terminal_color::green
                        : finding.needed ? fmt::terminal_color::red
                                         : fmt::terminal_color::white;
    const auto label =
        style.colour ? fmt::format(fmt::fg(colour), "{:8}", mark) : fmt::format("{:8}", mark);
    fmt::print("{}{:11} {}\n", label, finding.what, finding.detail);
  }
  if (format == "json") print_json(json_text({{"checks", std::move(json)}, {"fine", fine}}));
  return fine ? exit_fine : exit_infrastructure;
}

}  // namespace

void add_doctor(Command app, int& exit_code) {
  const Command command = app.add_subcommand(
      "doctor", "Check what a run needs: processor, providers, Python, contracts, database");
  auto provider_options = std::make_shared<ProviderOptions>();
  auto database_option = std::make_shared<DatabaseOption>();
  auto format = std::make_shared<std::string>("text");
  provider_options->add_to(command);
  database_option->add_to(command);
  add_format(command, *format, {"text", "json"});
  command.footer("Example:\n  plumbline doctor --provider ./libmine.so");
  command.callback(
      [=, &exit_code] { exit_code = doctor(*provider_options, *database_option, *format); });
}

}  // namespace plumbline::cli
