// Dot products that tensor cores computed, in files with one dot product per row:
//   GPU-FORMAT.csv.gz        public recordings ("a100-bf16"), converted by ci/recordings.sh
//   ARCH-INSTRUCTION.csv.gz  our recordings of one mma.sync ("sm_90-bf16_f32_k16"), by record.h
// Columns: a0.., b0.., c, d_fp32, d_fp16, each the hexadecimal bits of an fp32 with the value.
// A result column is empty if it was not recorded; with an fp16 result, c is rounded to fp16.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::testing {

// One row: operands as raw bits of the recording's format, c and the results as fp32 bits.
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
  std::optional<emulator::MmaInstruction> instruction;  // only in our recordings; gpu is "sm_90"
};

// Throws std::runtime_error with file and line, also for an operand that its format cannot hold and
// for an unknown file name.
Recording read_recording(const std::filesystem::path&);
// Writes NAME.csv.gz into the folder; the bytes are reproducible. Throws std::runtime_error.
void write_recording(const Recording&, const std::filesystem::path& folder);

// Returns the folder of the public recordings: tensor-core-recordings in `data` ($PLUMBLINE_DATA)
// if that is set, otherwise .recordings of the source tree (ci/recordings.sh), otherwise
// ../shared/data/tensor-core-recordings next to the source tree. The folder may be missing.
std::filesystem::path recordings_folder(const std::filesystem::path& source, const char* data);

// Converts fp32 bits to the nearest fp16 bits, and fp16 bits to fp32 bits.
std::uint32_t f16_from_f32(std::uint32_t bits);
std::uint32_t f32_from_f16(std::uint32_t bits);

// Return c and the recorded result as raw bits of the instruction's accumulator.
std::uint32_t start_of(const RecordedRow&, emulator::MmaAccumulator);
std::uint32_t result_of(const RecordedRow&, emulator::MmaAccumulator);

}  // namespace plumbline::testing
