// A provider for tests whose kernels misbehave, one way each. Every misbehaviour must become that
// case's status. `ok` and `looser_spec` compute plain attention. The device "cuda:0" is host memory
// with the device-memory functions, so that their use is tested without a GPU.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "plain_attention.h"
#include "plumbline_provider.h"

// Sanitizers would report these before the hardware does.
#define MISBEHAVES __attribute__((noinline, no_sanitize("address", "undefined")))

struct plumbline_plan {
  uint32_t kernel;
  plumbline_problem problem;
  plumbline_device device;
};

namespace {

plumbline_status refuse(plumbline_status status, char* reason, size_t reason_bytes,
                        const char* text) {
  std::snprintf(reason, reason_bytes, "%s", text);
  return status;
}

// ---- The device ----

std::map<char*, uint64_t>& allocations() {
  static std::map<char*, uint64_t> all;
  return all;
}

bool is_device_memory(const void* pointer) {
  const auto* at = static_cast<const char*>(pointer);
  return std::any_of(allocations().begin(), allocations().end(),
                     [&](const auto& a) { return a.first <= at && at < a.first + a.second; });
}

constexpr int32_t no_device = 101;  // cudaErrorInvalidDevice
constexpr int32_t out_of_memory = 2;
constexpr int32_t bad_value = 1;

int32_t failing_allocation = 0;  // the code that every allocation returns, unless 0
bool throwing_allocation = false;
int32_t allocate(const plumbline_device* device, uint64_t bytes, void** out) {
  if (throwing_allocation) throw std::runtime_error("no driver");
  if (failing_allocation != 0) return failing_allocation;
  if (device->ordinal != 0) return no_device;
  if (bytes > (uint64_t{1} << 30)) return out_of_memory;
  auto* memory = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  allocations()[memory] = bytes;
  *out = memory;
  return 0;
}
int32_t release(const plumbline_device*, void* pointer) {
  if (allocations().erase(static_cast<char*>(pointer)) == 0) return bad_value;
  std::free(pointer);
  return 0;
}
int32_t copy_to_device(const plumbline_device*, void* to, const void* from, uint64_t bytes) {
  if (!is_device_memory(to) || is_device_memory(from)) return bad_value;
  std::memcpy(to, from, bytes);
  return 0;
}
int32_t copy_to_host(const plumbline_device*, void* to, const void* from, uint64_t bytes) {
  if (is_device_memory(to) || !is_device_memory(from)) return bad_value;
  std::memcpy(to, from, bytes);
  return 0;
}
int32_t sticky_error = 0;
int32_t synchronize(const plumbline_device*, void*) { return sticky_error; }

const plumbline_device_memory device_memory = [] {
  plumbline_device_memory table{};
  table.struct_size = sizeof table;
  table.allocate = allocate;
  table.release = release;
  table.copy_to_device = copy_to_device;
  table.copy_to_host = copy_to_host;
  table.synchronize = synchronize;
  return table;
}();

// ---- The kernels ----

float keep(float p) { return p; }

// Rounds to the nearest e4m3 number: 3 fraction bits, smallest exponent -6.
float round_to_e4m3(float p) {
  int exponent = 0;
  std::frexp(p, &exponent);
  const int shift = 4 - std::max(exponent, -5);
  return std::ldexp(std::nearbyint(std::ldexp(p, shift)), -shift);
}

char* bytes_of(const plumbline_tensor& t) { return static_cast<char*>(t.data); }

MISBEHAVES plumbline_status crash_null() {
  static volatile int* nowhere = nullptr;
  *nowhere = 1;
  return PLUMBLINE_OK;
}

MISBEHAVES plumbline_status divide_by_zero() {
  static volatile int zero = 0;
  zero = 1000 / zero;  // g++ turns 1 / x into a comparison
  return PLUMBLINE_OK;
}

MISBEHAVES int recurse(volatile char* outer) {
  if (*outer == 0) return 0;  // never true: keeps the compiler from detecting infinite recursion
  volatile char frame[4096];
  frame[0] = *outer;
  return recurse(frame) + frame[0];
}

plumbline_status overflow_stack() {
  volatile char first = 1;
  return recurse(&first) == 0 ? PLUMBLINE_OK : PLUMBLINE_ERROR;
}

MISBEHAVES void write_byte(char* at) { *static_cast<volatile char*>(at) = 0x5A; }

plumbline_status allocate_until_refused(char* reason, size_t reason_bytes) {
  void* blocks[4096];
  size_t count = 0;
  while (count < 4096 && (blocks[count] = std::malloc(size_t{64} << 20)) != nullptr) ++count;
  for (size_t i = 0; i < count; ++i) std::free(blocks[i]);
  if (count == 4096) return refuse(PLUMBLINE_ERROR, reason, reason_bytes, "256 GiB were granted");
  return refuse(PLUMBLINE_OUT_OF_MEMORY, reason, reason_bytes, "malloc refused 64 MiB");
}

plumbline_status print_much() {
  std::puts(R"({"reply":"run","id":1,"status":"ok","reason":""})");
  for (int i = 0; i < 20000; ++i)
    std::printf("line %d of what a chatty library says \x01\xff\n", i);
  std::fputs("the last word", stderr);
  return PLUMBLINE_OK;
}

bool is_readable(const char* at, int pipe_end) { return write(pipe_end, at, 1) == 1; }

// Starts a thread that polls out and workspace of the first call until both are unmapped. Later
// calls report whether it saw that.
plumbline_status watch_between_requests(const plumbline_tensors& t, char* reason,
                                        size_t reason_bytes) {
  static std::atomic<bool> gone = false;
  static const bool watching = [&t] {
    std::thread([out = bytes_of(t.out), workspace = bytes_of(t.workspace)] {
      int ends[2];
      if (pipe2(ends, O_NONBLOCK) != 0) return;
      for (char byte = 0; is_readable(out, ends[1]) || is_readable(workspace, ends[1]);) {
        while (read(ends[0], &byte, 1) == 1) {
        }
      }
      gone = true;
    }).detach();
    return true;
  }();
  return watching && gone ? PLUMBLINE_OK : refuse(PLUMBLINE_ERROR, reason, reason_bytes, "not yet");
}

using Run = plumbline_status (*)(const plumbline_plan& plan, const plumbline_tensors& t,
                                 char* reason, size_t reason_bytes);

plumbline_status run_plain(const plumbline_plan& plan, const plumbline_tensors& t,
                           round_p_function round_p, char* reason, size_t reason_bytes) {
  if (plan.device.memory_space == PLUMBLINE_CUDA &&
      !(is_device_memory(t.q.data) && is_device_memory(t.k.data) && is_device_memory(t.v.data) &&
        is_device_memory(t.out.data))) {
    return refuse(PLUMBLINE_ERROR, reason, reason_bytes, "a tensor does not lie in device memory");
  }
  if (!plain_attention(plan.problem, t, round_p))
    return refuse(PLUMBLINE_ERROR, reason, reason_bytes, "dtype not known");
  return PLUMBLINE_OK;
}

plumbline_status run_ok(const plumbline_plan& plan, const plumbline_tensors& t, char* reason,
                        size_t reason_bytes) {
  return run_plain(plan, t, keep, reason, reason_bytes);
}

// Runs `ok`, then writes one byte at `at`.
plumbline_status run_ok_and_write(const plumbline_plan& plan, const plumbline_tensors& t,
                                  char* reason, size_t reason_bytes, char* at) {
  const plumbline_status status = run_ok(plan, t, reason, reason_bytes);
  write_byte(at);
  return status;
}

struct Kernel {
  const char* name;
  Run run;
  uint64_t workspace_bytes = 0;
};

// Parameters that a kernel does not use are unnamed.
const Kernel kernels[] = {
    {"ok", run_ok},
    {"looser_spec", [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason,
                       size_t n) { return run_plain(plan, t, round_to_e4m3, reason, n); }},
    {"takes_64_mib",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       constexpr size_t bytes = size_t{64} << 20;
       auto* memory = static_cast<volatile char*>(std::malloc(bytes));
       if (memory == nullptr)
         return refuse(PLUMBLINE_OUT_OF_MEMORY, reason, n, "malloc refused 64 MiB");
       for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
       std::free(const_cast<char*>(memory));
       return run_ok(plan, t, reason, n);
     }},
    {"check_workspace",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       const auto* first = reinterpret_cast<const unsigned char*>(bytes_of(t.workspace));
       const bool poisoned =
           std::all_of(first, first + t.workspace.bytes, [](unsigned char c) { return c == 0xFF; });
       const bool aligned = reinterpret_cast<uintptr_t>(first) % 256 == 0;
       if (!poisoned || !aligned || t.workspace.bytes != 1000)
         return refuse(PLUMBLINE_ERROR, reason, n, "the workspace is not as promised");
       return run_ok(plan, t, reason, n);
     },
     1000},
    {"watch_between_requests",
     [](const plumbline_plan&, const plumbline_tensors& t, char* reason, size_t n) {
       return watch_between_requests(t, reason, n);
     },
     1000},
    {"crash_null",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) { return crash_null(); }},
    {"crash_abort",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) -> plumbline_status {
       std::fputs("assertion `tile > 0' failed\n", stderr);
       std::abort();
     }},
    {"crash_divide", [](const plumbline_plan&, const plumbline_tensors&, char*,
                        size_t) { return divide_by_zero(); }},
    {"crash_stack", [](const plumbline_plan&, const plumbline_tensors&, char*,
                       size_t) { return overflow_stack(); }},
    {"crash_in_thread",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) {
       std::thread([] { crash_null(); }).join();
       return PLUMBLINE_OK;
     }},
    {"hang",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) {
       for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
       return PLUMBLINE_OK;
     }},
    {"hang_printing",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) {
       for (;;) std::puts("still at it");
       return PLUMBLINE_OK;
     }},
    {"killed",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) {
       kill(getpid(), SIGKILL);
       return PLUMBLINE_OK;
     }},
    {"allocate", [](const plumbline_plan&, const plumbline_tensors&, char* reason,
                    size_t n) { return allocate_until_refused(reason, n); }},
    {"allocate_throw",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) -> plumbline_status {
       throw std::bad_alloc();
     }},
    {"huge_workspace", run_ok, uint64_t{1} << 50},
    {"workspace_of_2_63", run_ok, uint64_t{1} << 63},
    {"workspace_of_all_bits", run_ok, ~uint64_t{0}},
    {"no_plan", run_ok},
    {"nan_description", run_ok},
    {"lies_about_description", run_ok},
    {"write_before_out",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       return run_ok_and_write(plan, t, reason, n, bytes_of(t.out) - 3);
     }},
    {"write_behind_out",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       return run_ok_and_write(plan, t, reason, n, bytes_of(t.out) + t.out.bytes + 2);
     }},
    {"write_far_behind_out",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       return run_ok_and_write(plan, t, reason, n, bytes_of(t.out) + t.out.bytes + 4095);
     }},
    {"write_behind_workspace",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       std::memset(bytes_of(t.workspace), 0, t.workspace.bytes);
       return run_ok_and_write(plan, t, reason, n, bytes_of(t.workspace) + t.workspace.bytes + 3);
     },
     1000},
    {"write_input",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       return run_ok_and_write(plan, t, reason, n, bytes_of(t.q) + 5);
     }},
    {"leave_unwritten",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       char poison[8];
       std::memcpy(poison, bytes_of(t.out), sizeof poison);
       const plumbline_status status = run_ok(plan, t, reason, n);
       std::memcpy(bytes_of(t.out), poison, plan.problem.dtype_out == PLUMBLINE_F32 ? 4 : 2);
       return status;
     }},
    {"print_stdout",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       print_much();
       return run_ok(plan, t, reason, n);
     }},
    {"throw",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) -> plumbline_status {
       throw std::runtime_error("no plan fits");
     }},
    {"throw_number",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) -> plumbline_status {
       throw 7;
     }},
    {"exit",
     [](const plumbline_plan&, const plumbline_tensors&, char*, size_t) -> plumbline_status {
       std::exit(0);
     }},
    {"wrong_status", [](const plumbline_plan&, const plumbline_tensors&, char*,
                        size_t) { return static_cast<plumbline_status>(42); }},
    {"no_device_in_run",
     [](const plumbline_plan&, const plumbline_tensors&, char* reason, size_t n) {
       return refuse(static_cast<plumbline_status>(4), reason, n, "the device is gone");
     }},
    {"no_reason", [](const plumbline_plan&, const plumbline_tensors&, char*,
                     size_t) { return PLUMBLINE_ERROR; }},
    {"endless_reason",
     [](const plumbline_plan&, const plumbline_tensors&, char* reason, size_t n) {
       std::memset(reason, '\xfe', n);  // no NUL, and not UTF-8
       return PLUMBLINE_ERROR;
     }},
    {"sticky_error",
     [](const plumbline_plan& plan, const plumbline_tensors& t, char* reason, size_t n) {
       sticky_error = 700;  // cudaErrorIllegalAddress: every later call also fails
       return run_ok(plan, t, reason, n);
     }},
    {"crash_describe", run_ok},
    {"garbage_description", run_ok},
    {"endless_description", run_ok},
    {"refuse", run_ok},
};

