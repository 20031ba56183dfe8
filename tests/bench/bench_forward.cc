// Times one forward pass of the emulated kernels beside cpu/flash, both through the C ABI. It has 4
// heads of 512 x 512, head_dim 64, bf16.
#include <benchmark/benchmark.h>

#include <chrono>

#include "tests/gpu/kernel_call.h"
#include "tests/kernels/call.h"

namespace plumbline {
namespace {

Problem problem() {
  Problem p;
  p.dtype = DType::bf16;
  p.heads_q = p.heads_kv = 4;
  p.seq_q = p.seq_kv = 512;
  return p;
}

double cpu_flash_s = 0;  // of the benchmark that comes first

void forward(benchmark::State& state, const char* library, const char* kernel) {
  const testing::Library loaded(std::string(PLUMBLINE_BINARY_DIRECTORY) + "/lib/plumbline/" +
                                library);
  testing::KernelCall call(*loaded.provider(), kernel, problem());
  if (!call.error().empty()) state.SkipWithError(call.error().c_str());
  const auto start = std::chrono::steady_clock::now();
  std::int64_t runs = 0;
  for (auto _ : state) {
    if (const std::string error = call.run(); !error.empty()) state.SkipWithError(error.c_str());
    ++runs;
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                   static_cast<double>(runs);
  if (cpu_flash_s == 0) cpu_flash_s = s;
  state.counters["times_cpu_flash"] = s / cpu_flash_s;
}
BENCHMARK_CAPTURE(forward, cpu_flash, "plumbline_cpu.so", "flash")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(forward, emulated_prefill_mma, "plumbline_emulated.so", "prefill_mma")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(forward, emulated_prefill_simt, "plumbline_emulated.so", "prefill_simt")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace plumbline
