// The processor's clock rate.
#pragma once

namespace plumbline {

// Returns the current MHz of the calling thread's processor from /proc/cpuinfo; 0 = unknown (not
// x86, or the system does not report it).
double processor_mhz();

}  // namespace plumbline
