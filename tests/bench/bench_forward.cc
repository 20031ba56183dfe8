// Times a forward pass of the emulated kernels and of cpu/flash, both through the C ABI, by the
// processor time of all threads. The pass has 4 heads of 512 x 512, head_dim 64, bf16, causal.
#include <benchmark/benchmark.h>

#include "tests/bench/repetitions.h"
#include "tests/gpu/kernel_call.h"
#include "tests/kernels/call.h"

namespace plumbline {
namespace {

Problem problem() {
  Problem p;
  p.dtype = DType::bf16;
  p.heads_q = p.heads_kv = 4;
  p.seq_q = p.seq_kv = 512;
  p.mask = Mask::causal_bottom_right;
  return p;
}

void forward(benchmark::State& state, const char* library, const char* kernel) {
  const testing::Library loaded(std::string(PLUMBLINE_BINARY_DIRECTORY) + "/lib/plumbline/" +
                                library);
  testing::KernelCall call(*loaded.provider(), kernel, problem());
  if (!call.error().empty()) state.SkipWithError(call.error().c_str());
  for (auto _ : state) {
    if (const std::string error = call.run(); !error.empty()) state.SkipWithError(error.c_str());
  }
}
#define FORWARD(name, library, kernel)              \
  BENCHMARK_CAPTURE(forward, name, library, kernel) \
      ->Unit(benchmark::kMillisecond)               \
      ->MeasureProcessCPUTime()                     \
      ->Repetitions(repetitions)                    \
      ->ComputeStatistics("fastest", fastest)
FORWARD(cpu_flash, "plumbline_cpu.so", "flash");
FORWARD(emulated_prefill_mma, "plumbline_emulated.so", "prefill_mma");
FORWARD(emulated_prefill_simt, "plumbline_emulated.so", "prefill_simt");

}  // namespace
}  // namespace plumbline