bool is(uint32_t kernel, const char* name) { return std::strcmp(kernels[kernel].name, name) == 0; }

// ---- The interface ----

const char* first_name = kernels[0].name;
const char* kernel_name(uint32_t kernel) { return kernel == 0 ? first_name : kernels[kernel].name; }

// A text whose NUL is only after a MiB.
const char* endless_text() {
  constexpr size_t bytes = 1 << 20;
  char* text = static_cast<char*>(std::malloc(bytes));
  std::memset(text, 'x', bytes);
  text[bytes - 1] = '\0';
  return text;
}

// The status for a missing device. The first release had no status of its own for it.
#ifdef PLUMBLINE_FIRST_RELEASE
constexpr plumbline_status no_device_status = PLUMBLINE_UNSUPPORTED;
#else
constexpr plumbline_status no_device_status = PLUMBLINE_NO_DEVICE;
#endif

plumbline_status query(uint32_t kernel, const plumbline_problem* problem,
                       const plumbline_device* device, char* reason, size_t reason_bytes) {
  if (is(kernel, "refuse"))
    return refuse(PLUMBLINE_UNSUPPORTED, reason, reason_bytes,
                  "head_dim 64 is not supported; use 128");
  if (device->memory_space == PLUMBLINE_CUDA && device->ordinal != 0) {
    return refuse(no_device_status, reason, reason_bytes, "there is one device, cuda:0");
  }
  if (const char* why_not = plain_attention_refusal(*problem))
    return refuse(PLUMBLINE_UNSUPPORTED, reason, reason_bytes, why_not);
  return PLUMBLINE_OK;
}

