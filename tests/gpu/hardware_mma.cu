// Runs mma.sync on a GPU: each warp executes one instruction with the given registers.
#include <cuda_runtime.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tests/gpu/hardware_mma.h"

namespace plumbline::testing {
namespace {

using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

// One struct for each instruction: registers per lane, and the instruction itself.
#define PLUMBLINE_MMA_4_2_4(name, ptx)                                                             \
  struct name {                                                                                    \
    static constexpr int a = 4, b = 2, c = 4;                                                      \
    static __device__ void run(const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* z) { \
      asm volatile("mma.sync.aligned." ptx                                                         \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
                   : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3])                                \
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));            \
    }                                                                                              \
  };
#define PLUMBLINE_MMA_2_1_4(name, ptx)                                                             \
  struct name {                                                                                    \
    static constexpr int a = 2, b = 1, c = 4;                                                      \
    static __device__ void run(const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* z) { \
      asm volatile("mma.sync.aligned." ptx " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"  \
                   : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3])                                \
                   : "r"(x[0]), "r"(x[1]), "r"(y[0]));                                             \
    }                                                                                              \
  };
#define PLUMBLINE_MMA_4_2_2(name, ptx)                                                             \
  struct name {                                                                                    \
    static constexpr int a = 4, b = 2, c = 2;                                                      \
    static __device__ void run(const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* z) { \
      asm volatile("mma.sync.aligned." ptx " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"      \
                   : "+r"(z[0]), "+r"(z[1])                                                        \
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));            \
    }                                                                                              \
  };
#define PLUMBLINE_MMA_2_1_2(name, ptx)                                                             \
  struct name {                                                                                    \
    static constexpr int a = 2, b = 1, c = 2;                                                      \
    static __device__ void run(const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* z) { \
      asm volatile("mma.sync.aligned." ptx " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"                  \
                   : "+r"(z[0]), "+r"(z[1])                                                        \
                   : "r"(x[0]), "r"(x[1]), "r"(y[0]));                                             \
    }                                                                                              \
  };

// fp8 on architectures without the instruction. The host checks first (emulator::supports).
#define PLUMBLINE_NO_MMA(name, registers_a, registers_b, registers_c)                        \
  struct name {                                                                              \
    static constexpr int a = registers_a, b = registers_b, c = registers_c;                  \
    static __device__ void run(const std::uint32_t*, const std::uint32_t*, std::uint32_t*) { \
      __trap();                                                                              \
    }                                                                                        \
  };

PLUMBLINE_MMA_4_2_4(f16_f32_k16, "m16n8k16.row.col.f32.f16.f16.f32")
PLUMBLINE_MMA_2_1_4(f16_f32_k8, "m16n8k8.row.col.f32.f16.f16.f32")
PLUMBLINE_MMA_4_2_2(f16_f16_k16, "m16n8k16.row.col.f16.f16.f16.f16")
PLUMBLINE_MMA_2_1_2(f16_f16_k8, "m16n8k8.row.col.f16.f16.f16.f16")
PLUMBLINE_MMA_4_2_4(bf16_f32_k16, "m16n8k16.row.col.f32.bf16.bf16.f32")
PLUMBLINE_MMA_2_1_4(bf16_f32_k8, "m16n8k8.row.col.f32.bf16.bf16.f32")
PLUMBLINE_MMA_4_2_4(tf32_f32_k8, "m16n8k8.row.col.f32.tf32.tf32.f32")
PLUMBLINE_MMA_2_1_4(tf32_f32_k4, "m16n8k4.row.col.f32.tf32.tf32.f32")
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
PLUMBLINE_NO_MMA(e4m3_f32_k32, 4, 2, 4)
PLUMBLINE_NO_MMA(e4m3_f32_k16, 2, 1, 4)
PLUMBLINE_NO_MMA(e4m3_f16_k32, 4, 2, 2)
PLUMBLINE_NO_MMA(e4m3_f16_k16, 2, 1, 2)
PLUMBLINE_NO_MMA(e5m2_f32_k32, 4, 2, 4)
PLUMBLINE_NO_MMA(e5m2_f32_k16, 2, 1, 4)
PLUMBLINE_NO_MMA(e5m2_f16_k32, 4, 2, 2)
PLUMBLINE_NO_MMA(e5m2_f16_k16, 2, 1, 2)
#else
PLUMBLINE_MMA_4_2_4(e4m3_f32_k32, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
PLUMBLINE_MMA_2_1_4(e4m3_f32_k16, "m16n8k16.row.col.f32.e4m3.e4m3.f32")
PLUMBLINE_MMA_4_2_2(e4m3_f16_k32, "m16n8k32.row.col.f16.e4m3.e4m3.f16")
PLUMBLINE_MMA_2_1_2(e4m3_f16_k16, "m16n8k16.row.col.f16.e4m3.e4m3.f16")
PLUMBLINE_MMA_4_2_4(e5m2_f32_k32, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
PLUMBLINE_MMA_2_1_4(e5m2_f32_k16, "m16n8k16.row.col.f32.e5m2.e5m2.f32")
PLUMBLINE_MMA_4_2_2(e5m2_f16_k32, "m16n8k32.row.col.f16.e5m2.e5m2.f16")
PLUMBLINE_MMA_2_1_2(e5m2_f16_k16, "m16n8k16.row.col.f16.e5m2.e5m2.f16")
#endif

template <class Mma>
__global__ void one_mma_per_warp(int count, const std::uint32_t* a, const std::uint32_t* b,
                                 const std::uint32_t* c, std::uint32_t* d) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread / 32 >= count) return;  // the same for all lanes of a warp
  std::uint32_t x[Mma::a], y[Mma::b], z[Mma::c];
  for (int r = 0; r < Mma::a; ++r) x[r] = a[thread * Mma::a + r];
  for (int r = 0; r < Mma::b; ++r) y[r] = b[thread * Mma::b + r];
  for (int r = 0; r < Mma::c; ++r) z[r] = c[thread * Mma::c + r];
  Mma::run(x, y, z);
  for (int r = 0; r < Mma::c; ++r) d[thread * Mma::c + r] = z[r];
}

