// Allocates and fills a kernel's tensors on the device, prepares it, and runs it on request.
#include "tests/gpu/kernel_call.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "tests/kernels/call.h"

namespace plumbline::testing {
namespace {

std::optional<std::uint32_t> find_kernel(const plumbline_provider& provider,
                                         const std::string& name) {
  for (std::uint32_t i = 0; i < provider.kernel_count; ++i) {
    if (name == provider.kernel_name(i)) return i;
  }
  return std::nullopt;
}

// Returns some megabytes of normal numbers in the dtype. Each tensor needs another seed: if K
// equalled Q, each row would attend only to itself.
std::vector<std::byte> random_numbers(DType dtype, std::uint64_t seed) {
  // odd, so that the period is not a multiple of a row
  constexpr std::size_t count = (std::size_t{1} << 21) + 61;
  std::vector<float> values(count);
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::generate(values.begin(), values.end(), [&] { return normal(engine); });
  std::vector<std::byte> bytes(count * size_in_bytes(dtype));
  encode(dtype, values, bytes.data());
  return bytes;
}

plumbline_tensor indices(const std::vector<std::int32_t>& values, std::int64_t columns) {
  plumbline_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  if (values.empty()) return tensor;
  tensor.dtype = PLUMBLINE_I32;
  tensor.rank = columns == 0 ? 1 : 2;
  tensor.extent[0] = static_cast<std::int64_t>(values.size()) / std::max<std::int64_t>(columns, 1);
  tensor.stride[0] = std::max<std::int64_t>(columns, 1);
  if (columns != 0) tensor.extent[1] = columns, tensor.stride[1] = 1;
  tensor.data = const_cast<std::int32_t*>(values.data());
  tensor.bytes = values.size() * sizeof(std::int32_t);
  return tensor;
}

}  // namespace

KernelCall::KernelCall(const plumbline_provider& provider, const std::string& kernel,
                       const Problem& problem)
    : provider_(provider), geometry_(problem), device_(first_device(provider)) {
  const auto index = find_kernel(provider, kernel);
  if (!index) {
    error_ = "there is no kernel " + kernel;
    return;
  }
  const plumbline_problem asked = abi_problem(geometry_);
  std::array<char, 256> reason{};
  if (provider.query(*index, &asked, &device_, reason.data(), reason.size()) != PLUMBLINE_OK) {
    unsupported_ = true;
    error_ = reason.data();
    return;
  }
  tensors_.struct_size = sizeof tensors_;
  place(geometry_.q, tensors_.q, true);
  place(geometry_.k, tensors_.k, true);
  place(geometry_.v, tensors_.v, true);
  place(geometry_.out, tensors_.out, false);
  place(geometry_.lse, tensors_.lse, false);
  tensors_.cu_seqlens_q = indices(geometry_.cu_seqlens_q, 0);
  tensors_.cu_seqlens_kv = indices(geometry_.cu_seqlens_kv, 0);
  tensors_.seqlens_q = indices(geometry_.seqlens_q, 0);
  tensors_.seqlens_kv = indices(geometry_.seqlens_kv, 0);
  tensors_.page_table = indices(geometry_.page_table, geometry_.pages_per_sample);
  if (error_.empty()) prepare(*index, asked);
}

KernelCall::~KernelCall() {
  if (plan_ != nullptr) provider_.destroy(plan_);
  for (void* pointer : allocated_) {
    if (provider_.memory == nullptr) {
      std::free(pointer);
    } else {
      provider_.memory->release(&device_, pointer);
    }
  }
}

bool KernelCall::failed(std::int32_t code, const char* what) {
  if (code != 0 && error_.empty())
    error_ = std::string(what) + " failed with error " + std::to_string(code) + " of the device";
  return code != 0;
}

void* KernelCall::allocate(std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 256;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* pointer = nullptr;
  if (provider_.memory == nullptr) {
    pointer = std::aligned_alloc(alignment, bytes);
    if (failed(pointer == nullptr ? -1 : 0, "allocating host memory")) return nullptr;
  } else if (failed(provider_.memory->allocate(&device_, bytes, &pointer),
                    "allocating device memory")) {
    return nullptr;
  }
  allocated_.push_back(pointer);
  return pointer;
}

void KernelCall::fill(void* to, DType dtype, std::uint64_t bytes) {
  const std::vector<std::byte> numbers = random_numbers(dtype, allocated_.size());
  for (std::uint64_t at = 0; at < bytes && error_.empty(); at += numbers.size()) {
    const std::uint64_t size = std::min<std::uint64_t>(numbers.size(), bytes - at);
    std::byte* part = static_cast<std::byte*>(to) + at;
    if (provider_.memory == nullptr) {
      std::memcpy(part, numbers.data(), size);
    } else {
      failed(provider_.memory->copy_to_device(&device_, part, numbers.data(), size),
             "copying to the device");
    }
  }
}

void KernelCall::place(const TensorShape& shape, plumbline_tensor& tensor, bool filled) {
  tensor.struct_size = sizeof tensor;
  if (shape.rank == 0 || !error_.empty()) return;
  tensor.dtype = static_cast<std::uint32_t>(shape.dtype);
  tensor.memory_space = device_.memory_space;
  tensor.rank = static_cast<std::uint32_t>(shape.rank);
  std::copy(shape.extent.begin(), shape.extent.end(), tensor.extent);
  std::copy(shape.stride.begin(), shape.stride.end(), tensor.stride);
  tensor.bytes = shape.bytes();
  tensor.data = allocate(tensor.bytes);
  if (filled && tensor.data != nullptr) fill(tensor.data, shape.dtype, tensor.bytes);
}

void KernelCall::prepare(std::uint32_t index, const plumbline_problem& problem) {
  std::array<char, 256> reason{};
  std::uint64_t bytes = 0;
  if (provider_.prepare(index, &problem, &tensors_, &device_, &plan_, &bytes, reason.data(),
                        reason.size()) != PLUMBLINE_OK) {
    error_ = reason.data();
    plan_ = nullptr;
    return;
  }
  tensors_.workspace.struct_size = sizeof tensors_.workspace;
  if (bytes == 0) return;
  tensors_.workspace.memory_space = device_.memory_space;
  tensors_.workspace.rank = 1;
  tensors_.workspace.extent[0] = static_cast<std::int64_t>(bytes);
  tensors_.workspace.stride[0] = 1;
  tensors_.workspace.bytes = bytes;
  tensors_.workspace.data = allocate(bytes);
}

std::string KernelCall::run() {
  std::array<char, 256> reason{};
  return provider_.run(plan_, &tensors_, nullptr, reason.data(), reason.size()) == PLUMBLINE_OK
             ? ""
             : reason.data();
}

std::string KernelCall::synchronize() {
  if (provider_.memory != nullptr)
    failed(provider_.memory->synchronize(&device_, nullptr), "the kernel");
  return error_;
}

const plumbline_description& KernelCall::describe() {
  description_ = {};
  description_.struct_size = sizeof description_;
  provider_.describe(plan_, &description_);
  return description_;
}

std::vector<std::byte> KernelCall::output() {
  std::vector<std::byte> bytes(tensors_.out.bytes);
  if (provider_.memory == nullptr) {
    std::memcpy(bytes.data(), tensors_.out.data, bytes.size());
  } else {
    failed(provider_.memory->copy_to_host(&device_, bytes.data(), tensors_.out.data, bytes.size()),
           "copying from the device");
  }
  return bytes;
}

}  // namespace plumbline::testing
