// The throughput of a timed kernel, and its share of the processor's peak, which shows impossible
// times.
#pragma once

namespace plumbline {

class Geometry;
struct CaseRun;

// Fills flops_per_second and bytes_per_second of a timed case from its wall time. On the CPU, also
// fills flops_share, bytes_share and `physics` from its processor time and the peaks that this
// process measured (processor_peak.h). If the kernel is impossibly fast, the peaks are measured
// again first. An outcome without times is left unchanged.
void fill_achieved(const Geometry& geometry, CaseRun& run);

}  // namespace plumbline
