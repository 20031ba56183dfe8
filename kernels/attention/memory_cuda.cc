// plumbline's memory table for the CUDA runtime: memory, streams and events of one device.
#include "kernels/attention/memory_cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/attention/driver_version.h"

namespace plumbline::attention {
namespace {

// Every error is returned, so the runtime's last error is cleared. Otherwise the next caller of
// cudaGetLastError would see it, for example a kernel that checks its own launch.
std::int32_t code_of(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return static_cast<std::int32_t>(error);
}

template <class Function>
std::int32_t on(const plumbline_device* device, Function function) {
  const cudaError_t error = cudaSetDevice(device->ordinal);
  return code_of(error != cudaSuccess ? error : function());
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// ---- Memory ----

std::int32_t allocate(const plumbline_device* device, std::uint64_t bytes, void** out) {
  return on(device, [&] { return cudaMalloc(out, bytes); });
}
std::int32_t release(const plumbline_device* device, void* pointer) {
  return on(device, [&] { return cudaFree(pointer); });
}

// cudaMemcpy from pageable memory may return before the last part has arrived. A stream that does
// not wait for the default stream would not wait for that part.
std::int32_t copy_to_device(const plumbline_device* device, void* to, const void* from,
                            std::uint64_t bytes) {
  return on(device, [&] { return copy_and_wait(to, from, bytes, cudaMemcpyHostToDevice); });
}
std::int32_t copy_to_host(const plumbline_device* device, void* to, const void* from,
                          std::uint64_t bytes) {
  return on(device, [&] { return copy_and_wait(to, from, bytes, cudaMemcpyDeviceToHost); });
}
std::int32_t synchronize(const plumbline_device* device, void* stream) {
  return on(device, [&] { return cudaStreamSynchronize(stream_of(stream)); });
}

// ---- Device facts and errors ----

using provider::copy_text;

// Returns "13.0" for 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Returns "580.65.06" from the driver's management library, which is part of the driver; "" if
// missing.
std::string version_of_nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "";
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto shut_down = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
  const auto version =
      reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
  std::string text;
  if (initialize != nullptr && shut_down != nullptr && version != nullptr && initialize() == 0) {
    char buffer[80] = "";  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
    if (version(buffer, sizeof buffer) == 0) text = buffer;
    shut_down();
  }
  dlclose(library);
  return text;
}

// Returns the driver version from the kernel module.
std::string version_of_kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return first_version(line);
}

std::string driver_version() {
  if (std::string text = version_of_nvml(); !text.empty()) return text;
  if (std::string text = version_of_kernel_module(); !text.empty()) return text;
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? "for CUDA " + version_text(version) : "";
}

std::int32_t device_count(std::int32_t* out) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  *out = error == cudaSuccess ? count : 0;
  return code_of(error);
}

std::int32_t facts(const plumbline_device* device, plumbline_device_facts* out) {
  if (out->struct_size < sizeof *out) return cudaErrorInvalidValue;
  return on(device, [&] {
    cudaDeviceProp properties{};
    int runtime = 0;
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, device->ordinal);
        error != cudaSuccess)
      return error;
    if (const cudaError_t error = cudaRuntimeGetVersion(&runtime); error != cudaSuccess)
      return error;
    copy_text(properties.name, out->model);
    copy_text("sm_" + std::to_string(10 * properties.major + properties.minor), out->arch);
    copy_text(driver_version(), out->driver);
    copy_text(version_text(runtime), out->runtime);
    out->memory_bytes = properties.totalGlobalMem;
    out->l2_bytes = static_cast<std::uint64_t>(std::max(properties.l2CacheSize, 0));
    return cudaSuccess;
  });
}

