// Times emulated tensor cores on one core: mma.sync per second, next to a plain sgemm of the same
// shape.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <chrono>
#include <vector>

#include "tests/emulator/fragments.h"

namespace plumbline::testing {
namespace {

using emulator::Arch;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

// few enough that all operands stay in the L1 cache
constexpr int tiles = 16;

// Returns the mean seconds of a single-threaded cblas_sgemm of 16 x 8 x k.
double sgemm_seconds(int k) {
  openblas_set_num_threads(1);
  const std::vector<float> a(static_cast<std::size_t>(16 * k), 0.5f),
      b(static_cast<std::size_t>(8 * k), 0.25f);
  std::vector<float> c(16 * 8);
  constexpr int calls = 200'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 16, 8, k, 1, a.data(), k, b.data(), k, 1,
                c.data(), 8);
    benchmark::DoNotOptimize(c.data());
    c[0] = 0;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

void emulated_mma(benchmark::State& state, Arch arch, MmaInstruction instruction,
                  Operands operands) {
  std::mt19937_64 random(1);
  std::vector<Fragments> fragments(tiles);
  for (Fragments& f : fragments) fill(operands, instruction, random, f);
  std::size_t next = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    Fragments& f = fragments[next++ % tiles];
    mma_sync(arch, instruction, f.a.data(), f.b.data(), f.c.data(), f.d.data());
    benchmark::DoNotOptimize(f.d.data());
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  state.counters["mma_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["times_sgemm"] =
      seconds / static_cast<double>(state.iterations()) / sgemm_seconds(instruction.k);
}

const bool registered = [] {
  for (const Arch arch : {Arch::sm_80, Arch::sm_89, Arch::sm_90, Arch::sm_100}) {
    for (const MmaInstruction instruction :
         {MmaInstruction{MmaFormat::bf16, MmaAccumulator::f32, 16},
          MmaInstruction{MmaFormat::f16, MmaAccumulator::f32, 16},
          MmaInstruction{MmaFormat::f16, MmaAccumulator::f16, 16},
          MmaInstruction{MmaFormat::tf32, MmaAccumulator::f32, 8},
          MmaInstruction{MmaFormat::e4m3, MmaAccumulator::f32, 32},
          MmaInstruction{MmaFormat::e5m2, MmaAccumulator::f32, 32}}) {
      if (!supports(arch, instruction)) continue;
      const std::string title =
          "emulated_mma/" + std::string(emulator::name(arch)) + "/" + name(instruction);
      benchmark::RegisterBenchmark(title.c_str(), emulated_mma, arch, instruction,
                                   Operands::ordinary)
          ->Unit(benchmark::kNanosecond);
    }
  }
  // With Inf and NaN, elements of D are computed again.
  benchmark::RegisterBenchmark(
      "emulated_mma/sm_90/bf16_f32_k16/nonfinite", emulated_mma, Arch::sm_90,
      MmaInstruction{MmaFormat::bf16, MmaAccumulator::f32, 16}, Operands::nonfinite)
      ->Unit(benchmark::kNanosecond);
  return true;
}();

}  // namespace
}  // namespace plumbline::testing
