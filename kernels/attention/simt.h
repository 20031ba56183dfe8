// The GPU features that our kernels use beyond plain C++. g++ compiles the kernels for the
// emulator; nvcc compiles the same source for GPUs.
//
// Both builds offer, under CUDA's own names: __global__, __device__, __host__, __forceinline__,
// __launch_bounds__; threadIdx, blockIdx, blockDim, gridDim; __syncthreads, __syncwarp,
// __shfl_sync, __shfl_xor_sync, __shfl_down_sync, __ballot_sync, __any_sync, __all_sync; atomicAdd,
// atomicMax; __float_as_uint, __uint_as_float. Shared memory is dynamic only:
// simt::dynamic_shared().
//
// In namespace plumbline::simt, one function for each PTX instruction (registers and lanes as in
// the PTX ISA):
//   dynamic_shared()                           first byte of the block's shared memory, 128-byte
//                                              aligned
//   cp_async_16(shared, global, valid)         cp.async.cg of 16 bytes; zeros if !valid (global is
//                                              then not read)
//   cp_async_commit(), cp_async_wait<N>()      cp.async.commit_group, cp.async.wait_group N
//   ldmatrix_x4(r, row), ldmatrix_x4_trans     ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16;
//                                              each lane passes the address of a row
//   mma_NAME(d, a, b)                          mma.sync.aligned.SHAPE.row.col.TYPES, in fragments:
//     mma_f16   d[4] fp32 += a[4] b[2]           m16n8k16, f32.f16.f16.f32
//     mma_f16   d[2] fp16x2 += a[4] b[2]         m16n8k16, f16.f16.f16.f16
//     mma_bf16  d[4] fp32 += a[4] b[2]           m16n8k16, f32.bf16.bf16.f32
//     mma_tf32  d[4] fp32 += a[4] b[2]           m16n8k8, f32.tf32.tf32.f32
//     mma_e4m3, mma_e5m2                         m16n8k32, f32.e4m3.e4m3.f32 and f32.e5m2.e5m2.f32
//   named_barrier_sync(id, threads)            bar.sync; id 1 to 15
//   named_barrier_arrive(id, threads)          bar.arrive; id 1 to 15
#pragma once

#ifdef __CUDACC__
#include "kernels/attention/simt_cuda.h"
#else
#include "emulator/machine/simt.h"
#endif