using Kernel = void (*)(int, const std::uint32_t*, const std::uint32_t*, const std::uint32_t*,
                        std::uint32_t*);

Kernel kernel_of(const MmaInstruction& instruction) {
  const bool f32 = instruction.accumulator == MmaAccumulator::f32;
  const int k = instruction.k;
  switch (instruction.format) {
    case MmaFormat::f16:
      if (f32) return k == 16 ? one_mma_per_warp<f16_f32_k16> : one_mma_per_warp<f16_f32_k8>;
      return k == 16 ? one_mma_per_warp<f16_f16_k16> : one_mma_per_warp<f16_f16_k8>;
    case MmaFormat::bf16:
      return k == 16 ? one_mma_per_warp<bf16_f32_k16> : one_mma_per_warp<bf16_f32_k8>;
    case MmaFormat::tf32:
      return k == 8 ? one_mma_per_warp<tf32_f32_k8> : one_mma_per_warp<tf32_f32_k4>;
    case MmaFormat::e4m3:
      if (f32) return k == 32 ? one_mma_per_warp<e4m3_f32_k32> : one_mma_per_warp<e4m3_f32_k16>;
      return k == 32 ? one_mma_per_warp<e4m3_f16_k32> : one_mma_per_warp<e4m3_f16_k16>;
    case MmaFormat::e5m2:
      if (f32) return k == 32 ? one_mma_per_warp<e5m2_f32_k32> : one_mma_per_warp<e5m2_f32_k16>;
      return k == 32 ? one_mma_per_warp<e5m2_f16_k32> : one_mma_per_warp<e5m2_f16_k16>;
  }
  return nullptr;
}

std::string version(int cuda) {
  return std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

// Returns "580.82.07" from the kernel module, or "".
std::string kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::stringstream text;
  text << file.rdbuf();
  std::smatch found;
  const std::string all = text.str();
  return std::regex_search(all, found, std::regex("[0-9]+\\.[0-9]+(\\.[0-9]+)?"))
             ? found.str() + ", "
             : "";
}

// Device memory for one array. Keeps the first error.
class Array {
 public:
  Array(cudaError_t& error, std::size_t words) : error_(error) {
    if (error_ == cudaSuccess) error_ = cudaMalloc(&words_, words * sizeof(std::uint32_t));
  }
  Array(cudaError_t& error, std::size_t words, const std::uint32_t* from) : Array(error, words) {
    if (error_ == cudaSuccess)
      error_ = cudaMemcpy(words_, from, words * sizeof(std::uint32_t), cudaMemcpyHostToDevice);
  }
  ~Array() { cudaFree(words_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  std::uint32_t* words() const { return words_; }

 private:
  cudaError_t& error_;
  std::uint32_t* words_ = nullptr;
};

}  // namespace

Gpu find_gpu() {
  Gpu gpu;
  int count = 0, driver = 0;
  cudaDeviceProp properties{};
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
  if (error == cudaSuccess) error = cudaDriverGetVersion(&driver);
  gpu.toolkit = version(CUDART_VERSION);
  if (error != cudaSuccess) {
    gpu.missing = cudaGetErrorString(error);
    return gpu;
  }
  gpu.name = properties.name;
  gpu.arch = "sm_" + std::to_string(properties.major * 10 + properties.minor);
  gpu.driver = kernel_module() + "CUDA " + version(driver);
  return gpu;
}

std::string mma_on_gpu(const MmaInstruction& instruction, int count, const std::uint32_t* a,
                       const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
  const emulator::MmaRegisters registers = emulator::registers(instruction);
  const std::size_t lanes = 32 * static_cast<std::size_t>(count), words_c = lanes * registers.c;
  cudaError_t error = cudaSuccess;
  const Array gpu_a(error, lanes * registers.a, a), gpu_b(error, lanes * registers.b, b),
      gpu_c(error, words_c, c), gpu_d(error, words_c);
  if (error == cudaSuccess) {
    constexpr int warps = 8;
    kernel_of(instruction)<<<(count + warps - 1) / warps, 32 * warps>>>(
        count, gpu_a.words(), gpu_b.words(), gpu_c.words(), gpu_d.words());
    error = cudaGetLastError();
  }
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error == cudaSuccess)
    error = cudaMemcpy(d, gpu_d.words(), words_c * sizeof(std::uint32_t), cudaMemcpyDeviceToHost);
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace plumbline::testing
