// Options of the providers "cuda" and "emulated", given after the library's name. For example:
// --provider ./plumbline_emulated.so:tile=64x32,schedule=random
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

struct Options {
  // tile=64x32: query rows x keys of prefill_mma; 0: the first compiled tiling.
  int tile_q = 0, tile_kv = 0;
  // splits=1..64: KV splits of decode; 0: one per 512 keys of a sample.
  int splits = 0;
  // p_dtype=fp32|fp16|bf16: the dtype that prefill_simt rounds P to.
  std::uint32_t p_dtype = PLUMBLINE_F32;
  // accumulator=fp32|fp16: accumulators of prefill_mma; fp16 only for fp16 inputs.
  std::uint32_t accumulator = PLUMBLINE_F32;
  // schedule=…: the emulator's order of threads. alternating: as each run requests
  // (plumbline_tensors.threads_reversed).
  enum class Schedule { alternating, in_order, reversed, random } schedule = Schedule::alternating;
  // seed=N: the seed of schedule=random.
  std::uint64_t seed = 0;
  // The text as given.
  std::string text;
};
// Sets the options and returns the first error of the text, or "". Valid options are set even if
// there is an error.
std::string parse_options(std::string_view text, Options& options);

}  // namespace plumbline::attention
