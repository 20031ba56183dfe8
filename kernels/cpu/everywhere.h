// Marks functions that CPUs and GPUs share.
#pragma once

#ifdef __CUDACC__
#define PLUMBLINE_EVERYWHERE __host__ __device__
#else
#define PLUMBLINE_EVERYWHERE
#endif
