// What a timed kernel achieved of what the processor can do, and whether anybody could.
#pragma once

namespace plumbline {

class Geometry;
struct CaseRun;

// Fills flops_per_second and bytes_per_second of a timed case from its wall time, and on the CPU
// flops_share, bytes_share and `physics` from its processor time and the peaks measured by this
// process (processor_peak.h). A peak is measured again before a kernel is found to be faster. An
// outcome without times is left as it is.
void fill_achieved(const Geometry& geometry, CaseRun& run);

}  // namespace plumbline
