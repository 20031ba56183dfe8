// A provider for tests of planners. Its kernels use device copies of the index arrays, a stream and
// plan memory; some misuse them, one way each. The memory of its device "cuda:0" is host memory,
// and it has no streams.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "plain_attention.h"
#include "plumbline_provider.hpp"

namespace {

using namespace plumbline::provider;

constexpr std::uint64_t memory_bytes = 1000;

enum class Way {
  reads_index_copies,
  writes_to_an_index_copy,
  keeps_memory,
  writes_behind_memory,
  writes_far_behind_memory,
  asks_for_too_much,
  asks_for_nothing,
  counts_calls,
  dies_when_called_again
};
struct Kernel {
  const char* name;
  Way way;
};
constexpr std::array<Kernel, 9> all_kernels{
    {{"reads_index_copies", Way::reads_index_copies},
     {"writes_to_an_index_copy", Way::writes_to_an_index_copy},
     {"keeps_memory", Way::keeps_memory},
     {"writes_behind_memory", Way::writes_behind_memory},
     {"writes_far_behind_memory", Way::writes_far_behind_memory},
     {"asks_for_too_much", Way::asks_for_too_much},
     {"asks_for_nothing", Way::asks_for_nothing},
     {"counts_calls", Way::counts_calls},
     {"dies_when_called_again", Way::dies_when_called_again}}};

struct Plan {
  Way way;
  plumbline_problem problem;
  plumbline_device device;
  char* memory = nullptr;
  // as passed to `prepare`
  decltype(plumbline_tensors::allocate) allocate = nullptr;
  void* allocate_context = nullptr;
  int calls = 0;
};

void require(bool holds, const char* what) {
  if (!holds) throw Refused(PLUMBLINE_ERROR, what);
}

bool is_copied(const plumbline_device& device, const plumbline_tensor& host,
               const plumbline_tensor& copy) {
  if (host.rank == 0 || copy.rank == 0) return host.rank == copy.rank;
  const bool has_own_memory = device.memory_space == PLUMBLINE_CUDA;
  return host.memory_space == PLUMBLINE_HOST && copy.memory_space == device.memory_space &&
         copy.dtype == PLUMBLINE_I32 && copy.rank == host.rank && copy.bytes == host.bytes &&
         std::equal(copy.extent, copy.extent + copy.rank, host.extent) &&
         std::equal(copy.stride, copy.stride + copy.rank, host.stride) &&
         (copy.data != host.data) == has_own_memory &&
         std::memcmp(copy.data, host.data, host.bytes) == 0;
}
void require_copies(const plumbline_device& device, const plumbline_tensors& t) {
  require(is_copied(device, t.cu_seqlens_q, t.device_cu_seqlens_q), "cu_seqlens_q is not copied");
  require(is_copied(device, t.cu_seqlens_kv, t.device_cu_seqlens_kv),
          "cu_seqlens_kv is not copied");
  require(is_copied(device, t.seqlens_q, t.device_seqlens_q), "seqlens_q is not copied");
  require(is_copied(device, t.seqlens_kv, t.device_seqlens_kv), "seqlens_kv is not copied");
  require(is_copied(device, t.page_table, t.device_page_table), "page_table is not copied");
}

// Allocates two pieces of plan memory and keeps the second.
void allocate_plan_memory(Plan& plan, const plumbline_tensors& tensors) {
  plan_memory(tensors, 24, "a few words");
  plan.memory = static_cast<char*>(plan_memory(tensors, memory_bytes, "everything else"));
  require(reinterpret_cast<std::uintptr_t>(plan.memory) % 256 == 0, "plan memory is not aligned");
  require(std::all_of(plan.memory, plan.memory + memory_bytes, [](char c) { return c == '\xff'; }),
          "plan memory is not poisoned");
  std::memset(plan.memory, 0x21, memory_bytes);
}

__attribute__((noinline, no_sanitize("address", "undefined"))) void write_byte(void* at) {
  *static_cast<volatile char*>(at) = 0x5A;
}

// Memory of cuda:0 is host memory.
int32_t allocate(const plumbline_device*, uint64_t bytes, void** out) {
  *out = bytes > (uint64_t{1} << 30) ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
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

struct Planner : Library {
  using Kernel = ::Kernel;
  using Plan = ::Plan;
  static const char* name() { return "planner"; }
  static const char* version() { return "1.0 (tests)"; }
  static const std::array<Kernel, 9>& kernels() { return all_kernels; }
  static const plumbline_device_memory* memory() {
    static const plumbline_device_memory table = [] {
      auto functions = sized<plumbline_device_memory>();
      functions.allocate = allocate;
      functions.release = release;
      functions.copy_to_device = functions.copy_to_host = copy;
      functions.synchronize = synchronize;
      return functions;
    }();
    return &table;
  }
  static std::string refusal(const Kernel&, const plumbline_problem& problem,
                             const plumbline_device&) {
    const char* const why = plain_attention_refusal(problem);
    return why == nullptr ? "" : why;
  }

  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors& tensors, const plumbline_device& device,
                      std::uint64_t& workspace_bytes) {
    if (kernel.way == Way::counts_calls) workspace_bytes = 64;
    Plan plan{kernel.way, problem, device, nullptr, tensors.allocate, tensors.allocate_context};
    require(planning_stream(tensors) == nullptr, "there is a stream without functions for streams");
    switch (kernel.way) {
      case Way::reads_index_copies:
        require_copies(device, tensors);
        break;
      case Way::asks_for_too_much:
        plan_memory(tensors, ~std::uint64_t{0}, "the whole world");
        break;
      case Way::counts_calls:
      case Way::dies_when_called_again:
        break;
      case Way::asks_for_nothing:
        require(plan_memory(tensors, 0, "nothing") == nullptr, "0 bytes are not NULL");
        break;
      default:
        allocate_plan_memory(plan, tensors);
    }
    return plan;
  }

  // Writes into the first outputs: 1 if they were poisoned, the number of the plan's calls so far,
  // the order of threads, and the workspace value of the previous call.
  static void count_call(const Plan& plan, const plumbline_tensors& tensors) {
    auto* const out = static_cast<float*>(tensors.out.data);
    auto* const workspace = static_cast<float*>(tensors.workspace.data);
    const float left = std::isnan(*workspace) ? 0 : *workspace;
    out[0] = std::isnan(out[0]) ? 1 : 0;
    out[1] = static_cast<float>(plan.calls);
    out[2] = static_cast<float>(tensors.threads_reversed);
    out[3] = left;
    *workspace = left + 1;
  }

  static void run(Plan& plan, const plumbline_tensors& tensors, void*) {
    ++plan.calls;
    if (plan.way == Way::counts_calls) return count_call(plan, tensors);
    if (plan.way == Way::dies_when_called_again && plan.calls > 1) std::abort();
    if (plan.way == Way::reads_index_copies) require_copies(plan.device, tensors);
    if (plan.way == Way::keeps_memory) {
      require(
          std::all_of(plan.memory, plan.memory + memory_bytes, [](char c) { return c == 0x21; }),
          "plan memory was changed");
      void* late = nullptr;
      require(tensors.allocate == nullptr &&
                  plan.allocate(plan.allocate_context, 8, &late) == PLUMBLINE_ERROR,
              "memory was given in run");
    }
    require(plain_attention(plan.problem, tensors, [](float p) { return p; }), "dtype not known");
    if (plan.way == Way::writes_to_an_index_copy)
      write_byte(static_cast<char*>(tensors.device_seqlens_kv.data) + 1);
    if (plan.way == Way::writes_behind_memory) write_byte(plan.memory + memory_bytes + 7);
    if (plan.way == Way::writes_far_behind_memory) write_byte(plan.memory + memory_bytes + 4095);
  }

  static void describe(const Plan&, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
    copy_text("plain attention", description.launched);
    copy_text("test-1", description.build_id);
  }
};

}  // namespace

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return serve<Planner>(abi_version, options);
}
