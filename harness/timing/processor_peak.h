// The peak rates of one thread of this machine's processor, measured in this process.
#pragma once

#include <string_view>
#include <vector>

namespace plumbline {

// Per second of processor time of one thread.
struct ProcessorPeak {
  double flops = 0;         // independent fp32 fused multiply-adds, each counted as two
  double cache_bytes = 0;   // loaded from the first-level cache
  double memory_bytes = 0;  // read and written by a copy of 32 MiB
  // The factor by which special instructions (AMX, bf16) may exceed `flops` at lower precision.
  double widest = 1;
};

// Returns the highest rates measured in this process. The first call measures for about 0.1 s.
// Other work on the machine only makes a peak look lower. Thread-safe.
ProcessorPeak processor_peak();
// Measures once more, and returns the highest rates so far. Thread-safe.
ProcessorPeak processor_peak_again();

// The rates of the loops for one instruction set. Units as in ProcessorPeak.
struct LoopRates {
  std::string_view instructions;  // "AVX-512", "AVX2" or "plain"
  double flops = 0;
  double cache_bytes = 0;
};

// Measures the loops of every instruction set that this processor has, widest first.
// processor_peak() uses the first.
std::vector<LoopRates> processor_loop_rates();

}  // namespace plumbline
