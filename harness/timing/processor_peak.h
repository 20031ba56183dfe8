// What one thread of this machine's processor can do at most, measured here and now.
#pragma once

namespace plumbline {

// Per second of processor time of one thread.
struct ProcessorPeak {
  double flops = 0;         // of fp32 fused multiply-adds that wait for nothing, two of each
  double cache_bytes = 0;   // loaded from the first-level cache
  double memory_bytes = 0;  // read and written by a copy of 32 MiB
  // By how much a special instruction may exceed `flops` at lower precision (AMX, bf16 products).
  double widest = 1;
};

// The largest that was measured in this process, for about 0.1 s at the first call. Other work on
// the machine only ever makes a peak look lower. Any thread.
ProcessorPeak processor_peak();
// Likewise, once more: for who doubts a peak.
ProcessorPeak processor_peak_again();

}  // namespace plumbline
