// Memory, symbols, attributes and errors of the emulated device.
#include <cstring>
#include <vector>

#include "tests/cudart/program.h"

namespace plumbline::cudart::test {
namespace {

using testing::HasSubstr;

TEST(CudartMemory, AllocationIsAlignedAndPoisoned) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 1000), success);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0U);
  std::vector<std::uint8_t> bytes(1000);
  EXPECT_EQ(cudaMemcpy(bytes.data(), pointer, 1000, 2), success);
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(1000, 0xff));
  EXPECT_EQ(cudaMemset(pointer, 7, 1000), success);
  EXPECT_EQ(static_cast<std::uint8_t*>(pointer)[999], 7);
  EXPECT_EQ(cudaFree(pointer), success);
  EXPECT_EQ(cudaFree(pointer), invalid_value);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("was not allocated by this CUDA library"));
  EXPECT_EQ(cudaGetLastError(), invalid_value);
  EXPECT_EQ(cudaGetLastError(), success) << "taken";
  EXPECT_EQ(cudaFree(nullptr), success);
}

TEST(CudartMemory, HugeAllocationIsOutOfMemory) {
  void* pointer = &pointer;
  EXPECT_EQ(cudaMalloc(&pointer, std::size_t{1} << 62), memory_allocation);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaGetLastError(), memory_allocation);
}

TEST(CudartMemory, Memcpy2DUsesPitches) {
  const std::vector<int> from{1, 2, 3, 4, 5, 6};
  std::vector<int> to(3);
  EXPECT_EQ(cudaMemcpy2DAsync(to.data(), 4, from.data() + 1, 8, 4, 3, 3, nullptr), success);
  EXPECT_EQ(to, (std::vector{2, 4, 6}));
  EXPECT_EQ(cudaMemcpy2DAsync(to.data(), 2, from.data(), 8, 4, 3, 3, nullptr), invalid_value);
  cudaGetLastError();
}

TEST(CudartMemory, SymbolsAreFoundByName) {
  Program program(
      ".visible .const .align 4 .b8 factors[8] = {1, 0, 0, 0, 2, 0, 0, 0};\n"
      ".visible .entry nothing() { ret; }\n");
  const char* const factors = program.variable("factors", 8);
  int values[2] = {};
  std::size_t bytes = 0;
  EXPECT_EQ(cudaGetSymbolSize(&bytes, factors), success);
  EXPECT_EQ(bytes, 8U);
  EXPECT_EQ(cudaMemcpyFromSymbol(values, factors, 8, 0, 2), success);
  EXPECT_EQ(values[1], 2);
  const int five = 5;
  EXPECT_EQ(cudaMemcpyToSymbol(factors, &five, 4, 4, 1), success);
  EXPECT_EQ(cudaMemcpyFromSymbol(values, factors, 4, 4, 2), success);
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(cudaMemcpyToSymbol(factors, &five, 4, 6, 1), invalid_value);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("bytes 6 to 10 of a variable of 8"));
  EXPECT_EQ(cudaMemcpyToSymbol(&five, &five, 4, 0, 1), invalid_symbol);
  EXPECT_EQ(cudaMemcpyToSymbol(program.variable("missing", 4), &five, 4, 0, 1), invalid_symbol);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("has no variable missing"));
  cudaGetLastError();
}

TEST(CudartMemory, AttributesMatchArchitecture) {
  constexpr int multiprocessors = 16, major = 75, max_shared = 97, unheard_of = 4711;
  int value = 0;
  use("sm_80");
  EXPECT_EQ(cudaDeviceGetAttribute(&value, multiprocessors, 0), success);
  EXPECT_EQ(value, 108);
  use("sm_90");
  cudaDeviceGetAttribute(&value, multiprocessors, 0);
  EXPECT_EQ(value, 132);
  cudaDeviceGetAttribute(&value, major, 0);
  EXPECT_EQ(value, 9);
  cudaDeviceGetAttribute(&value, max_shared, 0);
  EXPECT_EQ(value, 227 << 10);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, unheard_of, 0), not_supported);
  EXPECT_THAT(plumbline_cudart_last_failure(), HasSubstr("attribute 4711 is not known"));
  EXPECT_EQ(cudaDeviceGetAttribute(&value, major, 1), invalid_device);
  EXPECT_EQ(cudaSetDevice(1), invalid_device);
  cudaGetLastError();
}

TEST(CudartMemory, UnsupportedFunctionNamesItself) {
  EXPECT_EQ(cudaGraphLaunch(nullptr, nullptr), not_supported);
  EXPECT_STREQ(plumbline_cudart_last_failure(), "cudaGraphLaunch is not emulated");
  EXPECT_STREQ(cudaGetErrorName(not_supported), "cudaErrorNotSupported");
  EXPECT_STREQ(cudaGetErrorString(not_supported), "cudaGraphLaunch is not emulated");
  EXPECT_STREQ(cudaGetErrorString(memory_allocation), "out of memory");
  EXPECT_EQ(cudaPeekAtLastError(), not_supported);
  cudaGetLastError();
}

TEST(CudartMemory, InvalidSettingsAreRefused) {
  plumbline_cudart_settings settings{};
  settings.struct_size = sizeof settings;
  std::strcpy(settings.arch, "sm_75");
  EXPECT_THAT(plumbline_cudart_configure(&settings), HasSubstr("sm_80, sm_86"));
  std::strcpy(settings.arch, "sm_80");
  settings.schedule = 3;
  EXPECT_THAT(plumbline_cudart_configure(&settings), HasSubstr("schedule"));
  settings.schedule = 0;
  settings.struct_size = 4;
  EXPECT_THAT(plumbline_cudart_configure(&settings), HasSubstr("struct_size"));
}

}  // namespace
}  // namespace plumbline::cudart::test
