// Threads of OpenBLAS. The reference needs none, because it calls BLAS inside tasks of oneTBB.
#pragma once

namespace plumbline {

// Makes OpenBLAS use only the calling thread from now on.
void use_one_blas_thread();

// Also ends the threads that OpenBLAS started when it was loaded. Each spins for a tenth of a
// second of processor time before it sleeps. Call this at the start of a program's main(). A
// library must not, because other code in the process may use these threads. Ends none if other
// threads exist already or memory is limited (`ulimit -v`).
void end_blas_threads();

}  // namespace plumbline