plumbline_status prepare(uint32_t kernel, const plumbline_problem* problem,
                         const plumbline_tensors*, const plumbline_device* device,
                         plumbline_plan** plan, uint64_t* workspace_bytes, char*, size_t) {
  if (is(kernel, "no_plan")) return PLUMBLINE_OK;
  *plan = new plumbline_plan{kernel, *problem, *device};
  *workspace_bytes = kernels[kernel].workspace_bytes;
  return PLUMBLINE_OK;
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void*, char* reason,
                     size_t reason_bytes) {
  return kernels[plan->kernel].run(*plan, *tensors, reason, reason_bytes);
}

const char* first_tensor_cores = "on";
const char* kernel_tensor_cores(uint32_t kernel) {
  return kernel == 0 ? first_tensor_cores : "none";
}
std::string arch;

plumbline_status describe(const plumbline_plan* plan, plumbline_description* d) {
  if (is(plan->kernel, "crash_describe")) crash_null();
  std::snprintf(d->launched, sizeof d->launched, "plain attention in kernel %s",
                kernels[plan->kernel].name);
  std::snprintf(d->build_id, sizeof d->build_id, "test-1");
  std::snprintf(d->tensor_cores, sizeof d->tensor_cores, "%s", kernel_tensor_cores(plan->kernel));
  d->padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
  d->spec.p_dtype = is(plan->kernel, "looser_spec") ? PLUMBLINE_E4M3 : PLUMBLINE_F32;
  d->spec.p_prescale = 1;
  d->spec.split_partial_dtype = PLUMBLINE_F32;
  d->spec.qk_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  d->spec.pv_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  d->spec.out_dtype = plan->problem.dtype_out;
  d->promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
  d->promises.batch = PLUMBLINE_PROMISE_ROUNDING;
  d->registers_per_thread = d->spill_bytes_per_thread = -1;
  d->shared_memory_bytes = d->stack_bytes_per_thread = -1;
  std::snprintf(d->device_arch, sizeof d->device_arch, "%s", arch.c_str());
  if (is(plan->kernel, "garbage_description")) d->spec.p_dtype = 77;
  if (is(plan->kernel, "nan_description")) d->spec.exp2_rel_error = std::nan("");
  if (is(plan->kernel, "lies_about_description"))
    d->struct_size = d->spec.struct_size = d->promises.struct_size = ~uint32_t{0};
  if (is(plan->kernel, "endless_description")) std::memset(d->launched, 'x', sizeof d->launched);
  return PLUMBLINE_OK;
}

