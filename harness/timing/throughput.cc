// Computes a call's work per second, and its share of the processor's peaks.
#include "harness/timing/throughput.h"

#include <algorithm>

#include "harness/outcome/outcome.h"
#include "harness/timing/processor_peak.h"
#include "harness/timing/work.h"

namespace plumbline {
namespace {

// Further measurements of the peaks: other work on a core makes them look lower for a while.
constexpr int max_peak_retries = 5;

double physics_of(const Work& work, const ProcessorPeak& peak, double seconds) {
  const double least =
      std::max(work.min_flops / (peak.flops * peak.widest), work.min_bytes / peak.cache_bytes);
  return least / seconds;
}

}  // namespace

void fill_achieved(const Geometry& geometry, CaseRun& run) {
  Times& times = run.times;
  if (!run.timed || !(run.time_ns > 0)) return;
  const Work work = work_of(geometry);
  times.flops_per_second = work.flops / (run.time_ns * 1e-9);
  times.bytes_per_second = work.bytes / (run.time_ns * 1e-9);
  if (run.c.device != "cpu" || !(times.cpu_ns > 0)) return;
  const double seconds = times.cpu_ns * 1e-9;
  ProcessorPeak peak = processor_peak();
  for (int i = 0; i < max_peak_retries && physics_of(work, peak, seconds) > max_physics; ++i)
    peak = processor_peak_again();
  times.flops_share = work.flops / seconds / peak.flops;
  times.bytes_share = work.bytes / seconds / peak.memory_bytes;
  times.physics = physics_of(work, peak, seconds);
}

}  // namespace plumbline
