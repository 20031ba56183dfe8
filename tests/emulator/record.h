// Records a machine's results of mma.sync: a row for each of many dot products. The operands come
// from a seeded generator, so every machine uses the same ones.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulator/recordings.h"

namespace plumbline::testing {

// Runs `count` instructions, consecutive in each array, with registers as for emulator::mma_sync.
// Returns "" or the error.
using RunMma =
    std::function<std::string(const emulator::MmaInstruction&, int count, const std::uint32_t* a,
                              const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d)>;
RunMma emulated(emulator::Arch);

struct Machine {
  emulator::Arch arch;
  std::string gpu;  // "NVIDIA H200", or emulator_name
  std::string driver, toolkit;
  RunMma run;
};
inline constexpr const char* emulator_name = "emulator";
Machine emulator_of(emulator::Arch);

// Returns rows without results: the diagonals of 125 instructions, one seed each, with alternating
// kinds of operands except zeros. Ignored bits of tf32 are zero. A change of the result makes
// recordings of earlier GPUs fail: increase `generator` (stored in recording.toml) then, and keep
// the old function.
inline constexpr int generator = 1, rows_of_recording = 1000;
std::vector<RecordedRow> operand_rows(const emulator::MmaInstruction&);

// Returns the raw bits of each row's result, eight rows per instruction. Throws std::runtime_error
// with the error of `run`.
std::vector<std::uint32_t> results_of(const emulator::MmaInstruction&,
                                      const std::vector<RecordedRow>&, const RunMma& run);

// Writes ARCH-INSTRUCTION.csv.gz for every instruction that the architecture supports, then
// recording.toml with the machine and the commit, and prints a line for each. Returns the number of
// results that differ from the model. Throws std::runtime_error.
int record(const Machine&, const std::filesystem::path& folder, const std::string& commit);

// Returns true if recording.toml of the folder says that the emulator wrote it.
bool is_emulator_recording(const std::filesystem::path& folder);

// Returns what is wrong with a folder with recording.toml: missing files of the architecture's
// instructions, a number of rows other than 1,000, operands that are not the generator's. Returns
// no text for a complete folder.
std::vector<std::string> gaps(const std::filesystem::path& folder);

// The main function of the two recording programs. Exit codes: 0 recorded, all results match the
// model; 1 some results differ (the files are written anyway), or recording failed; 2 usage.
int record_main(int argc, char** argv, const std::function<Machine(const std::string& arch)>&);

}  // namespace plumbline::testing
