// Serves one request: prepares the kernel, calls it, detects stray writes, times it and replies.
#include "harness/provider/child/execute.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <vector>

#include "harness/provider/child/call.h"
#include "harness/provider/child/device_buffer.h"
#include "harness/provider/child/ordered_call.h"
#include "harness/provider/child/peak_memory.h"
#include "harness/provider/child/plan_memory.h"
#include "harness/provider/child/processor_clock.h"
#include "harness/provider/child/request_tensors.h"
#include "harness/provider/child/timing.h"
#include "harness/provider/description_check.h"
#include "harness/provider/plumbline_provider.hpp"

namespace plumbline {

namespace {

std::uint32_t kernel_index(const ProviderLibrary& library, const std::string& kernel) {
  const auto at = std::ranges::find(library.kernels, kernel);
  if (at == library.kernels.end())
    throw Stop{Status::error,
               fmt::format("provider {} has no kernel \"{}\"", library.name, kernel)};
  return static_cast<std::uint32_t>(at - library.kernels.begin());
}

// A kept workspace counts against the memory limit of the next kernel.
constexpr std::size_t max_kept_bytes = std::size_t{4} << 20;
// Largest tensor that gets a second image in device memory.
constexpr std::size_t max_arriving_bytes = std::size_t{1} << 30;

class Execution final : public KeptPlan {
 public:
  Execution(const ProviderLibrary& library, KeptMemory& kept, protocol::RunRequest request)
      : library_(library),
        provider_(*library.provider),
        request_(std::move(request)),
        kernel_(kernel_index(library, request_.kernel)),
        device_(to_device(request_.device)),
        problem_(request_.problem),
        kept_(kept),
        plan_memory_(on_device() && library.memory ? std::optional(memory()) : std::nullopt,
                     request_.workspace_byte) {
    problem_.struct_size = sizeof problem_;
    tensors_.struct_size = sizeof tensors_;
    tensors_.threads_reversed = request_.threads_reversed ? 1 : 0;
  }
  ~Execution() override {
    try {
      if (plan_ != nullptr) destroy();
    } catch (const Stop&) {  // keep the first reason of a request that already failed
    }
    close_memory();
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  void perform(protocol::RunReply& reply) {
    if (on_device() && library_.memory) reply.device = device_facts();
    open_arena();
    query();
    place_tensors();
    reply.workspace_bytes = prepare();
    place_workspace(reply.workspace_bytes);
    run_judged(reply);
    if (request_.timed_repetitions > 0) {
      time(reply);
      // Timed calls find all tensors in place, so the outputs of an ordered call are judged.
      if (stream_) run_judged(reply);
    }
    reply.description = describe();
    finish(reply, request_.keep_plan);
    if (on_device()) complete_arch(*reply.description);
  }

  void perform_again(const protocol::AgainRequest& again, protocol::RunReply& reply) override {
    is_again_ = true;
    tensors_.threads_reversed = again.threads_reversed ? 1 : 0;
    kept_.arena->resume(request_.tensors);
    reply.workspace_bytes = tensors_.workspace.bytes;
    poison_outputs(again.timed_repetitions > 0);
    if (again.timed_repetitions > 0) {
      request_.timed_repetitions = again.timed_repetitions;
      request_.quiet_ns = again.quiet_ns;
      time(reply);  // its last call leaves the outputs
    } else {
      run_judged(reply);
    }
    finish(reply, again.keep_plan);
  }

 private:
  void finish(protocol::RunReply& reply, bool keep_plan) {
    if (!keep_plan) destroy();
    collect(reply);
    reply.plan_kept = keep_plan;
    if (keep_plan) kept_.arena->pause();
  }

  bool on_device() const { return device_.memory_space == PLUMBLINE_CUDA; }
  DeviceMemory memory() const { return {*library_.memory, device_}; }
  void* stream() const { return stream_ ? stream_->handle() : nullptr; }

  void open_arena() {
    if (kept_.arena != nullptr && kept_.arena->reopen(request_.arena_bytes, request_.tensors))
      return;
    kept_.arena = nullptr;  // frees the old address space first
    kept_.arena = std::make_unique<MappedArena>(protocol::arena_descriptor, request_.arena_bytes,
                                                request_.tensors);
  }

  void close_memory() {
    if (kept_.arena != nullptr) kept_.arena->close();
    if (kept_.workspace == nullptr) return;
    kept_.workspace->close();
    if (kept_.workspace->mapped_bytes() > max_kept_bytes) kept_.workspace = nullptr;
  }

  void query() {
    const std::string asked = problem_.question == PLUMBLINE_MERGE ? "merge" : "attention";
    if (library_.questions[kernel_] != asked) {
      throw Stop{Status::unsupported,
                 fmt::format("the kernel computes {}, not {}", library_.questions[kernel_], asked)};
    }
    if (provider::needs_fp8_scales(problem_) &&
        (library_.features & PLUMBLINE_FEATURE_FP8_SCALES) == 0) {
      throw Stop{Status::unsupported,
                 fmt::format("provider {} does not declare fp8 Q and scales of tokens "
                             "(PLUMBLINE_FEATURE_FP8_SCALES in plumbline_provider.features)",
                             library_.name)};
    }
    if (provider::is_fp8(problem_.dtype_out) &&
        (library_.features & PLUMBLINE_FEATURE_FP8_OUTPUT) == 0) {
      throw Stop{Status::unsupported,
                 fmt::format("provider {} does not declare fp8 outputs "
                             "(PLUMBLINE_FEATURE_FP8_OUTPUT in plumbline_provider.features)",
                             library_.name)};
    }
    call_provider("query", [&](char* reason, std::size_t bytes) {
      return provider_.query(kernel_, &problem_, &device_, reason, bytes);
    });
    if (!on_device()) return;
    if (!library_.memory) {
      throw Stop{Status::error, fmt::format("provider {} supports {} but has no memory functions "
                                            "(plumbline_provider.memory)",
                                            provider_.name, request_.device.name)};
    }
    if (memory().has_streams()) stream_.emplace(memory());
  }

  const plumbline_device_facts& facts() {
    const auto [at, is_new] = kept_.device_facts.try_emplace(device_.ordinal);
    if (is_new) at->second = memory().facts();
    return at->second;
  }

  void place_tensors() {
    // Reallocation would move images that are in use.
    images_.reserve(request_.tensors.size());
    for (const protocol::Tensor& t : request_.tensors) {
      const plumbline_tensor on_host = to_tensor(t, kept_.arena->data(t));
      if (const IndexArray* const indices = find_index_array(t.name)) {
        *find_field(tensors_, t.name) = on_host;
        // The device copy is in place from the start, because planners may read it.
        tensors_.*(indices->copy) = to_kernel_memory(t, on_host, "device_" + t.name, false);
      } else {
        const plumbline_tensor placed = to_kernel_memory(t, on_host, t.name, true);
        if (plumbline_tensor* const known = find_field(tensors_, t.name)) *known = placed;
        if (t.access == "write")
          outputs_.push_back({sizeof(plumbline_output), 0, t.name.c_str(), placed});
      }
    }
    tensors_.output_count = static_cast<std::uint32_t>(outputs_.size());
    tensors_.outputs = outputs_.data();
    tensors_.stream = stream();
  }

  // Returns the tensor in the kernel's memory. If `arrives`, its contents appear only in stream
  // order.
  plumbline_tensor to_kernel_memory(const protocol::Tensor& t, plumbline_tensor tensor,
                                    const std::string& name, bool arrives) {
    tensor.memory_space = device_.memory_space;
    tensor.device = device_.ordinal;
    if (!on_device()) return tensor;
    Image& image = images_.emplace_back(
        Image{&t, name, DeviceBuffer(memory(), name, t.page_end - t.page_begin),
              arrives ? second_image(t) : std::nullopt});
    (image.arriving ? *image.arriving : image.buffer).upload(kept_.arena->pages(t));
    tensor.data = static_cast<std::byte*>(image.buffer.data()) + (t.offset - t.page_begin);
    return tensor;
  }

  // Returns the buffer from which a tensor arrives in stream order. Returns nothing if there is no
  // stream, or too little memory; the kernel then finds the tensor in place.
  std::optional<DeviceBuffer> second_image(const protocol::Tensor& t) {
    const std::size_t bytes = t.page_end - t.page_begin;
    if (!stream_ || bytes > max_arriving_bytes) return std::nullopt;
    try {
      return DeviceBuffer(memory(), t.name, bytes);
    } catch (const Stop& stop) {
      if (stop.status != Status::out_of_memory) throw;
      return std::nullopt;
    }
  }

  std::vector<Arrival> arrivals() const {
    std::vector<Arrival> all;
    for (const Image& image : images_) {
      const std::string written = image.tensor->access == "write" ? image.tensor->name : "";
      if (image.arriving)
        all.push_back(
            {image.buffer.data(), image.buffer.bytes(), image.arriving->data(), 0, written});
    }
    if (device_workspace_ && !is_again_) {  // later calls find the previous call's workspace
      all.push_back({device_workspace_->data(), device_workspace_->bytes(), nullptr,
                     request_.workspace_byte, "workspace"});
    }
    return all;
  }

  // Copies plumbline's poisoned outputs to the device. Unless `out_of_order`, skips outputs that
  // arrive in stream order: their arrival poisons them.
  void poison_outputs(bool out_of_order) {
    for (Image& image : images_) {
      if (image.tensor->access == "write" && (out_of_order || !image.arriving))
        image.buffer.upload(kept_.arena->pages(*image.tensor));
    }
  }

  std::uint64_t prepare() {
    std::uint64_t workspace_bytes = 0;
    plan_memory_.offer(tensors_);
    const auto start = std::chrono::steady_clock::now();
    call_provider("prepare", [&](char* reason, std::size_t bytes) {
      return provider_.prepare(kernel_, &problem_, &tensors_, &device_, &plan_, &workspace_bytes,
                               reason, bytes);
    });
    plan_ns_ =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    plan_memory_.withdraw(tensors_);
    if (plan_ == nullptr) throw Stop{Status::error, "prepare gave no plan"};
    if (stream_) memory().synchronize(stream());  // planners enqueue there
    return workspace_bytes;
  }

  void place_workspace(std::uint64_t bytes) {
    if (bytes == 0) return;
    plumbline_tensor& workspace = tensors_.workspace;
    workspace.struct_size = sizeof workspace;
    workspace.memory_space = device_.memory_space;
    workspace.device = device_.ordinal;
    workspace.rank = 1;
    workspace.extent[0] = static_cast<std::int64_t>(bytes);
    workspace.stride[0] = 1;
    workspace.bytes = bytes;
    if (on_device()) {
      device_workspace_.emplace(memory(), "workspace", bytes);
      device_workspace_->poison(request_.workspace_byte);
      workspace.data = device_workspace_->data();
    } else {
      if (kept_.workspace == nullptr || !kept_.workspace->reopen(bytes, request_.workspace_byte)) {
        kept_.workspace = nullptr;
        kept_.workspace = std::make_unique<HostWorkspace>(bytes, request_.workspace_byte);
      }
      host_workspace_ = kept_.workspace.get();
      workspace.data = host_workspace_->data();
    }
  }

  // On a device this only enqueues.
  void call() {
    call_provider("run", [&](char* reason, std::size_t bytes) {
      return provider_.run(plan_, &tensors_, stream(), reason, bytes);
    });
  }

  void run(std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) call();
    if (on_device()) memory().synchronize(stream());
  }

