// A typical CUDA program: memory, a stream, events, a symbol, dynamic shared memory, tensor cores.
#include <cuda_bf16.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    const cudaError_t error = (call);                                    \
    if (error != cudaSuccess) {                                          \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

__constant__ int factor;

__global__ void sum(const int* values, int count, int* result) {
  extern __shared__ int partial[];
  int mine = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x))
    mine += values[i] * factor;
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// Computes A B (16 x 8) from A (16 x 16) and B (16 x 8) with constant elements.
__global__ void dot(const __nv_bfloat162* a, const __nv_bfloat162* b, float* c) {
  const unsigned x = reinterpret_cast<const unsigned&>(a[threadIdx.x]);
  const unsigned y = reinterpret_cast<const unsigned&>(b[threadIdx.x]);
  float d[4] = {};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
      "{%5, %5}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(x), "r"(y));
  for (int i = 0; i < 4; ++i) c[4 * threadIdx.x + i] = d[i];
}

int main() {
  constexpr int count = 1024;
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = i;
  int *device = nullptr, *result = nullptr, total = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaMalloc(&device, count * sizeof(int)));
  CHECK(cudaMalloc(&result, sizeof(int)));
  CHECK(
      cudaMemcpyAsync(device, values.data(), count * sizeof(int), cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemsetAsync(result, 0, sizeof(int), stream));
  const int one = 1;
  CHECK(cudaMemcpyToSymbol(factor, &one, sizeof one));
  CHECK(cudaEventRecord(begin, stream));
  sum<<<4, 128, 128 * sizeof(int), stream>>>(device, count, result);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaStreamSynchronize(stream));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  if (milliseconds < 0) return 1;
  CHECK(cudaMemcpy(&total, result, sizeof total, cudaMemcpyDeviceToHost));

  std::vector<__nv_bfloat162> a(32, __float2bfloat162_rn(0.5F)), b(32, __float2bfloat162_rn(3.0F));
  std::vector<float> c(128);
  __nv_bfloat162 *da = nullptr, *db = nullptr;
  float* dc = nullptr;
  CHECK(cudaMalloc(&da, 128));
  CHECK(cudaMalloc(&db, 128));
  CHECK(cudaMalloc(&dc, 512));
  CHECK(cudaMemcpy(da, a.data(), 128, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), 128, cudaMemcpyHostToDevice));
  dot<<<1, 32>>>(da, db, dc);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(c.data(), dc, 512, cudaMemcpyDeviceToHost));
  for (const float one_of : c) {
    if (one_of != c[0]) {
      std::printf("%g and %g\n", one_of, c[0]);
      return 1;
    }
  }
  int major = 0, minor = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  std::printf("sum %d, dot %g, sm_%d%d\n", total, c[0], major, minor);
  for (void* pointer : {static_cast<void*>(device), static_cast<void*>(result),
                        static_cast<void*>(da), static_cast<void*>(db), static_cast<void*>(dc)})
    CHECK(cudaFree(pointer));
}
