// Kernel launches by a compiled program.
#include <array>
#include <numeric>
#include <vector>

#include "tests/cudart/program.h"

namespace plumbline::cudart::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// out[i] = factor * in[i], through dynamic shared memory.
constexpr const char* scale = R"(
.file 1 "/src/scale.cu"
.extern .shared .align 16 .b8 tile[];
.visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 factor)
.maxntid 64
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.f32 %f1, [factor];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  .loc 1 12 3
  ld.global.f32 %f2, [%rd4];
  mul.f32 %f3, %f2, %f1;
  shl.b32 %r5, %r1, 2;
  mov.u32 %r6, tile;
  add.s32 %r7, %r6, %r5;
  st.shared.f32 [%r7], %f3;
  ld.shared.f32 %f4, [%r7];
  add.s64 %rd5, %rd1, %rd3;
  st.global.f32 [%rd5], %f4;
  ret;
}
)";

struct Floats {
  explicit Floats(std::size_t count) { cudaMalloc(&data, count * sizeof(float)); }
  ~Floats() { cudaFree(data); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* values() { return static_cast<float*>(data); }
  void* data = nullptr;
};

int launch_scale(const void* kernel, void* out, void* in, unsigned blocks, std::size_t shared = 256,
                 unsigned threads = 64) {
  float factor = 3;
  std::array<void*, 3> arguments{&out, &in, &factor};
  // The calls of a stub.
  __cudaPushCallConfiguration({blocks, 1, 1}, {threads, 1, 1}, shared, nullptr);
  Dim3 grid{}, block{};
  std::size_t bytes = 0;
  void* stream = nullptr;
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &bytes, &stream), success);
  return cudaLaunchKernel(kernel, grid, block, arguments.data(), bytes, stream);
}

TEST(CudartLaunch, RunsPtxOfTheProgram) {
  use("sm_80");
  Program program(scale);
  const void* const kernel = program.kernel("scale");
  Floats in(256), out(256);
  std::iota(in.values(), in.values() + 256, 0.0F);
  const std::uint64_t before = plumbline_cudart_launches();
  ASSERT_EQ(launch_scale(kernel, out.data, in.data, 4), success) << plumbline_cudart_last_failure();
  EXPECT_EQ(plumbline_cudart_launches(), before + 1);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(out.values()[i], 3.0F * static_cast<float>(i));
}

TEST(CudartLaunch, UnallocatedAccessFails) {
  use("sm_80");
  Program program(scale);
  const void* const kernel = program.kernel("scale");
  Floats in(250), out(256);
  EXPECT_EQ(launch_scale(kernel, out.data, in.data, 4), launch_failure);
  EXPECT_THAT(plumbline_cudart_last_failure(),
              AllOf(HasSubstr("scale"), HasSubstr("(scale.cu:12)"), HasSubstr("allocation")));
  EXPECT_EQ(cudaDeviceSynchronize(), launch_failure) << "where the host waits";
  EXPECT_EQ(cudaGetLastError(), launch_failure);
  EXPECT_EQ(cudaDeviceSynchronize(), success);
  // Host memory counts as device memory after registration.
  std::vector<float> host(256, 1.0F);
  EXPECT_EQ(launch_scale(kernel, out.data, host.data(), 4), launch_failure);
  plumbline_cudart_add_memory(host.data(), host.size() * sizeof(float));
  EXPECT_EQ(launch_scale(kernel, out.data, host.data(), 4), success);
  plumbline_cudart_remove_memory(host.data());
  EXPECT_EQ(launch_scale(kernel, out.data, host.data(), 4), launch_failure);
  cudaGetLastError();
}

TEST(CudartLaunch, VariableOfUnloadedModuleIsNotAllocated) {
  use("sm_80");
  Program program(scale);
  const void* const kernel = program.kernel("scale");
  Floats out(64);
  void* values = nullptr;
  {
    Program other(
        ".visible .global .align 4 .b8 values[256];\n.visible .entry nothing() { ret; }\n");
    ASSERT_EQ(cudaGetSymbolAddress(&values, other.variable("values", 256)), success);
    EXPECT_EQ(launch_scale(kernel, out.data, values, 1), success);
  }
  EXPECT_EQ(launch_scale(kernel, out.data, values, 1), launch_failure);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("allocation"));
  cudaGetLastError();
}

TEST(CudartLaunch, RefusesInvalidConfigurations) {
  use("sm_86");
  Program program(scale);
  const void* const kernel = program.kernel("scale");
  Floats in(64), out(64);
  EXPECT_EQ(launch_scale(kernel, out.data, in.data, 1, 50000), invalid_value);
  EXPECT_THAT(plumbline_cudart_last_failure(),
              AllOf(HasSubstr("50000 bytes"), HasSubstr("MaxDynamicSharedMemorySize")));
  EXPECT_EQ(cudaFuncSetAttribute(kernel, 8, 50000), success);
  EXPECT_EQ(launch_scale(kernel, out.data, in.data, 1, 50000), success);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, 8, 100 << 10), invalid_value);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("sm_86"));
  EXPECT_EQ(launch_scale(kernel, out.data, in.data, 0), invalid_configuration);
  EXPECT_EQ(launch_scale(kernel, out.data, in.data, 1, 256, 1025), invalid_configuration);
  EXPECT_EQ(launch_scale(&in, out.data, in.data, 1), invalid_device_function);
  EXPECT_EQ(launch_scale(program.kernel("missing"), out.data, in.data, 1), invalid_kernel_image);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("no entry missing"));
  cudaGetLastError();
}

TEST(CudartLaunch, NeedsPtxForArchitecture) {
  use("sm_80");
  Program program(scale, "sm_90");
  Floats in(64), out(64);
  EXPECT_EQ(launch_scale(program.kernel("scale"), out.data, in.data, 1),
            no_kernel_image_for_device);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("sm_90"));
  use("sm_90");
  EXPECT_EQ(launch_scale(program.kernel("scale"), out.data, in.data, 1), success);
  cudaGetLastError();
}

TEST(CudartLaunch, ReportsOccupancyAndAttributes) {
  use("sm_80");
  Program program(scale);
  const void* const kernel = program.kernel("scale");
  FunctionAttributes attributes{};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel), success);
  EXPECT_EQ(attributes.max_threads_per_block, 64);
  EXPECT_EQ(attributes.max_dynamic_shared_bytes, 48 << 10);
  EXPECT_EQ(attributes.registers, 255);
  // 255 registers per thread allow 256 threads per multiprocessor: eight warps, four blocks of two.
  int blocks = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 256), success);
  EXPECT_EQ(blocks, 4);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 100 << 10), success);
  EXPECT_EQ(blocks, 1);
}

}  // namespace
}  // namespace plumbline::cudart::test