  // Makes the call whose outputs are judged.
  void run_judged(protocol::RunReply& reply) {
    if (!stream_) return run(1);
    // If another call of the plan follows, exactly one call must precede it, so this call is not
    // repeated.
    const bool is_followed = request_.keep_plan && !is_again_;
    const auto if_early = is_followed ? IfEarly::leave_it : IfEarly::call_again;
    const std::string fault = call_in_order(
        memory(), stream_->handle(), arrivals(), [this] { call(); }, if_early);
    if (!fault.empty()) reply.workspace_fault = fault;
  }

  void time(protocol::RunReply& reply) {
    TimesInTurn times =
        on_device() && memory().has_clock()
            ? time_on_device(
                  memory(), stream(), facts().l2_bytes, GpuClocks(device_.ordinal, facts().model),
                  [this] { call(); }, request_.timed_repetitions)
            : time_in_turn([this](std::int64_t calls) { run(calls); }, request_.timed_repetitions,
                           request_.quiet_ns);
    reply.kernel_ns = std::move(times.kernel_ns);
    reply.hot_ns = std::move(times.hot_ns);
    reply.sentinel_ns = std::move(times.sentinel_ns);
    reply.plan_ns = plan_ns_;
    if (on_device()) {
      keep_clocks(times, reply);
    } else {
      // Host processor time does not include a device's work.
      reply.kernel_cpu_ns = std::move(times.kernel_cpu_ns);
      reply.sentinel_cpu_ns = std::move(times.sentinel_cpu_ns);
      reply.mhz = processor_mhz();
    }
    const std::int64_t peak = on_device() ? -1 : measure_peak_memory([this] { run(1); });
    if (peak >= 0)
      reply.peak_memory_bytes =
          peak + static_cast<std::int64_t>(reply.workspace_bytes + plan_memory_.bytes());
  }

