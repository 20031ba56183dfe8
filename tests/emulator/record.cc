// Generates operands, packs rows into instructions, and writes and checks folders of recordings.
#include "tests/emulator/record.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/emulator/fragments.h"

namespace plumbline::testing {
namespace {

using emulator::Arch;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

constexpr int rows_per_mma = 8;

// Dot product n of an instruction is column n of B times row n of A, or, in every second
// instruction, row n + 8.
int matrix_row(int mma, int n) { return n + (mma % 2 == 0 ? 0 : 8); }

// The position of an instruction's rows in a warp's registers.
struct RowPosition {
  const MmaInstruction& instruction;
  emulator::MmaRegisters count = registers(instruction);
  int bits = operand_bits(instruction.format);
  int c_bits = accumulator_bits(instruction.accumulator);
};

void set_row(const RowPosition& at, std::uint32_t* a, std::uint32_t* b, std::uint32_t* c, int row,
             int column, const RecordedRow& values) {
  for (int k = 0; k < at.instruction.k; ++k) {
    const auto i = static_cast<std::size_t>(k);
    set_element(a, at.count.a, place_a(at.instruction, row, k), at.bits, values.a[i]);
    set_element(b, at.count.b, place_b(at.instruction, k, column), at.bits, values.b[i]);
  }
  set_element(c, at.count.c, place_c(at.instruction, row, column), at.c_bits,
              start_of(values, at.instruction.accumulator));
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the value of `key = "value"` in recording.toml.
std::string entry(const std::string& toml, const std::string& key) {
  const std::string start = "\n" + key + " = \"";
  const std::size_t at = ("\n" + toml).find(start);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + start.size() - 1;
  return toml.substr(begin, toml.find('"', begin) - begin);
}

std::string recording_name(Arch arch, const MmaInstruction& instruction) {
  return fmt::format("{}-{}", emulator::name(arch), name(instruction));
}

void write_facts(const Machine& machine, const std::filesystem::path& folder,
                 const std::string& commit) {
  std::ofstream file(folder / "recording.toml");
  file << fmt::format(
      "schema = 1\ngpu = \"{}\"\narch = \"{}\"\ndriver = \"{}\"\ntoolkit = \"{}\"\n"
      "date = \"{:%Y-%m-%dT%H:%M:%SZ}\"\ncommit = \"{}\"\ngenerator = {}\nrows = {}\n",
      machine.gpu, emulator::name(machine.arch), machine.driver, machine.toolkit,
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())), commit,
      generator, rows_of_recording);
  if (!file.flush())
    throw std::runtime_error((folder / "recording.toml").string() + ": cannot be written");
}

}  // namespace

RunMma emulated(Arch arch) {
  return [arch](const MmaInstruction& instruction, int count, const std::uint32_t* a,
                const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
    const emulator::MmaRegisters words = registers(instruction);
    for (int n = 0; n < count; ++n) {
      mma_sync(arch, instruction, a + n * 32 * words.a, b + n * 32 * words.b, c + n * 32 * words.c,
               d + n * 32 * words.c);
    }
    return std::string();
  };
}

Machine emulator_of(Arch arch) { return {arch, emulator_name, "none", "none", emulated(arch)}; }

std::vector<RecordedRow> operand_rows(const MmaInstruction& instruction) {
  static_assert(all_operands.back() == Operands::zeros);
  constexpr std::size_t kinds = all_operands.size() - 1;
  const RowPosition at{instruction};
  const std::uint32_t kept = instruction.format == MmaFormat::tf32 ? ~0x1fffu : ~0u;
  std::vector<RecordedRow> rows(rows_of_recording);
  std::mt19937_64 random((static_cast<std::uint64_t>(instruction.format) << 16) |
                         (static_cast<std::uint64_t>(instruction.accumulator) << 8) |
                         static_cast<std::uint64_t>(instruction.k));
  Fragments fragments;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int n = static_cast<int>(i % rows_per_mma);
    if (n == 0) fill(all_operands[i / rows_per_mma % kinds], instruction, random, fragments);
    for (int k = 0; k < instruction.k; ++k) {
      const auto e = static_cast<std::size_t>(k);
      rows[i].a[e] =
          kept & get_element(fragments.a.data(), at.count.a, place_a(instruction, n, k), at.bits);
      rows[i].b[e] =
          kept & get_element(fragments.b.data(), at.count.b, place_b(instruction, k, n), at.bits);
    }
    const std::uint32_t c =
        get_element(fragments.c.data(), at.count.c, place_c(instruction, n, n), at.c_bits);
    rows[i].c = instruction.accumulator == MmaAccumulator::f32 ? c : f32_from_f16(c);
  }
  return rows;
}

