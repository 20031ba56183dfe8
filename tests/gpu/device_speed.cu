// Measures copy bandwidth and the fma and mma peaks of a GPU, between two CUDA events.
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "tests/gpu/device_speed.h"

namespace plumbline::testing {
namespace {

std::string in_words(cudaError_t error) {
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

// Two events, and the milliseconds between them.
class Stopwatch {
 public:
  Stopwatch() {
    error_ = cudaEventCreate(&begin_);
    if (error_ == cudaSuccess) error_ = cudaEventCreate(&end_);
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Returns "" and sets `milliseconds`, or returns the error.
  std::string time(const std::function<std::string()>& enqueue, float& milliseconds) {
    if (error_ == cudaSuccess) error_ = cudaEventRecord(begin_);
    if (error_ != cudaSuccess) return in_words(error_);
    if (std::string error = enqueue(); !error.empty()) return error;
    error_ = cudaEventRecord(end_);
    if (error_ == cudaSuccess) error_ = cudaEventSynchronize(end_);
    if (error_ == cudaSuccess) error_ = cudaEventElapsedTime(&milliseconds, begin_, end_);
    return in_words(error_);
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : error_(cudaMalloc(&data_, bytes)) {}
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  cudaError_t error() const { return error_; }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  cudaError_t error_;
};

Rate rate(const Times& times, double work) {
  if (!times.error.empty()) return {times.error, 0};
  return {"", work / (times.median_ms / 1e3)};
}

int multiprocessors() {
  int count = 0;
  return cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? count
                                                                                          : 1;
}

// ---- Bandwidth ----

constexpr int loads = 4;  // 16-byte loads in flight per thread

__global__ void copy(const uint4* from, uint4* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (loads - 1) * step < count; i += loads * step) {
    uint4 values[loads];
#pragma unroll
    for (int n = 0; n < loads; ++n) values[n] = from[i + n * step];
#pragma unroll
    for (int n = 0; n < loads; ++n) to[i + n * step] = values[n];
  }
  for (; i < count; i += step) to[i] = from[i];
}

// ---- Peaks ----

constexpr int independent = 8;  // accumulators of a warp (mma) or a thread (fma), to hide latency
constexpr int repetitions = 4096;  // of the loop body
constexpr int threads_a_block = 256;

// Returns numbers with random signs and magnitudes in [1, 2), so that the multipliers switch as
// with real data. `base`, `mask` and `sign` are the format's bits of 1, of the fraction and of the
// sign.
__device__ std::uint32_t number(std::uint32_t seed, std::uint32_t base, std::uint32_t mask,
                                std::uint32_t sign) {
  seed = (seed ^ 61) ^ (seed >> 16);
  seed *= 9;
  seed = (seed ^ (seed >> 4)) * 0x27d4eb2d;
  seed ^= seed >> 15;
  return base | (seed & (mask | sign));
}

struct MmaF16 {
  static constexpr int k = 16, a = 4, b = 2;
  static constexpr std::uint32_t one = 0x3c003c00, fraction = 0x03ff03ff, sign = 0x80008000;
  static __device__ void run(float* d, const std::uint32_t* x, const std::uint32_t* y) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
};
struct MmaBf16 {
  static constexpr int k = 16, a = 4, b = 2;
  static constexpr std::uint32_t one = 0x3f803f80, fraction = 0x007f007f, sign = 0x80008000;
  static __device__ void run(float* d, const std::uint32_t* x, const std::uint32_t* y) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
};
struct MmaTf32 {
  static constexpr int k = 8, a = 4, b = 2;
  static constexpr std::uint32_t one = 0x3f800000, fraction = 0x007fe000, sign = 0x80000000;
  static __device__ void run(float* d, const std::uint32_t* x, const std::uint32_t* y) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
};

template <class Mma>
__global__ void mma_loop(float* sums) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t x[Mma::a], y[Mma::b];
  for (int r = 0; r < Mma::a; ++r)
    x[r] = number(thread * 8 + r, Mma::one, Mma::fraction, Mma::sign);
  for (int r = 0; r < Mma::b; ++r)
    y[r] = number(thread * 8 + 4 + r, Mma::one, Mma::fraction, Mma::sign);
  float d[independent][4] = {};
  for (int n = 0; n < repetitions; ++n) {
#pragma unroll
    for (int i = 0; i < independent; ++i) Mma::run(d[i], x, y);
  }
  float sum = 0;  // stored, so that no work is optimized away
  for (int i = 0; i < independent; ++i) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
  sums[thread] = sum;
}

__global__ void fma_loop(float factor, float* sums) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  float d[independent];
  for (int i = 0; i < independent; ++i) d[i] = static_cast<float>(thread % 97 + i);
  for (int n = 0; n < repetitions; ++n) {
#pragma unroll
    for (int i = 0; i < independent; ++i) d[i] = fmaf(d[i], factor, 1.0F);
  }
  float sum = 0;
  for (int i = 0; i < independent; ++i) sum += d[i];
  sums[thread] = sum;
}

// Fills every multiprocessor with as many blocks as it can hold, four times over.
template <class Kernel, class... Arguments>
Rate filled_rate(Kernel* kernel, double operations_per_warp, const TimeOptions& options,
                 Arguments... arguments) {
  int resident = 0;
  if (const auto error =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads_a_block, 0);
      error != cudaSuccess) {
    return {in_words(error), 0};
  }
  const int blocks = 4 * std::max(resident, 1) * multiprocessors();
  const DeviceMemory sums(static_cast<std::size_t>(blocks) * threads_a_block * sizeof(float));
  if (sums.error() != cudaSuccess) return {in_words(sums.error()), 0};
  const Times times = time_runs(
      [&] {
        kernel<<<blocks, threads_a_block>>>(arguments..., static_cast<float*>(sums.data()));
        return in_words(cudaGetLastError());
      },
      options);
  return rate(times, operations_per_warp * blocks * (threads_a_block / 32));
}

template <class Mma>
Rate mma_rate(const TimeOptions& options) {
  return filled_rate(mma_loop<Mma>, 2.0 * 16 * 8 * Mma::k * independent * repetitions, options);
}

}  // namespace

