// Runs our kernels as machine_cuda.cc does, but on the emulator instead of the GPU.
#include <string_view>
#include <utility>

#include "kernels/attention/emulated_launch.h"
#include "kernels/attention/machine.h"
#include "tests/gpu/stand_in/stand_in.h"

namespace plumbline::attention {
namespace {

using stand_in::device;
using stand_in::settings;
using stand_in::Settings;
namespace codes = stand_in::codes;

constexpr emulator::Arch arch = emulator::Arch::sm_90;

class DeviceIndices : public Indices {
 public:
  DeviceIndices() = default;
  ~DeviceIndices() override { device().release(data_); }
  DeviceIndices(const DeviceIndices&) = delete;
  DeviceIndices& operator=(const DeviceIndices&) = delete;

  std::int32_t copy(const plumbline_device& where, const std::vector<std::int32_t>& values) {
    const std::size_t bytes = values.size() * sizeof(std::int32_t);
    const std::int32_t code = device_memory()->allocate(&where, bytes, &data_);
    return code != codes::success
               ? code
               : device_memory()->copy_to_device(&where, data_, values.data(), bytes);
  }
  const std::int32_t* data() const override { return static_cast<const std::int32_t*>(data_); }

 private:
  void* data_ = nullptr;
};

// Returns true if the kernel's tensors are all in device memory.
bool lies_on_device(const Parameters& p) {
  const void* const pointers[] = {p.q.data,
                                  p.k.data,
                                  p.v.data,
                                  p.out.data,
                                  p.lse.data,
                                  p.cu_seqlens_q,
                                  p.cu_seqlens_kv,
                                  p.page_table,
                                  p.k_scale.data,
                                  p.v_scale.data,
                                  p.partial_out,
                                  p.partial_sums,
                                  p.alibi_slopes.data,
                                  p.sinks.data};
  for (const void* pointer : pointers) {
    if (pointer != nullptr && !device().owns(pointer, 1)) return false;
  }
  return true;
}

bool is_on_wrong_stream(const Instance& instance) {
  if (settings().wrong == Settings::Wrong::default_stream) return true;
  return settings().wrong == Settings::Wrong::merge_on_default &&
         std::string_view(instance.kernel) == "merge_splits";
}

}  // namespace

const char* provider_name() { return "cuda"; }
const char* build_id() { return PLUMBLINE_ATTENTION_BUILD_ID; }
const plumbline_device_memory* device_memory() { return stand_in::memory_table(); }

std::string refuse_device(const plumbline_device& asked) {
  if (asked.memory_space != PLUMBLINE_CUDA)
    return "the cuda kernels run on CUDA devices only, for example --device cuda:0";
  if (settings().no_driver)
    throw provider::Refused(
        PLUMBLINE_NO_DEVICE,
        "no usable CUDA device: " + stand_in::in_words(codes::insufficient_driver));
  if (asked.ordinal == 0) return "";
  throw provider::Refused(
      PLUMBLINE_NO_DEVICE,
      "there is no CUDA device " + std::to_string(asked.ordinal) + ": this machine has 1");
}

std::string arch_of(const plumbline_device&) { return std::string(emulator::name(arch)); }
int arch_number(const plumbline_device&) { return static_cast<int>(arch); }
std::int64_t max_block_shared_bytes(const plumbline_device&) {
  return static_cast<std::int64_t>(emulator::max_shared_bytes(arch));
}

std::unique_ptr<Indices> copy_indices(const plumbline_device& where,
                                      std::vector<std::int32_t> values) {
  auto indices = std::make_unique<DeviceIndices>();
  const std::int32_t code = indices->copy(where, values);
  if (code == codes::success) return indices;
  throw provider::Refused(code == codes::out_of_memory ? PLUMBLINE_OUT_OF_MEMORY : PLUMBLINE_ERROR,
                          "index arrays: " + stand_in::in_words(code));
}

Attributes attributes_of(const Instance&) { return {}; }

std::string launch(const plumbline_device&, const Options& options, const Instance& instance,
                   const Grid& grid, int shared_bytes, const Parameters& parameters, void* stream) {
  const emulator::LaunchOptions launch_options = emulated_launch_options(arch, options);
  const auto work = [=] {
    if (settings().wrong == Settings::Wrong::illegal_access || !lies_on_device(parameters))
      return codes::illegal_address;
    std::string failure = launch_emulated(launch_options, instance, grid, shared_bytes, parameters);
    return failure.empty() ? codes::success : device().fail_launch(std::move(failure));
  };
  std::int32_t code = device().enqueue(is_on_wrong_stream(instance) ? nullptr : stream, work);
  if (code == codes::success && settings().wrong == Settings::Wrong::waits)
    code = device().synchronize(stream);
  return code == codes::success ? "" : "launch: " + stand_in::in_words(code);
}

}  // namespace plumbline::attention
