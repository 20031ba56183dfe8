// simt.h for GPUs: each function is one PTX instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbline::simt {

__device__ __forceinline__ std::byte* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char plumbline_dynamic_shared[];
  return reinterpret_cast<std::byte*>(plumbline_dynamic_shared);
}

__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// The functions below need sm_80 (fp8: sm_89). Code for older architectures has kernels without a
// body, which the host never launches.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

__device__ __forceinline__ void cp_async_16(void* shared, const void* global, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Groups>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

#define PLUMBLINE_MMA(name, instruction)                                              \
  __device__ __forceinline__ void name(float(&d)[4], const std::uint32_t(&a)[4],      \
                                       const std::uint32_t(&b)[2]) {                  \
    asm volatile("mma.sync.aligned." instruction                                      \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
PLUMBLINE_MMA(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32")
PLUMBLINE_MMA(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
PLUMBLINE_MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
PLUMBLINE_MMA(mma_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
PLUMBLINE_MMA(mma_e5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
#endif
#undef PLUMBLINE_MMA

__device__ __forceinline__ void mma_f16(std::uint32_t (&d)[2], const std::uint32_t (&a)[4],
                                        const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
      "{%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

}  // namespace plumbline::simt