Times time_runs(const std::function<std::string()>& enqueue, const TimeOptions& options) {
  Times times;
  Stopwatch stopwatch;
  float milliseconds = 0;
  for (int i = 0; i < std::max(options.warm_up, 1); ++i) {
    times.error = stopwatch.time(enqueue, milliseconds);
    if (!times.error.empty()) return times;
  }
  const double fitting = options.budget_s * 1e3 / std::max(milliseconds, 1e-3F);
  times.runs =
      std::clamp(static_cast<int>(std::min(fitting, 1e6)), options.min_runs, options.max_runs);
  std::vector<double> measured;
  for (int i = 0; i < times.runs; ++i) {
    times.error = stopwatch.time(enqueue, milliseconds);
    if (!times.error.empty()) return times;
    measured.push_back(milliseconds);
  }
  std::sort(measured.begin(), measured.end());
  const std::size_t middle = measured.size() / 2;
  times.median_ms =
      measured.size() % 2 == 1 ? measured[middle] : (measured[middle - 1] + measured[middle]) / 2;
  times.min_ms = measured.front();
  times.max_ms = measured.back();
  return times;
}

Rate copy_rate(std::uint64_t bytes, const TimeOptions& options) {
  std::size_t available = 0, total = 0;
  if (const auto error = cudaMemGetInfo(&available, &total); error != cudaSuccess)
    return {in_words(error), 0};
  bytes = std::min<std::uint64_t>(bytes, available / 4) / sizeof(uint4) * sizeof(uint4);
  const DeviceMemory from(bytes), to(bytes);
  for (const DeviceMemory* memory : {&from, &to}) {
    if (memory->error() != cudaSuccess) return {in_words(memory->error()), 0};
  }
  if (const auto error = cudaMemset(from.data(), 0x5a, bytes); error != cudaSuccess)
    return {in_words(error), 0};
  const std::size_t count = bytes / sizeof(uint4);
  const int blocks = 8 * multiprocessors();
  const Times times = time_runs(
      [&] {
        copy<<<blocks, threads_a_block>>>(static_cast<const uint4*>(from.data()),
                                          static_cast<uint4*>(to.data()), count);
        return in_words(cudaGetLastError());
      },
      options);
  return rate(times, 2.0 * static_cast<double>(bytes));
}

Rate peak_rate(Peak peak, const TimeOptions& options) {
  switch (peak) {
    case Peak::mma_f16:
      return mma_rate<MmaF16>(options);
    case Peak::mma_bf16:
      return mma_rate<MmaBf16>(options);
    case Peak::mma_tf32:
      return mma_rate<MmaTf32>(options);
    case Peak::fma_f32:
      return filled_rate(fma_loop, 2.0 * 32 * independent * repetitions, options, 0.999F);
  }
  return {"no such peak", 0};
}

std::string bus_id() {
  char text[32] = "";
  return cudaDeviceGetPCIBusId(text, sizeof text, 0) == cudaSuccess ? text : "";
}

}  // namespace plumbline::testing
