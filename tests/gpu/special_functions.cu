// Runs instructions of the special function unit on a GPU, one per thread.
#include <cuda_runtime.h>

#include "tests/gpu/special_functions.h"

namespace plumbline::testing {
namespace {

// One struct per instruction. Registers are integers, so the compiler cannot change a NaN.
#define PLUMBLINE_ONE(name, ptx)                                                  \
  struct run_##name {                                                             \
    static __device__ std::uint32_t run(std::uint32_t x, std::uint32_t) {         \
      std::uint32_t result;                                                       \
      asm volatile("{ .reg .f32 x; mov.b32 x, %1; " ptx " x, x; mov.b32 %0, x; }" \
                   : "=r"(result)                                                 \
                   : "r"(x));                                                     \
      return result;                                                              \
    }                                                                             \
  };
#define PLUMBLINE_TWO(name, ptx)                                            \
  struct run_##name {                                                       \
    static __device__ std::uint32_t run(std::uint32_t x, std::uint32_t y) { \
      std::uint32_t result;                                                 \
      asm volatile("{ .reg .f32 x, y; mov.b32 x, %1; mov.b32 y, %2; " ptx   \
                   " x, x, y; mov.b32 %0, x; }"                             \
                   : "=r"(result)                                           \
                   : "r"(x), "r"(y));                                       \
      return result;                                                        \
    }                                                                       \
  };
#define PLUMBLINE_HALF(name, ptx)                                                  \
  struct run_##name {                                                              \
    static __device__ std::uint32_t run(std::uint32_t x, std::uint32_t) {          \
      std::uint32_t result;                                                        \
      asm volatile("{ .reg .b16 x, zero; mov.b16 zero, 0; cvt.u16.u32 x, %1; " ptx \
                   " x, x; mov.b32 %0, {x, zero}; }"                               \
                   : "=r"(result)                                                  \
                   : "r"(x));                                                      \
      return result;                                                               \
    }                                                                              \
  };
// bf16 on architectures without the instruction. No 16-bit result has these bits.
#define PLUMBLINE_NO_HALF(name, ptx)                                                  \
  struct run_##name {                                                                 \
    static __device__ std::uint32_t run(std::uint32_t, std::uint32_t) { return ~0u; } \
  };

PLUMBLINE_SPECIAL_OF_ONE(PLUMBLINE_ONE)
PLUMBLINE_SPECIAL_OF_TWO(PLUMBLINE_TWO)
PLUMBLINE_SPECIAL_OF_F16(PLUMBLINE_HALF)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
PLUMBLINE_SPECIAL_OF_BF16(PLUMBLINE_NO_HALF)
#else
PLUMBLINE_SPECIAL_OF_BF16(PLUMBLINE_HALF)
#endif

constexpr unsigned threads = 256;

template <class Instruction>
__global__ void one_instruction_per_thread(const std::uint32_t* a, const std::uint32_t* b,
                                           std::uint32_t first, std::uint32_t stride,
                                           std::uint64_t count, std::uint32_t* results) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t x = a != nullptr ? a[i] : first + static_cast<std::uint32_t>(i) * stride;
  results[i] = Instruction::run(x, b != nullptr ? b[i] : 0);
}

using Kernel = void (*)(const std::uint32_t*, const std::uint32_t*, std::uint32_t, std::uint32_t,
                        std::uint64_t, std::uint32_t*);

Kernel kernel_of(Special instruction) {
  switch (instruction) {
#define PLUMBLINE_CASE(name, ptx) \
  case Special::name:             \
    return one_instruction_per_thread<run_##name>;
    PLUMBLINE_SPECIAL(PLUMBLINE_CASE)
#undef PLUMBLINE_CASE
  }
  return nullptr;
}

std::string text(cudaError_t error, const char* call) {
  return error == cudaSuccess ? "" : std::string(call) + ": " + cudaGetErrorString(error);
}

}  // namespace

GpuSpecialUnit::GpuSpecialUnit(std::size_t capacity) : capacity_(capacity) {
  const std::size_t bytes = capacity * sizeof(std::uint32_t);
  error_ = text(cudaMallocHost(&host_, bytes), "cudaMallocHost");
  for (std::uint32_t** array : {&a_, &b_, &results_}) {
    if (error_.empty()) error_ = text(cudaMalloc(array, bytes), "cudaMalloc");
  }
}

GpuSpecialUnit::~GpuSpecialUnit() {
  for (std::uint32_t* array : {a_, b_, results_}) cudaFree(array);
  cudaFreeHost(host_);
}

std::string GpuSpecialUnit::run(Special instruction, const SpecialOperands& operands,
                                std::size_t count, std::uint32_t* results) {
  if (!error_.empty()) return error_;
  if (count > capacity_) return "more instructions than there is memory for";
  if (count == 0) return "";
  const std::size_t bytes = count * sizeof(std::uint32_t);
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  std::string said;
  const auto copy = [&](std::uint32_t* to, const std::uint32_t* from) {
    if (said.empty() && from != nullptr)
      said = text(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy of operands");
    return from != nullptr ? to : nullptr;
  };
  const std::uint32_t* const a = copy(a_, operands.a);
  const std::uint32_t* const b = copy(b_, operands.b);
  if (!said.empty()) return said;
  // Overwrites the previous results, which would hide missing ones.
  said = text(cudaMemset(results_, 0xa5, bytes), "cudaMemset");
  if (!said.empty()) return said;
  kernel_of(instruction)<<<blocks, threads>>>(a, b, operands.first, operands.stride, count,
                                              results_);
  said = text(cudaGetLastError(), "launch");
  if (said.empty()) said = text(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  if (said.empty())
    said =
        text(cudaMemcpy(results, results_, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy of results");
  return said;
}

}  // namespace plumbline::testing
