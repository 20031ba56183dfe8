// How kernels are launched: the facts that ptxas cannot know. The file NAME.launch.toml is next to
// NAME.ptxas.txt:
//
//   schema = 1
//   [[launch]]
//   kernel = "prefill<__half, 64, *>"    # glob over the displayed name: * is any text
//   name = "head_dim 64"                 # distinguishes launches of one kernel; optional if there
//                                        # is only one
//   threads = 128                        # per block
//   dynamic_shared_bytes = 40960         # per block; default 0
//   tile_q = 64                          # tiles, if S and O are in registers and Q, K and V in
//                                        # shared memory; without tiles nothing is predicted
//   tile_kv = 64
//   head_dim_qk = 64
//   head_dim_vo = 64                     # default head_dim_qk
//   stages = 2                           # buffers of K and V; default 1
//   element_bytes = 2                    # of Q, K and V
//   tensor_cores = true                  # default false
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
  std::string kernel;  // a glob
  std::string name;
  int threads = 0;
  std::int64_t dynamic_shared_bytes = 0;
  bool tensor_cores = false;
  std::optional<Tiles> tiles;
};

// Errors, returned together: unknown keys, missing or impossible numbers, incomplete tiles.
Result<std::vector<LaunchFacts>> read_launch_facts(const std::filesystem::path& path);
Result<std::vector<LaunchFacts>> parse_launch_facts(std::string_view text, const std::string& file);

// The resources that the tiles alone need (story S4, FlashInfer issue 703): S and O as fp32 in
// registers, Q and `stages` buffers of K and V in shared memory. With head_dim for head_dim_qk =
// head_dim_vo:
//   registers per thread = (tile_q x tile_kv + tile_q x head_dim) / threads
//   shared bytes         = tile_q x head_dim x size + 2 x tile_kv x head_dim x size x stages
struct Prediction {
  double registers = 0;  // per thread
  std::int64_t shared_bytes = 0;
};
Prediction predict(const Tiles& tiles, int threads);

}  // namespace plumbline
