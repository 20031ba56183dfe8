// Threads of OpenBLAS. The reference needs none, because it calls BLAS inside tasks of oneTBB.
#pragma once

namespace plumbline {

// Makes OpenBLAS use only the calling thread from now on.
void use_one_blas_thread();

// Like use_one_blas_thread(), and ends the threads that OpenBLAS started when it was loaded. Each
// of them spins for a tenth of a second of processor time before it sleeps. Call this at the start
// of a program's main(). A library must not, because other code in the process may use these
// threads. Ends no thread if the process already has other threads or limited memory (`ulimit -v`).
void end_blas_threads();

}  // namespace plumbline
