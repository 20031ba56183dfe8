// Our prefill kernel reaches the emulator in two ways: its source compiled by g++, and nvcc's PTX
// of that source, translated. All bits agree, on every architecture and under every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string_view>
#include <vector>

#include "kernels/attention/instances.h"
#include "tests/ptx/compiled.h"

namespace plumbline::ptx {
namespace {

using emulator::Arch;
using emulator::Schedule;

constexpr std::int64_t heads = 2, rows = 150, head_dim = 64;

struct Tensors {
  std::vector<std::uint16_t> q, k, v, out;
  std::vector<float> lse;
};

Tensors random_tensors() {
  Tensors made;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (auto* const tensor : {&made.q, &made.k, &made.v}) {
    tensor->resize(heads * rows * head_dim);
    for (std::uint16_t& x : *tensor)
      x = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16U);
  }
  made.out.resize(made.q.size());
  made.lse.resize(heads * rows);
  return made;
}

attention::Parameters parameters(Tensors& of) {
  attention::Parameters p{};
  const auto tensor = [](std::vector<std::uint16_t>& data) {
    return attention::TensorMap{data.data(), rows * heads * head_dim, heads * head_dim, head_dim, 1,
                                rows};
  };
  p.q = tensor(of.q);
  p.k = tensor(of.k);
  p.v = tensor(of.v);
  p.out = tensor(of.out);
  p.lse = {of.lse.data(), rows * heads, heads, 1, 1, rows};
  static const std::int32_t lengths[] = {0, rows};
  p.cu_seqlens_q = p.cu_seqlens_kv = lengths;
  p.rows = rows;
  p.heads_q = heads;
  p.group = 1;
  p.head_dim_qk = p.head_dim_vo = head_dim;
  p.causal = 1;
  p.padded = 1;
  p.window_left = p.window_right = -1;
  p.logit_scale = 0.125F * 1.44269504F;
  p.dtype_kv = p.dtype_out = PLUMBLINE_BF16;
  p.splits = 1;
  p.split_keys = rows;
  return p;
}

TEST(PtxOwnKernel, NvccAndGccGiveSameBits) {
  std::ifstream in(PLUMBLINE_OWN_KERNEL_PTX);
  std::ostringstream text;
  text << in.rdbuf();
  const auto module = parse(text.str());
  ASSERT_TRUE(module) << module.error().line << ": " << module.error().text;
  ASSERT_EQ(module->functions.size(), 1U);
  CompileOptions how;
  how.cache = "ptx_cache";
  // Compiled with -fmad=false, like the kernel's sources.
  const auto kernel =
      compile(*module, module->functions[0].name, "own.ptx", {.contract = false}, how);
  ASSERT_TRUE(kernel) << kernel.error();
  EXPECT_TRUE(kernel->facts.refused.empty());
  ASSERT_EQ(kernel->facts.parameter_bytes, sizeof(attention::Parameters));

  const auto instances = attention::prefill_mma_bf16_instances();
  const auto instance =
      std::find_if(instances.begin(), instances.end(), [](const attention::Instance& i) {
        return i.head_dim == head_dim && i.tile_q == 64 && i.tile_kv == 32 && !i.fp8_kv;
      });
  ASSERT_NE(instance, instances.end());
  const emulator::Dim3 grid{(rows + 63) / 64, heads, 1};
  const emulator::Dim3 block{static_cast<unsigned>(instance->threads)};
  const auto shared = static_cast<std::size_t>(instance->shared_bytes);
  for (const Arch arch : emulator::all_archs) {
    Tensors by_host = random_tensors();
    emulator::LaunchOptions options;
    options.arch = arch;
    ASSERT_EQ(
        emulator::launch(options, grid, block, shared, instance->function, parameters(by_host)),
        "");
    for (const Schedule schedule : {Schedule::in_order, Schedule::reversed, Schedule::random}) {
      for (const auto lanes : {emulator::Lanes::lockstep, emulator::Lanes::independent}) {
        Tensors by_ptx = random_tensors();
        Allocations allocations;
        for (const auto* const tensor : {&by_ptx.q, &by_ptx.k, &by_ptx.v, &by_ptx.out})
          allocations.add(tensor->data(), tensor->size() * sizeof(std::uint16_t));
        allocations.add(by_ptx.lse.data(), by_ptx.lse.size() * sizeof(float));
        const attention::Parameters p = parameters(by_ptx);
        allocations.add(p.cu_seqlens_q, 2 * sizeof(std::int32_t));
        Launch one;
        one.options = compiled_options(arch);
        one.options.schedule = schedule;
        one.options.lanes = lanes;
        one.grid = grid;
        one.block = block;
        one.dynamic_shared_bytes = shared;
        one.parameters = reinterpret_cast<const std::byte*>(&p);
        one.allocations = &allocations;
        ASSERT_EQ(launch(*kernel, one), "");
        EXPECT_EQ(by_ptx.out, by_host.out) << name(arch);
        EXPECT_EQ(by_ptx.lse, by_host.lse) << name(arch);
      }
    }
    EXPECT_NE(std::count(by_host.out.begin(), by_host.out.end(), 0),
              static_cast<std::ptrdiff_t>(by_host.out.size()));
  }
}

}  // namespace
}  // namespace plumbline::ptx
