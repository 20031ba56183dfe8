// Devices, errors, streams and events. There is one device; all work of a stream is complete when a
// call returns.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "emulator/cudart/attributes.h"
#include "emulator/cudart/device.h"
#include "emulator/cudart/plumbline_cudart.h"

namespace plumbline::cudart {
namespace {

// The last failed call's code and text. cudaGetLastError resets only the code.
thread_local Error last_code = success;
thread_local std::string last_words;

struct Name {
  Error code;
  const char *name, *text;
};
constexpr Name names[] = {
    {success, "cudaSuccess", "no error"},
    {invalid_value, "cudaErrorInvalidValue", "invalid argument"},
    {memory_allocation, "cudaErrorMemoryAllocation", "out of memory"},
    {invalid_configuration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {invalid_symbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {invalid_device_function, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {invalid_kernel_image, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {no_kernel_image_for_device, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {invalid_resource_handle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {launch_out_of_resources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {launch_failure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {not_supported, "cudaErrorNotSupported", "operation not supported"},
    {unknown, "cudaErrorUnknown", "unknown error"},
};
const Name& name_of(int code) {
  for (const Name& one : names) {
    if (one.code == code) return one;
  }
  return std::end(names)[-1];
}

// A wait also reports a launch failure, as on a device.
Error waited() {
  const Error code = last_error(false);
  return code == launch_failure ? code : success;
}

struct Stream {};
struct Event {
  std::chrono::steady_clock::time_point at{};
};

}  // namespace

Error report(Error code, std::string text) {
  last_code = code;
  last_words = std::move(text);
  return code;
}
Error report(const Failure& failure) { return report(failure.code, failure.text); }
Error last_error(bool taken) {
  const Error code = last_code;
  if (taken) last_code = success;
  return code;
}
const char* last_text() { return last_words.c_str(); }

}  // namespace plumbline::cudart

using namespace plumbline::cudart;  // the functions below are C

extern "C" {

const char* plumbline_cudart_configure(const plumbline_cudart_settings* asked) {
  const auto arch = plumbline::emulator::parse_arch(
      std::string_view(asked->arch, strnlen(asked->arch, sizeof asked->arch)));
  if (asked->struct_size < sizeof *asked)
    return "struct_size is smaller than in this library's header";
  static const std::string not_emulated =
      fmt::format("arch is not emulated: {} are", plumbline::emulator::names_of_emulated);
  if (!arch) return not_emulated.c_str();
  if (asked->schedule > PLUMBLINE_CUDART_RANDOM) return "schedule must be 0, 1 or 2";
  Settings settings;
  settings.launch.arch = *arch;
  settings.launch.schedule = static_cast<plumbline::emulator::Schedule>(asked->schedule);
  settings.launch.seed = asked->seed;
  if (asked->independent_lanes != 0)
    settings.launch.lanes = plumbline::emulator::Lanes::independent;
  settings.contract = asked->separate_products == 0;
  settings.skipped_line = asked->skipped_line;
  settings.collects_sites = asked->collects_sites != 0;
  Device::instance().set(settings);
  return nullptr;
}
void plumbline_cudart_add_memory(const void* begin, std::size_t bytes) {
  Device::instance().allocations().add(begin, bytes);
}
void plumbline_cudart_remove_memory(const void* begin) {
  Device::instance().allocations().remove(begin);
}
const char* plumbline_cudart_last_failure() { return last_text(); }
std::size_t plumbline_cudart_take_sites(char* text, std::size_t bytes) {
  std::string all;
  for (const auto& site : Device::instance().take_sites())
    all += fmt::format("{} {}\n", site.line, site.call);
  const std::size_t filled = std::min(bytes, all.size() + 1);
  if (filled != 0) {
    std::memcpy(text, all.c_str(), filled);
    text[filled - 1] = '\0';
  }
  return all.size() + 1;
}
std::uint64_t plumbline_cudart_launches() { return Device::instance().launches(); }

Error cudaGetDeviceCount(int* count) {
  *count = 1;
  return success;
}
Error cudaGetDevice(int* device) {
  *device = 0;
  return success;
}
Error cudaSetDevice(int device) {
  return device == 0 ? success
                     : report(invalid_device, fmt::format("device {}: 0 is the only one", device));
}
Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (device != 0)
    return report(invalid_device, fmt::format("device {}: 0 is the only one", device));
  const auto found = device_attribute(Device::instance().settings().launch.arch, attribute);
  if (!found)
    return report(not_supported,
                  fmt::format("cudaDeviceGetAttribute: attribute {} is not known", attribute));
  *value = *found;
  return success;
}
Error cudaDeviceSynchronize() { return waited(); }
Error cudaDeviceReset() { return success; }
Error cudaDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
Error cudaRuntimeGetVersion(int* version) {
  *version = 12060;
  return success;
}

Error cudaGetLastError() { return last_error(true); }
Error cudaPeekAtLastError() { return last_error(false); }
const char* cudaGetErrorName(int code) { return name_of(code).name; }
const char* cudaGetErrorString(int code) {
  // For this thread's last error there is a longer text than CUDA's.
  return code != success && code == last_error(false) ? last_text() : name_of(code).text;
}

Error cudaStreamCreate(void** stream) {
  *stream = new Stream;
  return success;
}
Error cudaStreamCreateWithFlags(void** stream, unsigned) { return cudaStreamCreate(stream); }
Error cudaStreamCreateWithPriority(void** stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
Error cudaStreamDestroy(void* stream) {
  delete static_cast<Stream*>(stream);
  return success;
}
Error cudaStreamSynchronize(void*) { return waited(); }
Error cudaStreamQuery(void*) { return success; }
Error cudaStreamWaitEvent(void*, void*, unsigned) { return success; }
Error cudaStreamIsCapturing(void*, int* capturing) {
  *capturing = 0;
  return success;
}
Error cudaLaunchHostFunc(void*, void (*function)(void*), void* argument) {
  function(argument);
  return success;
}

Error cudaEventCreate(void** event) {
  *event = new Event;
  return success;
}
Error cudaEventCreateWithFlags(void** event, unsigned) { return cudaEventCreate(event); }
Error cudaEventDestroy(void* event) {
  delete static_cast<Event*>(event);
  return success;
}
Error cudaEventRecord(void* event, void*) {
  static_cast<Event*>(event)->at = std::chrono::steady_clock::now();
  return success;
}
Error cudaEventSynchronize(void*) { return waited(); }
Error cudaEventQuery(void*) { return success; }
// Host time of the emulation.
Error cudaEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const auto passed = static_cast<Event*>(end)->at - static_cast<Event*>(begin)->at;
  *milliseconds = std::chrono::duration<float, std::milli>(passed).count();
  return success;
}

}  // extern "C"
