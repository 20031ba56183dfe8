// How kernels are launched: the facts that ptxas cannot know. NAME.launch.toml stands beside
// NAME.ptxas.txt:
//
//   schema = 1
//   [[launch]]
//   kernel = "prefill<__half, 64, *>"    # glob over the displayed name: * is any text
//   name = "head_dim 64"                 # tells launches of one kernel apart; may be left out
//                                        where there is one
//   threads = 128                        # per block
//   dynamic_shared_bytes = 40960         # per block; 0 where it is left out
//   tile_q = 64                          # the tiles, where S and O live in registers and Q, K and
//                                        V in shared memory: leave them out
//   tile_kv = 64                         # otherwise, and nothing is predicted. head_dim_vo is
//                                        head_dim_qk where it is left out.
//   head_dim_qk = 64
//   head_dim_vo = 64
//   stages = 2                           # buffers of K and V; 1 where it is left out
//   element_bytes = 2                    # of Q, K and V
//   tensor_cores = true                  # false where it is left out
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace plumbline {

// The tiles of a flash-attention kernel, in rows, keys and elements.
struct Tiles {
  int tile_q = 0, tile_kv = 0, head_dim_qk = 0, head_dim_vo = 0, stages = 1, element_bytes = 0;
};

struct LaunchFacts {
  std::string kernel;  // the glob
  std::string name;
  int threads = 0;
  std::int64_t dynamic_shared_bytes = 0;
  bool tensor_cores = false;
  std::optional<Tiles> tiles;
};

// Errors, all at once: unknown keys, missing or impossible numbers, tiles of which only some are
// there.
Result<std::vector<LaunchFacts>> read_launch_facts(const std::filesystem::path& path);
Result<std::vector<LaunchFacts>> parse_launch_facts(std::string_view text, const std::string& file);

// What the tiles alone ask for (story S4, FlashInfer issue 703): S and O as fp32 in registers, Q
// and `stages` buffers of K and V in shared memory. With head_dim for head_dim_qk = head_dim_vo:
//   registers per thread = (tile_q x tile_kv + tile_q x head_dim) / threads
//   shared bytes         = tile_q x head_dim x size + 2 x tile_kv x head_dim x size x stages
struct Prediction {
  double registers = 0;  // per thread
  std::int64_t shared_bytes = 0;
};
Prediction predict(const Tiles& tiles, int threads);

}  // namespace plumbline