  static void keep_clocks(TimesInTurn& times, protocol::RunReply& reply) {
    std::uint64_t reasons = 0;
    for (const auto* samples : {&times.kernel_throttle, &times.hot_throttle}) {
      for (const double bits : *samples) reasons |= static_cast<std::uint64_t>(bits);
    }
    reply.throttled = throttle_words(reasons);
    if (!times.kernel_mhz.empty()) {
      std::vector<double> sorted = times.kernel_mhz;
      std::ranges::sort(sorted);
      reply.mhz = sorted[sorted.size() / 2];
    }
    reply.kernel_mhz = std::move(times.kernel_mhz);
    reply.hot_mhz = std::move(times.hot_mhz);
    reply.kernel_throttle = std::move(times.kernel_throttle);
    reply.hot_throttle = std::move(times.hot_throttle);
  }

  DeviceFacts device_facts() {
    const plumbline_device_facts& f = facts();
    return {f.model, static_cast<std::int64_t>(f.memory_bytes), f.driver, f.runtime, f.arch};
  }

  void complete_arch(plumbline_description& description) {
    if (description.device_arch[0] == '\0')
      std::copy_n(facts().arch, sizeof description.device_arch, description.device_arch);
  }

  plumbline_description describe() {
    plumbline_description description{};
    description.struct_size = sizeof description;
    description.spec.struct_size = sizeof description.spec;
    description.more_roundings.struct_size = sizeof description.more_roundings;
    description.promises.struct_size = sizeof description.promises;
    call_provider("describe",
                  [&](char*, std::size_t) { return provider_.describe(plan_, &description); });
    if (std::string fault = description_fault(description); !fault.empty())
      throw Stop{Status::error, std::move(fault)};
    return description;
  }

