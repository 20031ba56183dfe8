// Measures multiply-adds in registers, loads from the first-level cache, and a copy.
#include "harness/timing/processor_peak.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/base/thread_time.h"

namespace plumbline {
namespace {

constexpr int attempts = 100;
constexpr int steps = 20'000;                               // per attempt, about 0.1 ms
constexpr std::size_t cached_bytes = std::size_t{8} << 10;  // at most a quarter of the smallest L1
constexpr std::size_t copied_bytes = std::size_t{32} << 20;

double thread_seconds() { return std::chrono::duration<double>(thread_time()).count(); }

// Keeps the compiler from removing the computation of `value`.
template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Returns the highest rate of `work`, which returns how many units it did, in units per second.
template <class Work>
double fastest(int times, Work work) {
  double most = 0;
  for (int i = 0; i < times; ++i) {
    const double start = thread_seconds();
    const double units = work();
    const double seconds = thread_seconds() - start;
    if (seconds > 0) most = std::max(most, units / seconds);
  }
  return most;
}

// Each vector loop of multiply-adds has ten independent sums, more than the latency in cycles times
// the multiply-adds issued per cycle. The constants keep the sums finite: x <- x / 2 + 1.
using Loop = double (*)(const float* cached);

double plain_multiply_adds(const float*) {
  std::array<float, 64> sums{};
  for (int i = 0; i < steps; ++i) {
    for (float& sum : sums) sum = sum * 0.5F + 1.0F;
    keep(sums);
  }
  return 2.0 * steps * static_cast<double>(sums.size());
}

double plain_loads(const float* cached) {
  const auto* words = reinterpret_cast<const unsigned char*>(cached);
  std::uint64_t all = 0;
  constexpr int passes = 100;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t at = 0; at < cached_bytes; at += sizeof all) {
      std::uint64_t word = 0;
      std::memcpy(&word, words + at, sizeof word);
      all |= word;
    }
    keep(all);
  }
  return static_cast<double>(passes) * static_cast<double>(cached_bytes);
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double multiply_adds_512(const float*) {
  const __m512 half = _mm512_set1_ps(0.5F), one = _mm512_set1_ps(1.0F);
  __m512 s0 = one, s1 = one, s2 = one, s3 = one, s4 = one, s5 = one, s6 = one, s7 = one, s8 = one,
         s9 = one;
  for (int i = 0; i < steps; ++i) {
    s0 = _mm512_fmadd_ps(s0, half, one), s1 = _mm512_fmadd_ps(s1, half, one);
    s2 = _mm512_fmadd_ps(s2, half, one), s3 = _mm512_fmadd_ps(s3, half, one);
    s4 = _mm512_fmadd_ps(s4, half, one), s5 = _mm512_fmadd_ps(s5, half, one);
    s6 = _mm512_fmadd_ps(s6, half, one), s7 = _mm512_fmadd_ps(s7, half, one);
    s8 = _mm512_fmadd_ps(s8, half, one), s9 = _mm512_fmadd_ps(s9, half, one);
  }
  keep(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9);
  return 2.0 * steps * 10 * 16;
}

__attribute__((target("avx2,fma"))) double multiply_adds_256(const float*) {
  const __m256 half = _mm256_set1_ps(0.5F), one = _mm256_set1_ps(1.0F);
  __m256 s0 = one, s1 = one, s2 = one, s3 = one, s4 = one, s5 = one, s6 = one, s7 = one, s8 = one,
         s9 = one;
  for (int i = 0; i < steps; ++i) {
    s0 = _mm256_fmadd_ps(s0, half, one), s1 = _mm256_fmadd_ps(s1, half, one);
    s2 = _mm256_fmadd_ps(s2, half, one), s3 = _mm256_fmadd_ps(s3, half, one);
    s4 = _mm256_fmadd_ps(s4, half, one), s5 = _mm256_fmadd_ps(s5, half, one);
    s6 = _mm256_fmadd_ps(s6, half, one), s7 = _mm256_fmadd_ps(s7, half, one);
    s8 = _mm256_fmadd_ps(s8, half, one), s9 = _mm256_fmadd_ps(s9, half, one);
  }
  keep(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9);
  return 2.0 * steps * 10 * 8;
}

__attribute__((target("avx512f"))) double loads_512(const float* cached) {
  constexpr int passes = 400;
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t at = 0; at < cached_bytes / sizeof(float); at += 64) {
      a = _mm512_or_si512(a, _mm512_loadu_si512(cached + at));
      b = _mm512_or_si512(b, _mm512_loadu_si512(cached + at + 16));
      c = _mm512_or_si512(c, _mm512_loadu_si512(cached + at + 32));
      d = _mm512_or_si512(d, _mm512_loadu_si512(cached + at + 48));
    }
    keep(*cached);
  }
  keep(_mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d)));
  return static_cast<double>(passes) * static_cast<double>(cached_bytes);
}

