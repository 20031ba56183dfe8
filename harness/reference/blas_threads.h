// Threads of OpenBLAS, of which the reference needs none: it calls BLAS inside tasks of oneTBB.
#pragma once

namespace plumbline {

// From here on OpenBLAS uses the thread that calls it.
void use_one_blas_thread();

// Also ends the threads that OpenBLAS started when it was loaded: each spins for a tenth of a
// second of processor time before it sleeps. For the beginning of a program's main(): a library of
// ours must not end threads that others in its process use. Does nothing if other threads are there
// already.
void end_blas_threads();

}  // namespace plumbline