std::vector<std::uint32_t> results_of(const MmaInstruction& instruction,
                                      const std::vector<RecordedRow>& rows, const RunMma& run) {
  const RowPosition at{instruction};
  const int all = static_cast<int>(rows.size()), count = (all + rows_per_mma - 1) / rows_per_mma;
  const auto words = [count](int registers) {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(count * 32 * registers));
  };
  std::vector<std::uint32_t> a = words(at.count.a), b = words(at.count.b), c = words(at.count.c),
                             d = words(at.count.c), results;
  const auto fragment = [](std::vector<std::uint32_t>& array, int registers, int mma) {
    return array.data() + static_cast<std::ptrdiff_t>(mma) * 32 * registers;
  };
  for (int i = 0; i < all; ++i) {
    const int mma = i / rows_per_mma, n = i % rows_per_mma;
    set_row(at, fragment(a, at.count.a, mma), fragment(b, at.count.b, mma),
            fragment(c, at.count.c, mma), matrix_row(mma, n), n, rows[static_cast<std::size_t>(i)]);
  }
  const std::string error = run(instruction, count, a.data(), b.data(), c.data(), d.data());
  if (!error.empty()) throw std::runtime_error(name(instruction) + ": " + error);
  for (int i = 0; i < all; ++i) {
    const int mma = i / rows_per_mma, n = i % rows_per_mma;
    results.push_back(get_element(fragment(d, at.count.c, mma), at.count.c,
                                  place_c(instruction, matrix_row(mma, n), n), at.c_bits));
  }
  return results;
}

int record(const Machine& machine, const std::filesystem::path& folder, const std::string& commit) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw std::runtime_error(folder.string() + ": " + error.message());
  int all_different = 0;
  for (const MmaInstruction& instruction : all_instructions) {
    if (!supports(machine.arch, instruction)) continue;
    Recording recording{recording_name(machine.arch, instruction),
                        std::string(emulator::name(machine.arch)),
                        instruction.format,
                        instruction.k,
                        operand_rows(instruction),
                        instruction};
    const std::vector<std::uint32_t> results = results_of(instruction, recording.rows, machine.run);
    const emulator::MmaModel expected = model(machine.arch, instruction);
    int different = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      RecordedRow& row = recording.rows[i];
      different += results[i] != dot(expected, instruction.format, instruction.k, row.a.data(),
                                     row.b.data(), start_of(row, instruction.accumulator));
      if (instruction.accumulator == MmaAccumulator::f32)
        row.d_f32 = results[i];
      else
        row.d_f16 = f32_from_f16(results[i]);
    }
    write_recording(recording, folder);
    fmt::print("{}: {} rows, {} differ from the model\n", recording.name, results.size(),
               different);
    all_different += different;
  }
  write_facts(machine, folder, commit);
  return all_different;
}

bool is_emulator_recording(const std::filesystem::path& folder) {
  return entry(read_file(folder / "recording.toml"), "gpu") == emulator_name;
}

std::vector<std::string> gaps(const std::filesystem::path& folder) {
  const auto arch = emulator::parse_arch(entry(read_file(folder / "recording.toml"), "arch"));
  if (!arch) return {folder.string() + "/recording.toml: it names no architecture with a model"};
  std::vector<std::string> found;
  for (const MmaInstruction& instruction : all_instructions) {
    if (!supports(*arch, instruction)) continue;
    const std::filesystem::path path = folder / (recording_name(*arch, instruction) + ".csv.gz");
    if (!std::filesystem::exists(path)) {
      found.push_back(path.string() + ": is missing");
      continue;
    }
    const std::vector<RecordedRow> rows = read_recording(path).rows,
                                   expected = operand_rows(instruction);
    if (rows.size() != expected.size()) {
      found.push_back(
          fmt::format("{}: {} rows, not {}", path.string(), rows.size(), expected.size()));
      continue;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].a == expected[i].a && rows[i].b == expected[i].b && rows[i].c == expected[i].c)
        continue;
      found.push_back(fmt::format("{}:{}: operands that are not those of generator {}",
                                  path.string(), i + 2, generator));
      break;
    }
  }
  return found;
}

int record_main(int argc, char** argv, const std::function<Machine(const std::string&)>& find) {
  std::filesystem::path folder;
  std::string arch;
  CLI::App app("Records 1,000 results of each mma.sync instruction, for ctest -R Recordings");
  app.add_option("--out", folder, "folder for ARCH-INSTRUCTION.csv.gz and recording.toml")
      ->required();
  app.add_option("--arch", arch, "architecture of the emulator (a GPU has its own)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const Machine machine = find(arch);
    fmt::print("{} ({}), driver {}, toolkit {}\n", machine.gpu, emulator::name(machine.arch),
               machine.driver, machine.toolkit);
    const char* commit = std::getenv("PLUMBLINE_COMMIT");
    return record(machine, folder, commit == nullptr ? "unknown" : commit) == 0 ? 0 : 1;
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace plumbline::testing
