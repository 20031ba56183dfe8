// The code that is common to both machines.
#include "kernels/compiled/machine.h"

#include <algorithm>
#include <cstdio>

#include "emulator/architectures.h"
#include "kernels/compiled/cuda.h"

namespace plumbline::compiled {

void describe_launch(plumbline_description& description, const char* build_id,
                     const MachineOptions& options, const plumbline_device& device,
                     const Launched& launched) {
  std::snprintf(description.build_id, sizeof description.build_id, "%s%s%.30s", build_id,
                options.text.empty() ? "" : "+", options.text.c_str());
  provider::copy_text(arch_name(device), description.device_arch);
  cudaFuncAttributes attributes{};
  if (launched.kernel == nullptr ||
      cudaFuncGetAttributes(&attributes, launched.kernel) != cudaSuccess)
    return;
  description.shared_memory_bytes =
      static_cast<std::int64_t>(attributes.sharedSizeBytes + launched.dynamic_shared_bytes);
  describe_threads(description, attributes);
}

std::vector<std::int32_t> values(const plumbline_tensor& tensor, std::int64_t count) {
  const auto* const all = static_cast<const std::int32_t*>(tensor.data);
  return {all, all + count};
}

bool all_equal_to(const plumbline_tensor& lengths, std::int64_t batch, std::int64_t length) {
  const auto* const all = static_cast<const std::int32_t*>(lengths.data);
  return std::all_of(all, all + batch, [&](std::int32_t one) { return one == length; });
}

DeviceArray::DeviceArray(const plumbline_tensors& tensors, std::size_t count) {
  allocate(tensors, count);
}
DeviceArray::DeviceArray(const plumbline_tensors& tensors,
                         const std::vector<std::int32_t>& values) {
  copy(tensors, values);
}
DeviceArray::DeviceArray(const plumbline_tensors& tensors,
                         plumbline_tensor plumbline_tensors::*copied,
                         const std::vector<std::int32_t>& values) {
  if (provider::device_indices(tensors, copied) == nullptr) {
    copy(tensors, values);
  } else {
    owner_ = Owner::problem;  // compiled::Run lets kernels access it
    data_ = static_cast<std::int32_t*>((tensors.*copied).data);
  }
}
DeviceArray::~DeviceArray() {
  if (owner_ == Owner::plan) disallow(data_);
  if (owner_ == Owner::run_time) cudaFree(data_);
}

void DeviceArray::allocate(const plumbline_tensors& tensors, std::size_t count) {
  const std::size_t bytes = count * sizeof(std::int32_t);
  if (bytes == 0) return;
  if (void* const given = provider::plan_memory(tensors, bytes, "index arrays")) {
    owner_ = Owner::plan;
    data_ = static_cast<std::int32_t*>(given);
    allow(data_, bytes);
  } else if (cudaMalloc(reinterpret_cast<void**>(&data_), bytes) != cudaSuccess) {
    throw provider::Refused(PLUMBLINE_OUT_OF_MEMORY, "no memory for index arrays on the device");
  }
}

void DeviceArray::copy(const plumbline_tensors& tensors, const std::vector<std::int32_t>& values) {
  allocate(tensors, values.size());
  if (values.empty()) return;
  auto* const stream = static_cast<cudaStream_t>(provider::planning_stream(tensors));
  cudaMemcpyAsync(data_, values.data(), values.size() * sizeof(std::int32_t),
                  cudaMemcpyHostToDevice, stream);
  // a copy from pageable memory may return before the last part has arrived
  cudaStreamSynchronize(stream);
}

plumbline_accumulator tensor_core_accumulator(std::uint32_t dtype, int arch) {
  const TensorCoreSums sums = tensor_core_sums(arch);
  const int products = dtype == PLUMBLINE_F32 ? sums.products_tf32 : sums.products_16_bit;
  return {PLUMBLINE_F32, 1, static_cast<std::uint32_t>(sums.fraction_bits),
          static_cast<std::uint32_t>(products)};
}

}  // namespace plumbline::compiled
