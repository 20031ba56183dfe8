// Options of the providers "cuda" and "emulated", given behind the library's name. For example:
// --provider ./plumbline_emulated.so:tile=64x32,schedule=random
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

struct Options {
  // tile=64x32: query rows x keys of prefill_mma; 0: the first that is compiled.
  int tile_q = 0, tile_kv = 0;
  // splits=1..64: KV splits of decode; 0: one for each 512 keys of a sample.
  int splits = 0;
  // p_dtype=fp32|fp16|bf16: what prefill_simt rounds P to.
  std::uint32_t p_dtype = PLUMBLINE_F32;
  // accumulator=fp32|fp16: of prefill_mma; fp16 is for fp16 inputs.
  std::uint32_t accumulator = PLUMBLINE_F32;
  // schedule=…, of the emulator: the order in which threads run. alternating: as each run is asked
  // (plumbline_tensors.threads_reversed).
  enum class Schedule { alternating, in_order, reversed, random } schedule = Schedule::alternating;
  // seed=N: of schedule=random.
  std::uint64_t seed = 0;
  // The text as given.
  std::string text;
};
// What is wrong with the text, "" if nothing is; what is right with it is set all the same.
std::string parse_options(std::string_view text, Options& options);

}  // namespace plumbline::attention
