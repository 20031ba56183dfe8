// A fixed workload that is timed in turn with every kernel. The ratio of both times survives a
// change of clock rate or a busy machine.
#pragma once

namespace plumbline {

// Runs one unit of work: about 0.1 to 0.2 ms on a current x86 core. Single-threaded, no BLAS, 150
// KB of data, which fit a core's L2.
void run_sentinel();

}  // namespace plumbline
