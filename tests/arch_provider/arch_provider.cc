// A provider whose bits depend on the architecture, without an emulator or a GPU. It stands in for
// our GPU kernels. Its name is "emulated", or "cuda" with the option "cuda".
//
//   mma       tensor cores on; P is rounded before P V up to sm_89 and not from sm_90 on
//   simt      tensor cores off; the same bits on every architecture
//   drifting  tensor cores off, but with other bits from sm_90 on, which is a planted bug
//
// cuda:N is an sm_90. If PLUMBLINE_TEST_RUNS names a file, each run appends "kernel device" to the
// file.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "plain_attention.h"
#include "plumbline_provider.h"

struct plumbline_plan {
  uint32_t kernel;
  plumbline_problem problem;
  std::string device;  // "emulated:sm_80", "cuda:0"
  int arch;            // 80
};

namespace {

constexpr const char* names[] = {"mma", "simt", "drifting"};
constexpr const char* tensor_cores[] = {"on", "off", "off"};
enum Kernel : uint32_t { mma, simt, drifting };

float keep(float p) { return p; }
float to_11_bits(float p) { return static_cast<float>(static_cast<_Float16>(p)); }

const char* kernel_name(uint32_t kernel) { return names[kernel]; }
const char* kernel_tensor_cores(uint32_t kernel) { return tensor_cores[kernel]; }

plumbline_status query(uint32_t, const plumbline_problem* problem, const plumbline_device* device,
                       char* reason, size_t reason_bytes) {
  if (device->memory_space == PLUMBLINE_HOST) {
    std::snprintf(reason, reason_bytes, "runs on GPUs only");
    return PLUMBLINE_UNSUPPORTED;
  }
  if (const char* why_not = plain_attention_refusal(*problem)) {
    std::snprintf(reason, reason_bytes, "%s", why_not);
    return PLUMBLINE_UNSUPPORTED;
  }
  return PLUMBLINE_OK;
}

plumbline_status prepare(uint32_t kernel, const plumbline_problem* problem,
                         const plumbline_tensors*, const plumbline_device* device,
                         plumbline_plan** plan, uint64_t* workspace_bytes, char*, size_t) {
  const bool emulated = device->memory_space == PLUMBLINE_EMULATED;
  const std::string name = emulated ? device->arch : "cuda:" + std::to_string(device->ordinal);
  *plan = new plumbline_plan{kernel, *problem, name,
                             emulated ? std::atoi(name.substr(name.find('_') + 1).c_str()) : 90};
  *workspace_bytes = 0;
  return PLUMBLINE_OK;
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void*, char* reason,
                     size_t reason_bytes) {
  if (const char* file = std::getenv("PLUMBLINE_TEST_RUNS")) {
    std::FILE* runs = std::fopen(file, "a");
    std::fprintf(runs, "%s %s\n", names[plan->kernel], plan->device.c_str());
    std::fclose(runs);
  }
  const bool rounds =
      plan->kernel == mma ? plan->arch < 90 : plan->kernel == drifting && plan->arch >= 90;
  if (plain_attention(plan->problem, *tensors, rounds ? to_11_bits : keep)) return PLUMBLINE_OK;
  std::snprintf(reason, reason_bytes, "a dtype is not known");
  return PLUMBLINE_ERROR;
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* d) {
  std::snprintf(d->launched, sizeof d->launched, "plain attention as %s", names[plan->kernel]);
  std::snprintf(d->build_id, sizeof d->build_id, "test-1");
  std::snprintf(d->tensor_cores, sizeof d->tensor_cores, "%s", tensor_cores[plan->kernel]);
  if (plan->device.starts_with("cuda"))
    std::snprintf(d->device_arch, sizeof d->device_arch, "sm_%d", plan->arch);
  d->padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
  d->spec.p_dtype = plan->problem.dtype_q;
  d->spec.p_prescale = 1;
  d->spec.split_partial_dtype = PLUMBLINE_F32;
  d->spec.qk_accumulator = d->spec.pv_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  d->spec.out_dtype = plan->problem.dtype_out;
  d->promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
  d->registers_per_thread = d->spill_bytes_per_thread = -1;
  d->shared_memory_bytes = d->stack_bytes_per_thread = -1;
  return PLUMBLINE_OK;
}

void destroy(plumbline_plan* plan) { delete plan; }

// The memory of cuda:N is the host's.
int32_t allocate(const plumbline_device*, uint64_t bytes, void** out) {
  *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *out == nullptr ? 2 : 0;
}
int32_t release(const plumbline_device*, void* pointer) {
  std::free(pointer);
  return 0;
}
int32_t copy(const plumbline_device*, void* to, const void* from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}
int32_t synchronize(const plumbline_device*, void*) { return 0; }
const plumbline_device_memory memory = [] {
  plumbline_device_memory table{};
  table.struct_size = sizeof table;
  table.allocate = allocate;
  table.release = release;
  table.copy_to_device = table.copy_to_host = copy;
  table.synchronize = synchronize;
  return table;
}();

plumbline_provider provider = [] {
  plumbline_provider made{};
  made.struct_size = sizeof(plumbline_provider);
  made.abi_version = PLUMBLINE_ABI_VERSION;
  made.name = "emulated";
  made.version = "1.0 (tests)";
  made.kernel_count = 3;
  made.kernel_name = kernel_name;
  made.query = query;
  made.prepare = prepare;
  made.run = run;
  made.describe = describe;
  made.destroy = destroy;
  made.kernel_tensor_cores = kernel_tensor_cores;
  return made;
}();

}  // namespace

const plumbline_provider* plumbline_get_provider(uint32_t, const char* options) {
  if (std::strcmp(options, "cuda") == 0) {
    provider.name = "cuda";
    provider.memory = &memory;
  }
  return &provider;
}
