// Times the emulator itself: an empty block, and thread switches by assembly and by ucontext.
#include <benchmark/benchmark.h>
#include <tbb/task_arena.h>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::LaunchOptions;
using emulator::Switching;

LaunchOptions switching(const benchmark::State& state) {
  LaunchOptions options;
  options.switching = state.range(0) == 0 ? Switching::assembly : Switching::ucontext;
  return options;
}

void run(benchmark::State& state, unsigned blocks, void (*kernel)(int), int argument) {
  tbb::task_arena one_thread(1);
  for (auto _ : state) {
    one_thread.execute([&] {
      if (!emulator::launch(switching(state), {blocks}, {128}, 1024, kernel, argument).empty())
        state.SkipWithError("launch failed");
    });
  }
}

__global__ void nothing(int) {}

// Blocks of 128 threads that do nothing; argument 0: assembly, 1: ucontext.
void empty_blocks(benchmark::State& state) {
  constexpr unsigned blocks = 100;
  run(state, blocks, nothing, 0);
  state.counters["blocks/s"] =
      benchmark::Counter(blocks, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(empty_blocks)->ArgName("ucontext")->Arg(0)->Arg(1);

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

// 128 threads at 1000 barriers: each barrier switches from every thread to the next.
void switches(benchmark::State& state) {
  constexpr int count = 1000;
  run(state, 1, barriers, count);
  state.counters["switches/s"] =
      benchmark::Counter(128.0 * count, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(switches)->ArgName("ucontext")->Arg(0)->Arg(1);

__global__ void shuffles(int count) {
  float value = 1;
  for (int i = 0; i < count; ++i) value += __shfl_xor_sync(0xffffffffU, value, 1);
  benchmark::DoNotOptimize(value);
}

// Four warps at 1000 shuffles each.
void warp_shuffles(benchmark::State& state) {
  constexpr int count = 1000;
  run(state, 1, shuffles, count);
  state.counters["shuffles/s"] =
      benchmark::Counter(4.0 * count, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(warp_shuffles)->ArgName("ucontext")->Arg(0)->Arg(1);

}  // namespace
}  // namespace plumbline
