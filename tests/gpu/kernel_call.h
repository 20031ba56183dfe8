// Prepares a kernel through its provider's C ABI and runs it as often as needed for timing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline::testing {

// The problem's tensors in the provider's memory. Q, K and V hold normal random numbers everywhere,
// even in padding: with equal numbers a GPU would draw less power and clock higher than with real
// ones.
class KernelCall {
 public:
  // `kernel` is the name without the provider's. The provider's options are those of the last call
  // of plumbline_get_provider.
  KernelCall(const plumbline_provider& provider, const std::string& kernel, const Problem& problem);
  ~KernelCall();
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // Returns why the kernel cannot run; empty if it can. `unsupported`: the kernel does not support
  // the problem.
  const std::string& error() const { return error_; }
  bool unsupported() const { return unsupported_; }

  // Enqueues one run on the default stream. Returns "" on success.
  std::string run();
  std::string synchronize();
  // Describes the last run.
  const plumbline_description& describe();
  // Returns the bytes of `out` in memory, after synchronize().
  std::vector<std::byte> output();

 private:
  void place(const TensorShape& shape, plumbline_tensor& tensor, bool filled);
  void* allocate(std::uint64_t bytes);
  void fill(void* to, DType dtype, std::uint64_t bytes);
  void prepare(std::uint32_t index, const plumbline_problem& problem);
  bool failed(std::int32_t code, const char* what);

  const plumbline_provider& provider_;
  const Geometry geometry_;
  plumbline_device device_;
  plumbline_tensors tensors_{};
  plumbline_plan* plan_ = nullptr;
  plumbline_description description_{};
  std::vector<void*> allocated_;
  std::string error_;
  bool unsupported_ = false;
};

}  // namespace plumbline::testing
