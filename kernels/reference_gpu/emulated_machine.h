// Memory and launches on the emulator, for the library that computes the reference.
#pragma once

#include <cstring>
#include <new>

#include "emulator/machine/launch.h"
#include "kernels/reference_gpu/library.h"
#include "kernels/reference_gpu/reference_kernel.cuh"

namespace plumbline::reference_gpu {

class EmulatedMachine : public Machine {
 public:
  explicit EmulatedMachine(emulator::LaunchOptions options = {}, unsigned blocks = 16)
      : options_(std::move(options)), blocks_(blocks) {}
  void* allocate(std::size_t bytes) override {
    return std::memset(::operator new(bytes), 0, bytes);
  }
  void release(void* memory) override { ::operator delete(memory); }
  void upload(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void run_rows(unsigned blocks, const RowParameters& p) override {
    const auto shared_bytes = static_cast<std::size_t>(row_shared_bytes(p.dim_qk));
    check_launch(
        emulator::launch(options_, {blocks}, {block_threads}, shared_bytes, reference_rows, p));
  }
  void run_units(unsigned blocks, const UnitParameters& p) override {
    check_launch(
        emulator::launch(options_, {blocks}, {block_threads}, unit_shared_bytes, group_units, p));
  }
  unsigned blocks() override { return blocks_; }
  std::size_t scratch_bytes() override { return std::size_t{1} << 28U; }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  static void check_launch(const std::string& failure) {
    if (!failure.empty()) throw std::runtime_error(failure);
  }
  emulator::LaunchOptions options_;
  unsigned blocks_;
};

}  // namespace plumbline::reference_gpu