__attribute__((target("avx2"))) double loads_256(const float* cached) {
  constexpr int passes = 400;
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  const auto load = [](const float* from) __attribute__((target("avx2"), always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t at = 0; at < cached_bytes / sizeof(float); at += 32) {
      a = _mm256_or_si256(a, load(cached + at));
      b = _mm256_or_si256(b, load(cached + at + 8));
      c = _mm256_or_si256(c, load(cached + at + 16));
      d = _mm256_or_si256(d, load(cached + at + 24));
    }
    keep(*cached);
  }
  keep(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)));
  return static_cast<double>(passes) * static_cast<double>(cached_bytes);
}

#endif

struct Loops {
  std::string_view instructions;
  Loop multiply_adds, loads;
};

// Returns the loops that this processor can run, widest first.
std::vector<Loops> supported_loops() {
  std::vector<Loops> result;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    result.push_back({"AVX-512", multiply_adds_512, loads_512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    result.push_back({"AVX2", multiply_adds_256, loads_256});
#endif
  result.push_back({"plain", plain_multiply_adds, plain_loads});
  return result;
}

LoopRates rates_of(const Loops& loops) {
  alignas(64) static std::array<float, cached_bytes / sizeof(float)> cached{};
  return {loops.instructions, fastest(attempts, [&] { return loops.multiply_adds(cached.data()); }),
          fastest(attempts, [&] { return loops.loads(cached.data()); })};
}

double fastest_copy() {
  const auto from = std::make_unique<char[]>(copied_bytes);
  const auto to = std::make_unique<char[]>(copied_bytes);
  return fastest(4, [&] {
    std::memcpy(to.get(), from.get(), copied_bytes);
    keep(to[0]);
    return 2.0 * static_cast<double>(copied_bytes);
  });
}

// Returns the highest rate at lower precision over that of fp32. AMX multiplies 16 x 32 by 32 x 16
// bf16 in 16 cycles: 1024 operations a cycle, against 64 of two AVX-512 units in fp32. AMX with 8
// bits has twice that rate (Intel, Optimization Reference Manual, chapter on AMX). VDPBF16PS and
// fp16 arithmetic double a vector's rate. Linux may name matrix units differently on other
// architectures, so 64 times a vector's rate is allowed there.
double widest_factor() {
#if defined(__x86_64__)
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("flags")) continue;
    const auto has = [&](const char* flag) { return line.find(flag) != std::string::npos; };
    return has("amx_tile") ? 32 : has("avx512_bf16") || has("avx512_fp16") ? 2 : 1;
  }
  return 32;
#else
  return 64;
#endif
}

struct PeakCache {
  std::mutex mutex;
  ProcessorPeak peak;

  static PeakCache& known() {
    static PeakCache only;
    return only;
  }
  void measure() {
    const LoopRates rates = rates_of(supported_loops().front());
    peak.flops = std::max(peak.flops, rates.flops);
    peak.cache_bytes = std::max(peak.cache_bytes, rates.cache_bytes);
    peak.memory_bytes = std::max(peak.memory_bytes, fastest_copy());
    peak.widest = widest_factor();
  }
};

}  // namespace

std::vector<LoopRates> processor_loop_rates() {
  std::vector<LoopRates> result;
  for (const Loops& loops : supported_loops()) result.push_back(rates_of(loops));
  return result;
}

ProcessorPeak processor_peak() {
  PeakCache& known = PeakCache::known();
  const std::lock_guard lock(known.mutex);
  if (known.peak.flops == 0) known.measure();
  return known.peak;
}

ProcessorPeak processor_peak_again() {
  PeakCache& known = PeakCache::known();
  const std::lock_guard lock(known.mutex);
  known.measure();
  return known.peak;
}

}  // namespace plumbline
