// Calls NVML through dlopen, so that the build needs neither its header nor a driver.
#include "harness/provider/child/gpu_clocks.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace plumbline {
namespace {

// From nvml.h, version 12.
using Device = void*;
constexpr int success = 0;
constexpr int sm_clock = 1;  // NVML_CLOCK_SM

struct Reason {
  std::uint64_t bit;
  const char* words;
};
// nvmlClocksThrottleReason…, without GpuIdle (1), ApplicationsClocksSetting (2), SyncBoost (0x10)
// and DisplayClockSetting (0x100).
constexpr Reason throttle_reasons[] = {{0x4, "power cap"},
                                       {0x8, "hardware slowdown"},
                                       {0x20, "thermal slowdown"},
                                       {0x40, "hardware thermal slowdown"},
                                       {0x80, "power brake"}};

// Returns the ordinal's entry of CUDA_VISIBLE_DEVICES, an index or a UUID; without the variable the
// ordinal itself.
std::string visible_device(std::int32_t ordinal) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr || *visible == '\0') return std::to_string(ordinal);
  std::string_view entries = visible;
  for (; ordinal > 0; --ordinal) {
    const auto comma = entries.find(',');
    if (comma == std::string_view::npos) return "";
    entries.remove_prefix(comma + 1);
  }
  return std::string(entries.substr(0, entries.find(',')));
}

}  // namespace

struct GpuClocks::Library {
  void* handle = nullptr;
  Device device = nullptr;
  int (*shutdown)() = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (shutdown != nullptr) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }

  bool open(std::int32_t ordinal, const std::string& model) {
    handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    int (*init)() = nullptr;
    int (*end)() = nullptr;
    if (!find(init, "nvmlInit_v2") || !find(end, "nvmlShutdown") || init() != success) return false;
    shutdown = end;
    return find_device(visible_device(ordinal)) && has_name(model) &&
           find(clock, "nvmlDeviceGetClockInfo") &&
           find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  }

  bool find_device(const std::string& visible) {
    unsigned index = 0;
    const auto [end, error] =
        std::from_chars(visible.data(), visible.data() + visible.size(), index);
    if (error == std::errc{} && end == visible.data() + visible.size()) {
      int (*by_index)(unsigned, Device*) = nullptr;
      return find(by_index, "nvmlDeviceGetHandleByIndex_v2") && by_index(index, &device) == success;
    }
    int (*by_uuid)(const char*, Device*) = nullptr;
    return find(by_uuid, "nvmlDeviceGetHandleByUUID") &&
           by_uuid(visible.c_str(), &device) == success;
  }

  bool has_name(const std::string& model) const {
    int (*name_of)(Device, char*, unsigned) = nullptr;
    std::array<char, 96> name{};
    return find(name_of, "nvmlDeviceGetName") &&
           name_of(device, name.data(), static_cast<unsigned>(name.size())) == success &&
           model == name.data();
  }
};

GpuClocks::GpuClocks(std::int32_t ordinal, const std::string& model)
    : library_(std::make_unique<Library>()) {
  if (!library_->open(ordinal, model)) library_ = nullptr;
}

GpuClocks::~GpuClocks() = default;

GpuClocks::Sample GpuClocks::now() const {
  if (library_ == nullptr) return {};
  unsigned mhz = 0;
  unsigned long long reasons = 0;
  if (library_->clock(library_->device, sm_clock, &mhz) != success) mhz = 0;
  if (library_->reasons(library_->device, &reasons) != success) reasons = 0;
  return {static_cast<double>(mhz), reasons};
}

std::string throttle_words(std::uint64_t reasons) {
  std::string words;
  for (const Reason& reason : throttle_reasons) {
    if ((reasons & reason.bit) == 0) continue;
    words += words.empty() ? "" : ", ";
    words += reason.words;
  }
  return words;
}

}  // namespace plumbline
