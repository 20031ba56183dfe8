// A program as compilers make it: PTX in a fat binary, and stubs for its kernels.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/cudart/plumbline_cudart.h"
#include "emulator/cudart/types.h"

namespace plumbline::cudart::test {

// CUDA's functions under their own names, as a program declares them.
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*,
                            void*, void*, void*, int*);
void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t, int,
                       int);
unsigned __cudaPushCallConfiguration(Dim3, Dim3, std::size_t, void*);
int __cudaPopCallConfiguration(Dim3*, Dim3*, std::size_t*, void*);
int cudaLaunchKernel(const void* host, Dim3, Dim3, void** arguments, std::size_t, void* stream);
int cudaFuncSetAttribute(const void* host, int attribute, int value);
int cudaFuncGetAttributes(FunctionAttributes*, const void* host);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void* host, int, std::size_t);
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaMemcpy2DAsync(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int,
                      void*);
int cudaMemset(void*, int, std::size_t);
int cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, int);
int cudaMemcpyFromSymbol(void*, const void*, std::size_t, std::size_t, int);
int cudaGetSymbolSize(std::size_t*, const void*);
int cudaGetSymbolAddress(void**, const void*);
int cudaDeviceGetAttribute(int*, int, int);
int cudaGetLastError();
int cudaPeekAtLastError();
const char* cudaGetErrorString(int);
const char* cudaGetErrorName(int);
int cudaGraphLaunch(void*, void*);
int cudaSetDevice(int);
int cudaDeviceSynchronize();
}

// Registers the PTX for the lifetime of the object.
class Program {
 public:
  explicit Program(const std::string& ptx, const std::string& for_arch = "sm_80");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  // Returns the stub address of a kernel or a variable.
  const void* kernel(const char* name);
  char* variable(const char* name, std::size_t bytes);

 private:
  struct Wrapper {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data = nullptr;
    void* file_name = nullptr;
  };
  std::vector<std::byte> bytes_;
  Wrapper wrapper_;
  void** handle_ = nullptr;
  std::vector<std::unique_ptr<char>> stubs_;
};

// Selects this architecture, with defaults for all other settings.
void use(const char* arch);

}  // namespace plumbline::cudart::test
