// Features of nvcc that clang lacks and FlashInfer's headers need. Must be included before them.
#pragma once

#ifdef __clang__

#include <type_traits>

// A version of nvcc; without one, mma.cuh and cp_async.cuh leave out their instructions.
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 6
#endif

// nvcc's min and max accept two types and also run on the host.
template <class A, class B>
__host__ __device__ constexpr std::common_type_t<A, B> min(A a, B b) {
  using Both = std::common_type_t<A, B>;
  return static_cast<Both>(b) < static_cast<Both>(a) ? static_cast<Both>(b) : static_cast<Both>(a);
}
template <class A, class B>
__host__ __device__ constexpr std::common_type_t<A, B> max(A a, B b) {
  using Both = std::common_type_t<A, B>;
  return static_cast<Both>(a) < static_cast<Both>(b) ? static_cast<Both>(b) : static_cast<Both>(a);
}

// The cache hint is ignored.
template <class Value>
__device__ Value __ldca(const Value* from) {
  return *from;
}

#endif  // __clang__
