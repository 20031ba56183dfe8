// The provider "mma_mutants": bugs that only tensor-core kernels can have, on emulated devices.
// Legal variants stand beside them.
//
//   --provider plumbline_mma_mutants.so    kernels mma_mutants/...    fp16, bf16, fp32
//
// Each runs the unchanged kernels of kernels/attention, decode_mma where a sample has one query and
// prefill_mma elsewhere, with one change between kernel and emulator. They declare what the kernels
// declare: a bug is never declared.
#include "kernels/attention/provider.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/attention/machine_emulated.h"
#include "kernels/cpu/answer.h"
#include "kernels/mutants/tensor_core/changes.h"

namespace plumbline::mutants {
namespace {

using emulator::Call;
using emulator::Notes;

// A change as the emulator takes it: keeps track of where each thread is.
class ChangedCalls : public emulator::Fault {
 public:
  ChangedCalls(const KernelChange& change, const attention::Instance& instance)
      : change_(change), tiles_(instance) {}

  bool leaves_out(Notes& notes, Call call) const override {
    Place place(notes, tiles_);
    const bool out = change_.leaves_out != nullptr && change_.leaves_out(place, call);
    if (call == Call::syncthreads) place.synchronised();
    return out;
  }
  int wait(Notes& notes, int groups) const override {
    Place place(notes, tiles_);
    place.waits();
    return change_.wait == nullptr ? groups : change_.wait(place, groups);
  }
  void commit(Notes& notes) const override { Place(notes, tiles_).committed(); }
  Copy copy(Notes& notes, bool valid) const override {
    return change_.copy == nullptr ? Copy::as_asked : change_.copy(Place(notes, tiles_), valid);
  }
  void landed(std::byte* shared) const override {
    if (change_.landed != nullptr) change_.landed(tiles_, shared);
  }
  Call load(Notes& notes, Call call, std::size_t& row) const override {
    return change_.load == nullptr ? call : change_.load(Place(notes, tiles_), call, row);
  }
  void loaded(Notes& notes, Call, std::uint32_t* r) const override {
    Place place(notes, tiles_);
    if (change_.loaded != nullptr) change_.loaded(place, r);
    place.loaded();
  }
  Call shuffle(Notes& notes, Call call, int& operand) const override {
    Place place(notes, tiles_);
    place.shuffles();
    return change_.shuffle == nullptr ? call : change_.shuffle(place, call, operand);
  }
  bool multiply(Notes& notes, Call& call, std::uint32_t* a, std::uint32_t* b,
                std::uint32_t* c) const override {
    Place place(notes, tiles_);
    return change_.multiply == nullptr || change_.multiply(place, call, a, b, c);
  }
  void product(Notes& notes, Call, std::uint32_t* d) const override {
    Place place(notes, tiles_);
    if (change_.product != nullptr) change_.product(place, d);
    place.multiplied();
  }
  bool computes(Notes& notes, emulator::Arch arch, const emulator::MmaInstruction& instruction,
                std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                std::uint32_t* d) const override {
    return change_.computes != nullptr &&
           change_.computes(Place(notes, tiles_), arch, instruction, a, b, c, d);
  }

 private:
  const KernelChange& change_;
  const Tiles tiles_;
};

// A plan of the kernels' own provider, and what changes it. What this provider gives out as a
// plumbline_plan.
struct MutantPlan {
  const KernelChange* change;
  plumbline_plan* of_kernel;
};
MutantPlan& mutant(plumbline_plan* plan) { return *reinterpret_cast<MutantPlan*>(plan); }
const MutantPlan& mutant(const plumbline_plan* plan) {
  return *reinterpret_cast<const MutantPlan*>(plan);
}

const plumbline_provider& kernels_with(const KernelChange& change) {
  return attention::provider_with(change.options);
}

std::uint32_t kernel_for(const KernelChange& change, const plumbline_provider& kernels,
                         const plumbline_problem& problem) {
  std::string_view wanted = problem.seq_q == 1 ? "decode_mma" : "prefill_mma";
  if (change.kernel != nullptr) wanted = change.kernel;
  std::uint32_t index = 0;
  while (kernels.kernel_name(index) != wanted) ++index;
  return index;
}

plumbline_status query(std::uint32_t index, const plumbline_problem* problem,
                       const plumbline_device* device, char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    if (index >= kernel_changes().size())
      return answer(PLUMBLINE_ERROR, "no such kernel", reason, reason_bytes);
    if (problem->struct_size < sizeof(plumbline_problem)) {
      return answer(PLUMBLINE_ERROR, "struct_size is smaller than this provider's header", reason,
                    reason_bytes);
    }
    const KernelChange& change = kernel_changes()[index];
    const plumbline_provider& kernels = kernels_with(change);
    return kernels.query(kernel_for(change, kernels, *problem), problem, device, reason,
                         reason_bytes);
  });
}

