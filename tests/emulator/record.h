// Records what mma.sync answers on a machine: a row for each of many dot products, with operands
// from a seeded generator, so that every machine makes the same ones again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulator/recordings.h"

namespace plumbline::testing {

// Runs `count` instructions, one after the other in each array, registers as emulator::mma_sync
// takes them. Returns "" or the error.
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

// Rows without results: the diagonals of 125 instructions, with operands of each kind but zeros in
// turns, from one seed for each instruction. Bits of tf32 that the instruction ignores are zero. A
// change of what this returns makes recordings of earlier GPUs fail: give it a new number then,
// which recording.toml has, and keep the old one.
inline constexpr int generator = 1, rows_of_recording = 1000;
std::vector<RecordedRow> operand_rows(const emulator::MmaInstruction&);

// The raw bits of each row's result, eight rows in one instruction. Throws std::runtime_error with
// what `run` says.
std::vector<std::uint32_t> results_of(const emulator::MmaInstruction&,
                                      const std::vector<RecordedRow>&, const RunMma& run);

// Writes ARCH-INSTRUCTION.csv.gz of every instruction that the architecture supports, then
// recording.toml with the machine and the commit, and prints a line for each. Returns how many
// results differ from the model. Throws std::runtime_error.
int record(const Machine&, const std::filesystem::path& folder, const std::string& commit);

// True if recording.toml of the folder says that the emulator wrote it.
bool is_of_emulator(const std::filesystem::path& folder);

// Sentences about a folder with recording.toml: an instruction of the architecture that has no
// file, other than 1,000 rows, operands that are not the generator's. Empty: it is whole.
std::vector<std::string> gaps(const std::filesystem::path& folder);

// Options and exit codes of the two programs that record: 0 recorded, and as the model says; 1 some
// results differ (the files are written in that case as well), or it failed; 2 usage.
int record_main(int argc, char** argv, const std::function<Machine(const std::string& arch)>&);

}  // namespace plumbline::testing
