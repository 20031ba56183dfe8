// Dot products that tensor cores computed, in files of one dot product a row:
//   GPU-FORMAT.csv.gz        public ones ("a100-bf16"), converted by ci/recordings.sh
//   ARCH-INSTRUCTION.csv.gz  our own of one mma.sync ("sm_90-bf16_f32_k16"), written by record.h
// Columns: a0.., b0.., c, d_fp32, d_fp16, each the hexadecimal bits of an fp32 that has the value.
// A result column is empty where it was not recorded; with an fp16 result, c is rounded to fp16.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::testing {

// One row: operands as raw bits of the set's format, c and the results as the bits of an fp32.
struct RecordedRow {
  std::array<std::uint32_t, 32> a{}, b{};
  std::uint32_t c = 0;
  std::optional<std::uint32_t> d_f32, d_f16;
};

struct Recording {
  std::string name, gpu;  // "a100-bf16", "a100"
  emulator::MmaFormat format;
  int k = 0;
  std::vector<RecordedRow> rows;
  std::optional<emulator::MmaInstruction> instruction;  // of our own; gpu is "sm_90" there
};

// Throws std::runtime_error with file and line, also for an operand that its format does not hold
// and a file name it does not know.
Recording read_recording(const std::filesystem::path&);
// Writes NAME.csv.gz into the folder, the same bytes each time. Throws std::runtime_error.
void write_recording(const Recording&, const std::filesystem::path& folder);

// The public recordings: $PLUMBLINE_DATA/tensor-core-recordings where `data` (that variable) is
// set, otherwise .recordings of the source tree (ci/recordings.sh), otherwise
// ../shared/data/tensor-core-recordings beside it. The folder may be missing.
std::filesystem::path recordings_folder(const std::filesystem::path& source, const char* data);

// fp32 bits as fp16 bits, to the nearest; those of an fp16 as fp32 bits.
std::uint32_t f16_from_f32(std::uint32_t bits);
std::uint32_t f32_from_f16(std::uint32_t bits);

// c as the instruction takes it, and the recorded result as it gives it: raw bits.
std::uint32_t start_of(const RecordedRow&, emulator::MmaAccumulator);
std::uint32_t result_of(const RecordedRow&, emulator::MmaAccumulator);

}  // namespace plumbline::testing
