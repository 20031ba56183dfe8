// The provider "mma_mutants": bugs that only tensor-core kernels can have, on emulated devices, and
// legal variants.
//
//   --provider plumbline_mma_mutants.so    kernels mma_mutants/...    fp16, bf16, fp32
//
// Each runs an unchanged kernel of kernels/attention, with one change between kernel and emulator:
// the kernel that the change names, otherwise decode_mma if a sample has one query, otherwise
// prefill_mma. Each declares what the unchanged kernel declares; a bug is never declared.
#include "kernels/attention/provider.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kernels/attention/machine_emulated.h"
#include "kernels/mutants/tensor_core/changes.h"

namespace plumbline::mutants {
namespace {

using attention::Attention;
using emulator::Call;
using emulator::Notes;

// Applies a change in the emulator, and tracks the position of each thread.
class ChangedCalls : public emulator::Fault {
 public:
  ChangedCalls(const KernelChange& change, const attention::Instance& instance)
      : change_(change), tiles_(instance) {}

  bool leaves_out(Notes& notes, Call call) const override {
    ThreadPosition place(notes, tiles_);
    const bool out = change_.leaves_out != nullptr && change_.leaves_out(place, call);
    if (call == Call::syncthreads) place.synchronised();
    return out;
  }
  int wait(Notes& notes, int groups) const override {
    ThreadPosition place(notes, tiles_);
    place.waits();
    return change_.wait == nullptr ? groups : change_.wait(place, groups);
  }
  void commit(Notes& notes) const override { ThreadPosition(notes, tiles_).committed(); }
  Copy copy(Notes& notes, bool valid) const override {
    return change_.copy == nullptr ? Copy::unmodified
                                   : change_.copy(ThreadPosition(notes, tiles_), valid);
  }
  void landed(std::byte* shared) const override {
    if (change_.landed != nullptr) change_.landed(tiles_, shared);
  }
  Call load(Notes& notes, Call call, std::size_t& row) const override {
    return change_.load == nullptr ? call : change_.load(ThreadPosition(notes, tiles_), call, row);
  }
  void loaded(Notes& notes, Call, std::uint32_t* r) const override {
    ThreadPosition place(notes, tiles_);
    if (change_.loaded != nullptr) change_.loaded(place, r);
    place.loaded();
  }
  Call shuffle(Notes& notes, Call call, int& operand) const override {
    ThreadPosition place(notes, tiles_);
    place.shuffles();
    return change_.shuffle == nullptr ? call : change_.shuffle(place, call, operand);
  }
  bool multiply(Notes& notes, Call& call, std::uint32_t* a, std::uint32_t* b,
                std::uint32_t* c) const override {
    ThreadPosition place(notes, tiles_);
    return change_.multiply == nullptr || change_.multiply(place, call, a, b, c);
  }
  void product(Notes& notes, Call, std::uint32_t* d) const override {
    ThreadPosition place(notes, tiles_);
    if (change_.product != nullptr) change_.product(place, d);
    place.multiplied();
  }
  bool computes(Notes& notes, emulator::Arch arch, const emulator::MmaInstruction& instruction,
                std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                std::uint32_t* d) const override {
    return change_.computes != nullptr &&
           change_.computes(ThreadPosition(notes, tiles_), arch, instruction, a, b, c, d);
  }

 private:
  const KernelChange& change_;
  const Tiles tiles_;
};

// Returns the kernel of kernels/attention that is changed.
const attention::Kernel& kernel_for(const KernelChange& change, const plumbline_problem& problem) {
  std::string_view wanted = problem.seq_q == 1 ? "decode_mma" : "prefill_mma";
  if (change.kernel != nullptr) wanted = change.kernel;
  const auto kernels = attention::kernels();
  return *std::find_if(kernels.begin(), kernels.end(),
                       [&](const attention::Kernel& kernel) { return kernel.name == wanted; });
}

// Changes every launch of a tensor-core kernel during its lifetime.
class ChangedLaunches {
 public:
  explicit ChangedLaunches(const KernelChange& change) {
    attention::launch_change() = [&change](const attention::Instance& instance,
                                           const emulator::LaunchOptions& options,
                                           const auto& launch) {
      if (!instance.tensor_cores) return launch(options);
      const ChangedCalls changed(change, instance);
      emulator::LaunchOptions with_change = options;
      with_change.fault = &changed;
      return launch(with_change);
    };
  }
  ~ChangedLaunches() { attention::launch_change() = {}; }
  ChangedLaunches(const ChangedLaunches&) = delete;
  ChangedLaunches& operator=(const ChangedLaunches&) = delete;
};

struct MmaMutants : provider::Library {
  using Kernel = KernelChange;
  struct Plan {
    const Kernel* change;
    attention::Plan of_kernel;
  };

  static const char* name() { return "mma_mutants"; }
  static const char* version() { return PLUMBLINE_MMA_MUTANTS_VERSION; }
  static std::span<const Kernel> kernels() { return kernel_changes(); }
  static const char* tensor_cores(const Kernel&) { return "on"; }

  static std::string refusal(const Kernel& change, const plumbline_problem& problem,
                             const plumbline_device& device) {
    Attention::set_options(change.options);
    return Attention::refusal(kernel_for(change, problem), problem, device);
  }
  static Plan prepare(const Kernel& change, const plumbline_problem& problem,
                      const plumbline_tensors& tensors, const plumbline_device& device,
                      std::uint64_t& workspace_bytes) {
    Attention::set_options(change.options);
    return {&change, Attention::prepare(kernel_for(change, problem), problem, tensors, device,
                                        workspace_bytes)};
  }
  static void run(Plan& plan, const plumbline_tensors& tensors, void* stream) {
    const ChangedLaunches changed(*plan.change);
    Attention::run(plan.of_kernel, tensors, stream);
  }
  static void describe(const Plan& plan, plumbline_description& description) {
    Attention::describe(plan.of_kernel, description);
    provider::copy_text(std::string(plan.change->name) + ": " + description.launched,
                        description.launched);
    provider::copy_text(PLUMBLINE_MMA_MUTANTS_BUILD_ID, description.build_id);
  }
};

}  // namespace
}  // namespace plumbline::mutants

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::mutants::MmaMutants>(abi_version, options);
}
