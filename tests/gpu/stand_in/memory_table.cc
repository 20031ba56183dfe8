// Offers the modelled GPU of device.h as a provider's memory table.
#include <algorithm>
#include <cstring>

#include "tests/gpu/stand_in/stand_in.h"

namespace plumbline::stand_in {
namespace {

struct Words {
  std::int32_t code;
  const char *name, *text, *remedy;
};
constexpr Words all_words[] = {
    {codes::success, "cudaSuccess", "no error", ""},
    {codes::invalid_value, "cudaErrorInvalidValue", "invalid argument", ""},
    {codes::out_of_memory, "cudaErrorMemoryAllocation", "out of memory", ""},
    {codes::insufficient_driver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version",
     "install a driver for CUDA 13.0 or later"},
    {codes::devices_unavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable",
     "end the process that has the GPU for itself"},
    {codes::invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal", ""},
    {codes::invalid_handle, "cudaErrorInvalidResourceHandle", "invalid resource handle", ""},
    {codes::illegal_address, "cudaErrorIllegalAddress", "an illegal memory access was encountered",
     ""},
    {codes::launch_failure, "cudaErrorLaunchFailure", "unspecified launch failure", ""},
};

Words words_of(std::int32_t code) {
  const auto* found = std::find_if(std::begin(all_words), std::end(all_words),
                                   [&](const Words& w) { return w.code == code; });
  if (found == std::end(all_words)) return {code, "cudaErrorUnknown", "unknown error", ""};
  Words words = *found;
  if (code == codes::launch_failure && !device().launch_failure_text().empty())
    words.text = device().launch_failure_text().c_str();
  return words;
}

template <std::size_t n>
void copy_text(const std::string& text, char (&field)[n]) {
  std::memcpy(field, text.data(), std::min(text.size(), n - 1));
}

// Returns the error that every function returns for this device, or success.
std::int32_t refusal(const plumbline_device* asked) {
  if (settings().no_driver) return codes::insufficient_driver;
  return asked->memory_space == PLUMBLINE_CUDA && asked->ordinal == 0 ? codes::success
                                                                      : codes::invalid_device;
}

template <class Function>
std::int32_t on(const plumbline_device* asked, Function function) {
  const std::int32_t refused = refusal(asked);
  return refused != codes::success ? refused : function();
}

std::int32_t allocate(const plumbline_device* asked, std::uint64_t bytes, void** out) {
  return on(asked, [&] {
    return settings().busy ? codes::devices_unavailable : device().allocate(bytes, out);
  });
}
std::int32_t release(const plumbline_device* asked, void* pointer) {
  return on(asked, [&] { return device().release(pointer); });
}

std::int32_t copy_to_device(const plumbline_device* asked, void* to, const void* from,
                            std::uint64_t bytes) {
  return on(asked, [&] {
    if (!device().owns(to, bytes) || device().owns(from, 1)) return codes::invalid_value;
    const std::int32_t code = device().synchronize(nullptr);
    if (code == codes::success) std::memcpy(to, from, bytes);
    return code;
  });
}
std::int32_t copy_to_host(const plumbline_device* asked, void* to, const void* from,
                          std::uint64_t bytes) {
  return on(asked, [&] {
    if (device().owns(to, 1) || !device().owns(from, bytes)) return codes::invalid_value;
    const std::int32_t code = device().synchronize(nullptr);
    if (code == codes::success) std::memcpy(to, from, bytes);
    return code;
  });
}
std::int32_t synchronize(const plumbline_device* asked, void* stream) {
  return on(asked, [&] { return device().synchronize(stream); });
}

std::int32_t device_count(std::int32_t* out) {
  *out = settings().no_driver ? 0 : 1;
  return settings().no_driver ? codes::insufficient_driver : codes::success;
}

std::int32_t facts(const plumbline_device* asked, plumbline_device_facts* out) {
  return on(asked, [&] {
    if (out->struct_size < sizeof *out) return codes::invalid_value;
    copy_text(settings().model, out->model);
    copy_text("sm_90", out->arch);
    copy_text("stand-in", out->driver);
    copy_text("stand-in", out->runtime);
    out->memory_bytes = memory_bytes;
    out->l2_bytes = l2_bytes;
    return codes::success;
  });
}

std::int32_t describe_error(std::int32_t code, plumbline_device_error* error) {
  if (error->struct_size < sizeof *error) return codes::invalid_value;
  const Words words = words_of(code);
  error->out_of_memory = code == codes::out_of_memory ? 1 : 0;
  copy_text(words.name, error->name);
  copy_text(words.text, error->text);
  copy_text(words.remedy, error->remedy);
  return codes::success;
}

std::int32_t create_stream(const plumbline_device* asked, void** out) {
  return on(asked, [&] { return device().create_stream(out); });
}
std::int32_t destroy_stream(const plumbline_device* asked, void* stream) {
  return on(asked, [&] { return device().destroy_stream(stream); });
}

// Address errors appear when the work runs, as on a GPU.
std::int32_t enqueue_copy(const plumbline_device* asked, void* to, const void* from,
                          std::uint64_t bytes, void* stream) {
  return on(asked, [&] {
    return device().enqueue(stream, [=] {
      if (!device().owns(to, bytes) || !device().owns(from, bytes)) return codes::illegal_address;
      std::memmove(to, from, bytes);
      return codes::success;
    });
  });
}
std::int32_t enqueue_fill(const plumbline_device* asked, void* at, std::int32_t byte,
                          std::uint64_t bytes, void* stream) {
  return on(asked, [&] {
    return device().enqueue(stream, [=] {
      if (!device().owns(at, bytes)) return codes::illegal_address;
      std::memset(at, byte, bytes);
      return codes::success;
    });
  });
}
std::int32_t enqueue_call(const plumbline_device* asked, void (*function)(void*), void* argument,
                          void* stream) {
  return on(asked, [&] {
    return device().enqueue(stream, [=] {
      function(argument);
      return codes::success;
    });
  });
}

std::int32_t create_event(const plumbline_device* asked, void** out) {
  return on(asked, [&] { return device().create_event(out); });
}
std::int32_t destroy_event(const plumbline_device* asked, void* event) {
  return on(asked, [&] { return device().destroy_event(event); });
}
std::int32_t record_event(const plumbline_device* asked, void* event, void* stream) {
  return on(asked, [&] { return device().record_event(event, stream); });
}
std::int32_t elapsed_ns(const plumbline_device* asked, void* begin, void* end, double* ns) {
  return on(asked, [&] { return device().elapsed_ns(begin, end, ns); });
}

constexpr plumbline_device_memory whole_table{sizeof(plumbline_device_memory),
                                              0,
                                              allocate,
                                              release,
                                              copy_to_device,
                                              copy_to_host,
                                              synchronize,
                                              device_count,
                                              facts,
                                              describe_error,
                                              create_stream,
                                              destroy_stream,
                                              enqueue_copy,
                                              enqueue_fill,
                                              enqueue_call,
                                              create_event,
                                              destroy_event,
                                              record_event,
                                              elapsed_ns};

}  // namespace

Device& device() {
  static Device the_device;
  return the_device;
}

const plumbline_device_memory* memory_table() {
  static plumbline_device_memory table;
  table = whole_table;
  if (settings().first_table) table.struct_size = offsetof(plumbline_device_memory, device_count);
  return &table;
}

std::string in_words(std::int32_t code) {
  if (code == codes::success) return "";
  const Words words = words_of(code);
  return std::string(words.name) + ": " + words.text;
}

}  // namespace plumbline::stand_in
