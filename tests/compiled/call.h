// Runs a problem with a provider library, in this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::compiled::test {

// A ragged problem with one 16-bit dtype for Q, K, V and the output, and head_dim_qk = head_dim_vo.
struct Ragged {
  std::uint32_t dtype = PLUMBLINE_BF16;
  std::int64_t heads_q = 1, heads_kv = 1, head_dim = 64;
  std::vector<std::int32_t> rows, keys;  // for each sample
  std::uint32_t mask = PLUMBLINE_MASK_NONE;
  double scale = 0.125;
  std::vector<std::uint16_t> q, k, v;  // [tokens, heads, head_dim]
};
// Fills Q, K and V with normal values from the seed.
void fill(Ragged&, std::uint64_t seed);

struct KernelResult {
  std::string error;  // "" on success
  std::vector<std::uint16_t> out;
  std::vector<float> lse;  // [tokens, heads]
  std::string launched;
  std::int64_t shared_memory_bytes = -1;
};

// A provider library, loaded once for each options text.
class Loaded {
 public:
  Loaded(const std::string& path, const std::string& options);
  [[nodiscard]] KernelResult run_problem(const std::string& kernel, const std::string& arch,
                                         const Ragged&) const;

 private:
  const plumbline_provider* provider_ = nullptr;
};

}  // namespace plumbline::compiled::test