plumbline_status prepare(std::uint32_t index, const plumbline_problem* problem,
                         const plumbline_tensors* tensors, const plumbline_device* device,
                         plumbline_plan** plan, std::uint64_t* workspace_bytes, char* reason,
                         std::size_t reason_bytes) {
  const plumbline_status supported = query(index, problem, device, reason, reason_bytes);
  if (supported != PLUMBLINE_OK) return supported;
  return guarded(reason, reason_bytes, [&] {
    auto made = std::make_unique<MutantPlan>();
    made->change = &kernel_changes()[index];
    const plumbline_provider& kernels = kernels_with(*made->change);
    const std::uint32_t kernel = kernel_for(*made->change, kernels, *problem);
    const auto status = kernels.prepare(kernel, problem, tensors, device, &made->of_kernel,
                                        workspace_bytes, reason, reason_bytes);
    if (status == PLUMBLINE_OK) *plan = reinterpret_cast<plumbline_plan*>(made.release());
    return status;
  });
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                     char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    const MutantPlan& planned = mutant(plan);
    attention::launch_change() = [&](const attention::Instance& instance,
                                     const emulator::LaunchOptions& options, const auto& launch) {
      if (!instance.tensor_cores) return launch(options);
      const ChangedCalls changed(*planned.change, instance);
      emulator::LaunchOptions with_change = options;
      with_change.fault = &changed;
      return launch(with_change);
    };
    const auto status =
        kernels_with(*planned.change).run(planned.of_kernel, tensors, stream, reason, reason_bytes);
    attention::launch_change() = {};
    return status;
  });
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* description) {
  return guarded(nullptr, 0, [&] {
    const MutantPlan& planned = mutant(plan);
    const plumbline_status status =
        kernels_with(*planned.change).describe(planned.of_kernel, description);
    if (status != PLUMBLINE_OK) return status;
    const std::string launched = std::string(planned.change->name) + ": " + description->launched;
    std::snprintf(description->launched, sizeof description->launched, "%.*s",
                  static_cast<int>(sizeof description->launched) - 1, launched.c_str());
    std::snprintf(description->build_id, sizeof description->build_id, "%s",
                  PLUMBLINE_MMA_MUTANTS_BUILD_ID);
    return PLUMBLINE_OK;
  });
}

void destroy(plumbline_plan* plan) {
  const std::unique_ptr<MutantPlan> planned(&mutant(plan));
  kernels_with(*planned->change).destroy(planned->of_kernel);
}

const char* kernel_name(std::uint32_t kernel) {
  return kernel < kernel_changes().size() ? kernel_changes()[kernel].name : nullptr;
}

}  // namespace
}  // namespace plumbline::mutants

extern "C" PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(
    std::uint32_t abi_version, const char* options) {
  using namespace plumbline::mutants;
  if (abi_version != PLUMBLINE_ABI_VERSION || (options != nullptr && *options != 0)) return nullptr;
  static plumbline_provider provider{};
  provider.struct_size = sizeof provider;
  provider.abi_version = PLUMBLINE_ABI_VERSION;
  provider.name = "mma_mutants";
  provider.version = PLUMBLINE_MMA_MUTANTS_VERSION;
  provider.kernel_count = static_cast<std::uint32_t>(kernel_changes().size());
  provider.kernel_name = kernel_name;
  provider.query = query;
  provider.prepare = prepare;
  provider.run = run;
  provider.describe = describe;
  provider.destroy = destroy;
  provider.memory = nullptr;  // the host's
  provider.kernel_tensor_cores = [](std::uint32_t) { return "on"; };
  return &provider;
}
