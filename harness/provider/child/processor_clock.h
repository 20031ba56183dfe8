// The clock at which the processor runs.
#pragma once

namespace plumbline {

// MHz of the processor that the calling thread is on, as /proc/cpuinfo has it at this moment; 0 =
// not known (not x86, or a kernel that does not say).
double processor_mhz();

}  // namespace plumbline