  void destroy() {
    call_provider("destroy", [&](char*, std::size_t) {
      provider_.destroy(std::exchange(plan_, nullptr));
      return PLUMBLINE_OK;
    });
  }

  // Copies outputs from the device, and detects stray writes.
  void collect(protocol::RunReply& reply) {
    const auto note = [&](std::string fault) {
      if (reply.workspace_fault.empty()) reply.workspace_fault = std::move(fault);
    };
    if (host_workspace_ != nullptr) note(host_workspace_->fault());
    if (device_workspace_) note(device_workspace_->fence_fault());
    note(plan_memory_.fault());
    for (const Image& image : images_) {
      note(image.buffer.fence_fault());
      if (image.tensor->access == "write") {
        image.buffer.download(kept_.arena->pages(*image.tensor));
      } else if (const auto at = image.buffer.first_difference(kept_.arena->pages(*image.tensor))) {
        note(fmt::format(
            "input {} was written to in device memory, first at byte {}", image.name,
            static_cast<std::int64_t>(*at + image.tensor->page_begin - image.tensor->offset)));
      }
    }
  }

  // The image of a tensor's pages, including the arena's guard bytes.
  struct Image {
    const protocol::Tensor* tensor;
    std::string name;
    DeviceBuffer buffer;
    std::optional<DeviceBuffer> arriving;  // copied to `buffer` by an ordered call
  };

  const ProviderLibrary& library_;
  const plumbline_provider& provider_;
  protocol::RunRequest request_;
  std::uint32_t kernel_;
  plumbline_device device_;
  plumbline_problem problem_;
  plumbline_tensors tensors_{};
  std::vector<plumbline_output> outputs_;  // tensors_.outputs points to them
  KeptMemory& kept_;
  std::vector<Image> images_;
  HostWorkspace* host_workspace_ = nullptr;  // in kept_; null if the kernel needs none
  std::optional<DeviceBuffer> device_workspace_;
  PlanMemory plan_memory_;  // outlives the plan
  // The kernels' stream; empty: the default stream. Destroyed before the memory that it uses.
  std::optional<DeviceStream> stream_;
  plumbline_plan* plan_ = nullptr;
  double plan_ns_ = 0;
  bool is_again_ = false;  // the plan was called before
};

// Calls `serve` and stores errors in the reply's status and reason.
void answer(protocol::RunReply& reply, const std::function<void()>& serve) {
  const auto end = [&](Status status, std::string reason) {
    reply.status = name(status);
    reply.reason = std::move(reason);
    reply.plan_kept = reply.plan_kept && status == Status::ok;
  };
  try {
    serve();
    end(Status::ok, "");
  } catch (const Stop& stop) {
    end(stop.status, stop.reason);
  } catch (const std::bad_alloc&) {
    end(Status::out_of_memory, "the worker itself could not get memory");
  }
}

}  // namespace

protocol::RunReply execute(const ProviderLibrary& library, KeptMemory& kept,
                           protocol::RunRequest request) {
  protocol::RunReply reply;
  kept.plan = nullptr;
  answer(reply, [&] {
    auto execution = std::make_unique<Execution>(library, kept, std::move(request));
    execution->perform(reply);
    if (reply.plan_kept) kept.plan = std::move(execution);
  });
  return reply;
}

protocol::RunReply execute_again(KeptMemory& kept, const protocol::AgainRequest& request) {
  protocol::RunReply reply;
  answer(reply, [&] {
    if (kept.plan == nullptr) throw Stop{Status::error, "no plan was kept for another call"};
    if (!request.only_end) kept.plan->perform_again(request, reply);
  });
  if (!reply.plan_kept) kept.plan = nullptr;
  return reply;
}

}  // namespace plumbline
