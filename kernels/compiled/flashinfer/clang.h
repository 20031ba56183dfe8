// What clang lacks of the language that nvcc takes, for the headers of FlashInfer. It comes before
// all of them.
#pragma once

#ifdef __clang__

#include <type_traits>

// Which version of nvcc is asked for: with none, mma.cuh and cp_async.cuh leave out their
// instructions.
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 6
#endif

// nvcc's min and max take two types, and are the host's too.
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

// A load that may stay in the first cache: a hint.
template <class Value>
__device__ Value __ldca(const Value* from) {
  return *from;
}

#endif  // __clang__