// Returns the user's remedy: for errors not caused by a kernel, how to fix them; for others, how to
// find the fault.
const char* remedy_of(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return "install a driver that is at least as new as the CUDA runtime of the provider "
             "(nvidia-smi shows the newest CUDA version that the driver supports)";
    case cudaErrorNoDevice:
      return "check nvidia-smi, CUDA_VISIBLE_DEVICES, and that a container is given the GPU";
    case cudaErrorInvalidDevice:
      return "name a device that nvidia-smi -L lists; devices in CUDA_VISIBLE_DEVICES are numbered "
             "from 0";
    case cudaErrorDevicesUnavailable:
      return "end the process that has the GPU for itself, or set its compute mode to Default with "
             "nvidia-smi -c 0";
    case cudaErrorSystemNotReady:
      return "start the fabric manager of machines with NVSwitch, or finish the setup of the "
             "driver";
    case cudaErrorNoKernelImageForDevice:
      return "compile the provider for this GPU's architecture";
    case cudaErrorECCUncorrectable:
      return "the GPU's memory is damaged: see nvidia-smi -q -d ECC, and reset or replace it";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
      return "compute-sanitizer --target-processes all plumbline run --case … names the "
             "instruction and the address";
    case cudaErrorLaunchTimeout:
      return "the time of a kernel is limited because this GPU drives a display: use a GPU "
             "without one";
    default:
      return "";
  }
}

std::int32_t describe_error(std::int32_t code, plumbline_device_error* out) {
  if (out->struct_size < sizeof *out) return cudaErrorInvalidValue;
  const auto error = static_cast<cudaError_t>(code);
  out->out_of_memory = error == cudaErrorMemoryAllocation ? 1 : 0;
  copy_text(cudaGetErrorName(error), out->name);
  copy_text(cudaGetErrorString(error), out->text);
  copy_text(remedy_of(error), out->remedy);
  return cudaSuccess;
}

// ---- Streams and events ----

std::int32_t create_stream(const plumbline_device* device, void** out) {
  return on(device, [&] {
    cudaStream_t stream = nullptr;
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    *out = stream;
    return error;
  });
}
std::int32_t destroy_stream(const plumbline_device* device, void* stream) {
  return on(device, [&] { return cudaStreamDestroy(stream_of(stream)); });
}
std::int32_t enqueue_copy(const plumbline_device* device, void* to, const void* from,
                          std::uint64_t bytes, void* stream) {
  return on(device, [&] {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream));
  });
}
std::int32_t enqueue_fill(const plumbline_device* device, void* at, std::int32_t byte,
                          std::uint64_t bytes, void* stream) {
  return on(device, [&] { return cudaMemsetAsync(at, byte, bytes, stream_of(stream)); });
}
std::int32_t enqueue_call(const plumbline_device* device, void (*function)(void*), void* argument,
                          void* stream) {
  return on(device, [&] { return cudaLaunchHostFunc(stream_of(stream), function, argument); });
}

std::int32_t create_event(const plumbline_device* device, void** out) {
  return on(device, [&] {
    cudaEvent_t event = nullptr;
    const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDefault);  // with timing
    *out = event;
    return error;
  });
}
std::int32_t destroy_event(const plumbline_device* device, void* event) {
  return on(device, [&] { return cudaEventDestroy(event_of(event)); });
}
std::int32_t record_event(const plumbline_device* device, void* event, void* stream) {
  return on(device, [&] { return cudaEventRecord(event_of(event), stream_of(stream)); });
}
std::int32_t elapsed_ns(const plumbline_device* device, void* begin, void* end, double* ns) {
  return on(device, [&] {
    if (const cudaError_t error = cudaEventSynchronize(event_of(end)); error != cudaSuccess)
      return error;
    float ms = 0;
    const cudaError_t error = cudaEventElapsedTime(&ms, event_of(begin), event_of(end));
    *ns = static_cast<double>(ms) * 1e6;
    return error;
  });
}

}  // namespace

cudaError_t copy_and_wait(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpy(to, from, bytes, kind);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

const plumbline_device_memory* cuda_memory() {
  static const plumbline_device_memory memory{.struct_size = sizeof(plumbline_device_memory),
                                              .reserved = 0,
                                              .allocate = allocate,
                                              .release = release,
                                              .copy_to_device = copy_to_device,
                                              .copy_to_host = copy_to_host,
                                              .synchronize = synchronize,
                                              .device_count = device_count,
                                              .facts = facts,
                                              .describe_error = describe_error,
                                              .create_stream = create_stream,
                                              .destroy_stream = destroy_stream,
                                              .enqueue_copy = enqueue_copy,
                                              .enqueue_fill = enqueue_fill,
                                              .enqueue_call = enqueue_call,
                                              .create_event = create_event,
                                              .destroy_event = destroy_event,
                                              .record_event = record_event,
                                              .elapsed_ns = elapsed_ns};
  return &memory;
}

}  // namespace plumbline::attention
