// A fixed piece of work that is timed in turn with every kernel, as the unit of its time. The ratio
// of the two survives a change of clock or a busy machine.
#pragma once

namespace plumbline {

// One unit of work: about 0.1 to 0.2 ms on a current x86 core. Single-threaded, no BLAS, all data
// in the first-level caches' reach.
void run_sentinel();

}  // namespace plumbline