void destroy(plumbline_plan* plan) { delete plan; }

plumbline_provider provider = [] {
  plumbline_provider made{};
  made.struct_size = sizeof(plumbline_provider);
  made.abi_version = PLUMBLINE_ABI_VERSION;
  made.name = "test";
  made.version = "1.0 (tests)";
  made.kernel_count = sizeof kernels / sizeof *kernels;
  made.kernel_name = kernel_name;
  made.query = query;
  made.prepare = prepare;
  made.run = run;
  made.describe = describe;
  made.destroy = destroy;
  made.memory = &device_memory;
  made.kernel_tensor_cores = kernel_tensor_cores;
  return made;
}();

}  // namespace

// Options:
//   abi=N, size=N      claims version N, or a table of N bytes
//   null               returns no table
//   host               has no device
//   crash_on_load, throw_on_load
//   tensor_cores=WORD  the first kernel's word
//   arch=NAME          the architecture that ran
//   kernels=N          claims N kernels
//   kernel_name=TEXT   the first kernel's name: "null", "endless" (a MiB of x), "bytes" (not UTF-8)
//   name=TEXT          the provider's name, with the same special texts
//   memory_size=N      size of the table of device functions
//   memory_null        a device function is missing
//   allocate=CODE      the code of every allocation of device memory
//   throw_on_allocate
const plumbline_provider* plumbline_get_provider(uint32_t, const char* options) {
  const std::string option = options;
  if (option == "null") return nullptr;
  if (option == "host") provider.memory = nullptr;
  if (option == "crash_on_load") crash_null();
  if (option == "throw_on_load") throw std::runtime_error("no licence");
  if (option.starts_with("abi="))
    provider.abi_version = static_cast<uint32_t>(std::stoul(option.substr(4)));
  if (option.starts_with("size="))
    provider.struct_size = static_cast<uint32_t>(std::stoul(option.substr(5)));
  if (option.starts_with("tensor_cores=")) first_tensor_cores = strdup(option.c_str() + 13);
  if (option.starts_with("kernels="))
    provider.kernel_count = static_cast<uint32_t>(std::stoul(option.substr(8)));
  const auto text = [&](size_t at) -> const char* {
    const std::string value = option.substr(at);
    if (value == "null") return nullptr;
    return value == "endless" ? endless_text()
           : value == "bytes" ? "\xff\xfe"
                              : strdup(value.c_str());
  };
  if (option.starts_with("kernel_name=")) first_name = text(12);
  if (option.starts_with("name=")) provider.name = text(5);
  static plumbline_device_memory lying_memory = device_memory;
  if (option.starts_with("memory_")) provider.memory = &lying_memory;
  if (option.starts_with("memory_size="))
    lying_memory.struct_size = static_cast<uint32_t>(std::stoul(option.substr(12)));
  if (option == "memory_null") lying_memory.release = nullptr;
  if (option.starts_with("allocate=")) failing_allocation = std::stoi(option.substr(9));
  throwing_allocation = option == "throw_on_allocate";
  if (option.starts_with("arch=")) arch = option.substr(5);
  return &provider;
}
