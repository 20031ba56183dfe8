// Every barrier and wait of our CUDA kernels is necessary: without any one of them, the emulator
// reports an error or gives other bits. Problems have three or more tiles of keys, so that buffers
// are reused.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/instances.h"

namespace plumbline::attention {
namespace {

using emulator::LaunchOptions;
using emulator::Schedule;
using emulator::SyncSite;

// One sample, one key head, two query heads, and all buffers as the kernels read them.
class Problem {
 public:
  static constexpr int seq_q = 40, seq_kv = 300, heads_q = 2;

  explicit Problem(const Instance& instance)
      : instance_(instance), head_dim_(instance.head_dim == 0 ? 64 : instance.head_dim) {
    const std::size_t size = instance.dtype == PLUMBLINE_F32 ? 4 : 2;
    const auto row = static_cast<std::size_t>(head_dim_);
    fill(q_, seq_q * heads_q * row, size);
    if (instance.fp8_kv) {
      fill_fp8(k_, seq_kv * row);
      fill_fp8(v_, seq_kv * row);
    } else {
      fill(k_, seq_kv * row, size);
      fill(v_, seq_kv * row, size);
    }
    Parameters& p = parameters_;
    p.q = map(q_.data(), heads_q, seq_q);
    p.k = map(k_.data(), 1, seq_kv);
    p.v = map(v_.data(), 1, seq_kv);
    p.cu_seqlens_q = sums_q_;
    p.cu_seqlens_kv = sums_kv_;
    p.rows = seq_q;
    p.heads_q = p.group = heads_q;
    p.head_dim_qk = p.head_dim_vo = head_dim_;
    p.padded = 1;
    p.window_left = p.window_right = -1;
    p.logit_scale = 0.18F;
    p.dtype_kv = PLUMBLINE_E4M3;  // read by instances for fp8 only
    if (instance.fp8_kv) p.k_scale = p.v_scale = {&scale_, 0, 0};
    p.dtype_out = PLUMBLINE_F32;
    p.p_dtype = PLUMBLINE_F32;
    p.splits = 1;
    p.split_keys = 1024;
  }

  struct Result {
    std::string error;
    std::vector<std::uint32_t> bits;  // of the output
    bool operator==(const Result&) const = default;
  };
  Result run(const LaunchOptions& options) const {
    std::vector<float> out(static_cast<std::size_t>(seq_q * heads_q * head_dim_), -1.0F);
    Parameters p = parameters_;
    p.out = map(out.data(), heads_q, seq_q);
    const std::string_view kernel = instance_.kernel;
    emulator::Dim3 grid{static_cast<unsigned>((seq_q + instance_.tile_q - 1) / instance_.tile_q),
                        heads_q, 1};
    if (kernel == "decode_mma") grid = {static_cast<unsigned>((seq_q * heads_q + 15) / 16), 1, 1};
    const int extra = kernel == "naive" ? 2 * head_dim_ * static_cast<int>(sizeof(float)) : 0;
    Result result;
    result.error = emulator::launch(options, grid, {static_cast<unsigned>(instance_.threads)},
                                    static_cast<std::size_t>(instance_.shared_bytes + extra),
                                    instance_.function, p);
    result.bits.resize(out.size());
    std::memcpy(result.bits.data(), out.data(), out.size() * sizeof(float));
    return result;
  }

 private:
  void fill(std::vector<std::uint32_t>& storage, std::size_t elements, std::size_t size) {
    std::normal_distribution<float> normal;
    storage.resize(elements * size / 4);
    auto* bytes = reinterpret_cast<unsigned char*>(storage.data());
    for (std::size_t i = 0; i < elements; ++i) {
      // exact in every dtype
      const float value = std::ldexp(std::round(std::ldexp(normal(random_), 5)), -5);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, 4);
      if (instance_.dtype == PLUMBLINE_BF16) bits >>= 16U;
      if (instance_.dtype == PLUMBLINE_F16) bits = half(value);
      std::memcpy(bytes + i * size, &bits, size);
    }
  }
  void fill_fp8(std::vector<std::uint32_t>& storage, std::size_t elements) {
    storage.resize(elements / 4);
    for (std::uint32_t& word : storage)
      // 2^-2 to 2^0, both signs
      word = 0x28282828U + (static_cast<std::uint32_t>(random_()) & 0x8f8f8f8fU);
  }
  static std::uint32_t half(float value) {
    const auto converted = static_cast<_Float16>(value);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &converted, 2);
    return bits;
  }
  TensorMap map(const void* data, int heads, int tokens) const {
    const std::int64_t row = head_dim_;
    return {const_cast<void*>(data), tokens * heads * row, heads * row, row, 1, tokens};
  }

  const Instance& instance_;
  int head_dim_;
  std::mt19937 random_{7};
  std::vector<std::uint32_t> q_, k_, v_;
  float scale_ = 1.25F;
  std::int32_t sums_q_[2] = {0, seq_q}, sums_kv_[2] = {0, seq_kv};
  Parameters parameters_{};
};

std::vector<LaunchOptions> schedules() {
  std::vector<LaunchOptions> all(5);
  all[1].schedule = Schedule::reversed;
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    all[seed].schedule = Schedule::random;
    all[seed].seed = seed;
  }
  return all;
}

std::vector<Instance> every_instance() {
  std::vector<Instance> all;
  for (const InstanceSource& source : instance_sources) {
    if (source.name == "merge_splits") continue;  // no barrier
    for (const Instance& instance : source.instances()) {
      if (instance.head_dim <= 64) all.push_back(instance);
    }
  }
  return all;
}

class Sync : public testing::TestWithParam<Instance> {};

TEST_P(Sync, EveryScheduleGivesSameBits) {
  const Problem problem(GetParam());
  const auto expected = problem.run({});
  ASSERT_EQ(expected.error, "");
  for (const LaunchOptions& options : schedules()) EXPECT_EQ(problem.run(options), expected);
}

// In the 16-bit kernels, __syncwarp is not tested: the warp's matrix instructions next to it also
// order its lanes.
TEST_P(Sync, EachBarrierAndWaitIsNeeded) {
  const Problem problem(GetParam());
  std::set<SyncSite> sites;
  LaunchOptions recording;
  recording.sites = &sites;
  const auto expected = problem.run(recording);
  ASSERT_EQ(expected.error, "");
  ASSERT_FALSE(sites.empty());
  for (const SyncSite& site : sites) {
    if (site.call == "__syncwarp" && GetParam().dtype != PLUMBLINE_F32) continue;
    bool seen = false;
    for (LaunchOptions options : schedules()) {
      options.skipped = site;
      seen = seen || problem.run(options) != expected;
    }
    EXPECT_TRUE(seen) << "nothing shows that " << site.file << ":" << site.line << " " << site.call
                      << " is missing";
  }
}

std::string name_of(const testing::TestParamInfo<Instance>& info) {
  const Instance& i = info.param;
  constexpr const char* dtypes[] = {"none", "fp32", "fp16", "bf16"};
  return std::string(i.kernel) + "_" + dtypes[i.dtype] + (i.fp8_kv ? "_fp8_" : "_") +
         std::to_string(i.tile_q) + "x" + std::to_string(i.tile_kv) +
         (i.accumulator == PLUMBLINE_F16 ? "_acc16" : "");
}
INSTANTIATE_TEST_SUITE_P(Kernels, Sync, testing::ValuesIn(every_instance()), name_of);

}  // namespace
}  // namespace plumbline::attention
