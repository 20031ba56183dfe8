// What real tensor cores answered, read from files of one dot product a row. They are called
// GPU-FORMAT.csv.gz; README.md of the data folder has their format.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/emulator/tensor_core.h"

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
};

// Throws std::runtime_error with file and line, also for an operand that its format does not hold
// and a file name it does not know.
Recording read_recording(const std::filesystem::path&);

// $PLUMBLINE_DATA or ../shared/data beside the source tree, with /tensor-core-recordings.
std::filesystem::path recordings_folder();

// fp32 bits as fp16 bits, to the nearest; those of an fp16 as fp32 bits.
std::uint32_t f16_from_f32(std::uint32_t bits);
std::uint32_t f32_from_f16(std::uint32_t bits);

}  // namespace plumbline::testing
