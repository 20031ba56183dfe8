// Calls the functions of a memory table, checks their codes, and counts the usable devices.
#include "harness/provider/child/device_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "harness/provider/child/call.h"

namespace plumbline {

namespace {

// Out-of-memory code of `allocate` if the table does not describe errors: cudaErrorMemoryAllocation
// and hipErrorOutOfMemory.
constexpr std::int32_t default_out_of_memory_code = 2;
// Ordinals that are tried if the table does not count devices.
constexpr std::int32_t max_devices = 16;

std::int32_t called(const char* function, const std::function<std::int32_t()>& call) {
  std::int32_t code = 0;
  call_provider(function, [&](char*, std::size_t) {
    code = call();
    return PLUMBLINE_OK;
  });
  return code;
}

template <std::size_t n>
void terminate(char (&text)[n]) {
  text[n - 1] = '\0';
}

// Returns an empty error if the table does not know the code.
plumbline_device_error describe(const plumbline_device_memory& table, std::int32_t code) {
  plumbline_device_error error{};
  error.struct_size = sizeof error;
  if (table.describe_error == nullptr ||
      called("describe_error", [&] { return table.describe_error(code, &error); }) != 0)
    return {};
  terminate(error.name);
  terminate(error.text);
  terminate(error.remedy);
  return error;
}

bool is_out_of_memory(const plumbline_device_memory& table, const char* function, std::int32_t code,
                      const plumbline_device_error& error) {
  if (table.describe_error != nullptr) return error.out_of_memory != 0;
  return code == default_out_of_memory_code && std::strcmp(function, "allocate") == 0;
}

std::string in_words(std::int32_t code, const plumbline_device_error& error) {
  if (error.name[0] == '\0') return fmt::format(" with code {}", code);
  std::string words = fmt::format(": {} ({})", error.name, code);
  if (error.text[0] != '\0') words += fmt::format(": {}", error.text);
  if (error.remedy[0] != '\0') words += fmt::format("; {}", error.remedy);
  return words;
}

plumbline_device cuda_device(std::int32_t ordinal) {
  plumbline_device device{};
  device.struct_size = sizeof device;
  device.memory_space = PLUMBLINE_CUDA;
  device.ordinal = ordinal;
  return device;
}

// Returns the failure in words; "" if `code` is 0.
std::string failure_of(const plumbline_device_memory& table, const char* function,
                       std::int32_t code) {
  if (code == 0) return "";
  return fmt::format("{} failed{}", function, in_words(code, describe(table, code)));
}

// Returns why the device cannot allocate memory; "" if it can, or if it has only run out of memory.
std::string why_no_memory(const plumbline_device_memory& table, std::int32_t ordinal) {
  const plumbline_device device = cuda_device(ordinal);
  void* memory = nullptr;
  const std::int32_t code =
      called("allocate", [&] { return table.allocate(&device, 256, &memory); });
  if (code != 0)
    return is_out_of_memory(table, "allocate", code, describe(table, code))
               ? ""
               : failure_of(table, "allocate", code);
  called("release", [&] { return table.release(&device, memory); });
  return "";
}

struct Count {
  std::int32_t devices = 0;
  std::string why_none;
};

Count count_devices(const plumbline_device_memory& table) {
  Count count;
  if (table.device_count == nullptr) {
    std::string why;
    while (count.devices < max_devices && (why = why_no_memory(table, count.devices)).empty())
      ++count.devices;
    if (count.devices == 0) count.why_none = std::move(why);
    return count;
  }
  std::int32_t devices = 0;
  const std::int32_t code = called("device_count", [&] { return table.device_count(&devices); });
  count.why_none = code != 0      ? failure_of(table, "device_count", code)
                   : devices <= 0 ? "device_count counts no device"
                                  : why_no_memory(table, 0);
  if (count.why_none.empty()) count.devices = devices;
  return count;
}

}  // namespace

plumbline_device_memory whole_table(const plumbline_device_memory& table) {
  plumbline_device_memory whole{};
  // All fields after the first two (of 4 bytes) are pointers. Only complete ones are copied.
  const std::size_t present = table.struct_size / sizeof(void*) * sizeof(void*);
  std::memcpy(&whole, &table, std::min(present, sizeof whole));
  whole.struct_size = sizeof whole;
  return whole;
}

UsableDevices usable_devices(const plumbline_device_memory& table) {
  UsableDevices devices;
  try {
    Count count = count_devices(table);
    for (std::int32_t ordinal = 0; ordinal < count.devices; ++ordinal)
      devices.names.push_back(fmt::format("cuda:{}", ordinal));
    devices.why_none = std::move(count.why_none);
  } catch (const Stop& stop) {  // the provider threw
    devices.why_none = stop.reason;
  }
  return devices;
}

void DeviceMemory::check(const char* function, const std::string& what,
                         const std::function<std::int32_t()>& call) const {
  const std::int32_t code = called(function, call);
  if (code == 0) return;
  const plumbline_device_error error = describe(*table_, code);
  const Status status =
      is_out_of_memory(*table_, function, code, error) ? Status::out_of_memory : Status::error;
  throw Stop{status, fmt::format("{}{} failed{}", function, what, in_words(code, error))};
}

void DeviceMemory::attempt(const char* function,
                           const std::function<std::int32_t()>& call) noexcept {
  try {
    called(function, call);
  } catch (const Stop&) {
  }
}

bool DeviceMemory::has_streams() const {
  return table_->create_stream != nullptr && table_->destroy_stream != nullptr &&
         table_->enqueue_copy != nullptr && table_->enqueue_fill != nullptr &&
         table_->enqueue_call != nullptr;
}

bool DeviceMemory::has_clock() const {
  return has_streams() && table_->create_event != nullptr && table_->destroy_event != nullptr &&
         table_->record_event != nullptr && table_->elapsed_ns != nullptr;
}

void* DeviceMemory::allocate(std::uint64_t bytes, const std::string& what) const {
  void* memory = nullptr;
  check("allocate", fmt::format(" of {} bytes of device memory for {}", bytes, what),
        [&] { return table_->allocate(device_, bytes, &memory); });
  if (memory == nullptr)
    throw Stop{Status::error,
               fmt::format("allocate gave no device memory for {} and no error", what)};
  return memory;
}

void DeviceMemory::release(void* pointer) const noexcept {
  attempt("release", [&] { return table_->release(device_, pointer); });
}

void DeviceMemory::copy_to_device(void* device_to, const void* host_from, std::uint64_t bytes,
                                  const std::string& what) const {
  check("copy_to_device", " of " + what,
        [&] { return table_->copy_to_device(device_, device_to, host_from, bytes); });
}

void DeviceMemory::copy_to_host(void* host_to, const void* device_from, std::uint64_t bytes,
                                const std::string& what) const {
  check("copy_to_host", " of " + what,
        [&] { return table_->copy_to_host(device_, host_to, device_from, bytes); });
}

void DeviceMemory::synchronize(void* stream) const {
  check("synchronize", "", [&] { return table_->synchronize(device_, stream); });
}

void* DeviceMemory::create_stream() const {
  void* stream = nullptr;
  check("create_stream", "", [&] { return table_->create_stream(device_, &stream); });
  return stream;
}

void DeviceMemory::destroy_stream(void* stream) const noexcept {
  attempt("destroy_stream", [&] { return table_->destroy_stream(device_, stream); });
}

void DeviceMemory::enqueue_copy(void* to, const void* from, std::uint64_t bytes,
                                void* stream) const {
  check("enqueue_copy", "", [&] { return table_->enqueue_copy(device_, to, from, bytes, stream); });
}

void DeviceMemory::enqueue_fill(void* at, int byte, std::uint64_t bytes, void* stream) const {
  check("enqueue_fill", "", [&] { return table_->enqueue_fill(device_, at, byte, bytes, stream); });
}

void DeviceMemory::enqueue_call(void (*function)(void*), void* argument, void* stream) const {
  check("enqueue_call", "",
        [&] { return table_->enqueue_call(device_, function, argument, stream); });
}

void* DeviceMemory::create_event() const {
  void* event = nullptr;
  check("create_event", "", [&] { return table_->create_event(device_, &event); });
  return event;
}

void DeviceMemory::destroy_event(void* event) const noexcept {
  attempt("destroy_event", [&] { return table_->destroy_event(device_, event); });
}

void DeviceMemory::record_event(void* event, void* stream) const {
  check("record_event", "", [&] { return table_->record_event(device_, event, stream); });
}

double DeviceMemory::elapsed_ns(void* begin, void* end) const {
  double ns = 0;
  check("elapsed_ns", "", [&] { return table_->elapsed_ns(device_, begin, end, &ns); });
  return ns;
}

plumbline_device_facts DeviceMemory::facts() const {
  plumbline_device_facts facts{};
  facts.struct_size = sizeof facts;
  if (table_->facts == nullptr ||
      called("facts", [&] { return table_->facts(device_, &facts); }) != 0)
    return {};
  terminate(facts.model);
  terminate(facts.arch);
  terminate(facts.driver);
  terminate(facts.runtime);
  return facts;
}

}  // namespace plumbline
