// Serves requests by a worker process, and starts a new one after a crash or an invalid reply.
#include "harness/provider/client/worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "harness/base/json.h"
#include "harness/provider/client/device_name.h"
#include "harness/provider/client/failure_reason.h"
#include "harness/provider/client/launch.h"
#include "harness/provider/client/process.h"
#include "harness/provider/client/to_wire.h"
#include "harness/provider/description_check.h"
#include "harness/provider/protocol.h"

namespace plumbline {

namespace {

// Loading has its own timeout: a GPU library takes seconds. A Python framework takes minutes if
// several workers import it from a cold disk.
constexpr std::chrono::milliseconds library_loading_timeout{60'000},
    python_loading_timeout{300'000};

bool is_python(const Launch& launch) { return launch.provider.ends_with(".py"); }

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(WorkerOptions options, Launch launch, Arena arena)
      : options_(std::move(options)), launch_(std::move(launch)), arena_(std::move(arena)) {}

  Result<Hello> hello() override;
  bool refused_options() const override { return refused_options_; }
  Arena& arena() override { return arena_; }
  RunReply run(const RunRequest& request) override;
  std::string changed_input() const override;
  std::uint64_t process() const override {
    return process_ != nullptr && process_->alive() ? processes_ : 0;
  }
  std::uint64_t processes() const override { return processes_; }
  bool has_running_threads() const override {
    return process_ != nullptr && process_->has_running_threads();
  }
  std::string crash_between_requests() override;
  RunReply run_again(const RunRequest& request) override;
  std::string log_tail() override { return process_ != nullptr ? process_->log_tail() : last_log_; }

 private:
  template <class Value>
  using Answer = tl::expected<Value, FailureReason>;

  Answer<void> ensure_started();
  Answer<void> greet();
  std::chrono::milliseconds timeout_of(const RunRequest& request) const {
    return request.timeout.count() > 0 ? request.timeout : options_.timeout;
  }
  Answer<protocol::RunRequest> to_message(const RunRequest& request);
  // Sends a message and returns a reply of the right kind and id. After an error the process is
  // gone.
  template <class Reply, class Request>
  Answer<Reply> ask(const Request& request, std::chrono::milliseconds timeout);
  protocol::AgainRequest to_again(const RunRequest& request);
  // `describes`: an ok reply needs a description.
  Answer<RunReply> to_reply(protocol::RunReply&& wire, bool describes) const;
  RunReply finish_reply(const RunRequest& request, const Answer<RunReply>& answer);
  RunReply without_changed_input(RunReply reply) const;
  void end_kept_plan();
  void drop_process();
  RunReply serve(const RunRequest& request);
  void remember_inputs();
  Error options_error(const FailureReason& failure) const;

  WorkerOptions options_;
  Launch launch_;
  Arena arena_;
  std::unique_ptr<WorkerProcess> process_;
  Hello hello_;
  bool refused_options_ = false;
  bool has_plan_ = false;  // the process keeps one for run_again()
  std::uint64_t last_id_ = 0;
  std::string last_log_;
  std::uint64_t processes_ = 0;                                // number started so far
  std::vector<std::pair<std::size_t, std::uint64_t>> inputs_;  // slots and digests before the run
};

void ProcessWorker::drop_process() {
  has_plan_ = false;
  last_log_ = process_->log_tail();
  process_.reset();
}

template <class Reply, class Request>
ProcessWorker::Answer<Reply> ProcessWorker::ask(const Request& request,
                                                std::chrono::milliseconds timeout) {
  tl::expected<std::string, WorkerExit> line =
      process_->exchange(protocol::to_line(request), timeout);
  if (line && crash_text(*line)) {
    WorkerExit worker_exit = process_->wait_for_end();
    worker_exit.last_words = *line;
    line = tl::unexpected(std::move(worker_exit));
  }
  if (!line) {
    FailureReason failure = explain(line.error(), process_->log_tail(), timeout);
    drop_process();
    return tl::unexpected(std::move(failure));
  }
  try {
    auto reply = protocol::read_message<Reply>(parse_json(*line));
    if (reply.reply == Reply{}.reply && reply.id == request.id) return reply;
  } catch (const nlohmann::json::exception&) {
  }
  drop_process();
  return tl::unexpected(FailureReason{
      Status::error, fmt::format("the worker's output is not a reply: {}", line->substr(0, 200)),
      ""});
}

ProcessWorker::Answer<void> ProcessWorker::ensure_started() {
  if (process_ != nullptr && process_->alive()) return {};
  process_.reset();
  auto process = WorkerProcess::start(launch_.command, arena_.descriptor(), options_.pass_env);
  if (!process)
    return tl::unexpected(FailureReason{Status::error, process.error().front().message,
                                        process.error().front().remedy});
  process_ = std::move(*process);
  ++processes_;
  return greet();
}

ProcessWorker::Answer<void> ProcessWorker::greet() {
  protocol::HelloRequest request;
  request.id = ++last_id_;
  request.provider = launch_.provider;
  request.options = launch_.options;
  request.memory_limit_bytes = options_.memory_limit_bytes;
  const auto timeout = std::max(
      options_.timeout, is_python(launch_) ? python_loading_timeout : library_loading_timeout);
  request.timeout_s = seconds(timeout);
  auto reply = ask<protocol::HelloReply>(request, timeout);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  if (!reply->error.empty()) {
    drop_process();
    return tl::unexpected(
        FailureReason{Status::error, reply->error, reply->remedy, reply->options_refused});
  }
  if (reply->protocol != protocol::protocol_version || reply->abi != PLUMBLINE_ABI_VERSION) {
    drop_process();
    return tl::unexpected(FailureReason{
        Status::error,
        fmt::format(
            "the worker speaks protocol {} and ABI {}, plumbline speaks protocol {} and ABI {}",
            reply->protocol, reply->abi, protocol::protocol_version, PLUMBLINE_ABI_VERSION),
        "use the plumbline-worker that was built with this plumbline"});
  }
  if (reply->tensor_cores.empty()) reply->tensor_cores.assign(reply->kernels.size(), "none");
  if (reply->questions.empty()) reply->questions.assign(reply->kernels.size(), "attention");
  // empty for kernels without an entry: unknown
  reply->kernel_devices.resize(reply->kernels.size());
  reply->outputs.resize(reply->kernels.size());
  if (const std::string fault =
          names_fault(reply->provider, reply->kernels, reply->tensor_cores, reply->questions);
      !fault.empty()) {
    drop_process();
    return tl::unexpected(FailureReason{Status::error, fmt::format("the worker's hello: {}", fault),
                                        "correct the names that the provider gives"});
  }
  if (const std::string fault = outputs_fault(reply->kernels, reply->outputs); !fault.empty()) {
    drop_process();
    return tl::unexpected(FailureReason{Status::error, fmt::format("the worker's hello: {}", fault),
                                        "correct what the provider declares"});
  }
  hello_ = {reply->provider,
            reply->version,
            {},
            std::move(reply->tensor_cores),
            std::move(reply->kernel_devices),
            std::move(reply->devices),
            std::move(reply->questions),
            std::move(reply->outputs),
            std::move(reply->no_device)};
  for (const std::string& kernel : reply->kernels)
    hello_.kernels.push_back(reply->provider + "/" + kernel);
  return {};
}

Error ProcessWorker::options_error(const FailureReason& failure) const {
  const std::string remedy =
      failure.remedy.empty()
          ? fmt::format("correct the options after the colon in --provider {}", options_.provider)
          : failure.remedy;
  return {split_provider(options_.provider).first, 0, failure.reason, remedy};
}

Result<Hello> ProcessWorker::hello() {
  if (auto started = ensure_started(); !started) {
    const FailureReason& failure = started.error();
    refused_options_ = failure.is_options_error;
    if (refused_options_) return fail(options_error(failure));
    return fail(failure.status == Status::error
                    ? failure.reason
                    : fmt::format("provider {}: {}: {}", options_.provider, name(failure.status),
                                  failure.reason),
                failure.remedy);
  }
  return hello_;
}

ProcessWorker::Answer<protocol::RunRequest> ProcessWorker::to_message(const RunRequest& request) {
  assert(request.geometry != nullptr);
  auto device = parse_device(request.device);
  if (!device)
    return tl::unexpected(FailureReason{Status::error, device.error().front().message, ""});
  if (!request.kernel.starts_with(hello_.provider + "/")) {
    return tl::unexpected(FailureReason{
        Status::error,
        fmt::format("{} is not a kernel of provider {}", request.kernel, hello_.provider), ""});
  }
  protocol::RunRequest message;
  message.id = ++last_id_;
  message.kernel = request.kernel.substr(hello_.provider.size() + 1);
  message.device = std::move(*device);
  message.problem = problem_to_wire(*request.geometry);
  message.arena_bytes = arena_.size_bytes();
  message.tensors = tensors_to_wire(request, arena_);
  message.timed_repetitions = request.timed_repetitions;
  message.quiet_ns = request.quiet_ns;
  message.timeout_s = seconds(timeout_of(request));
  message.workspace_byte = request.workspace_byte;
  message.threads_reversed = request.threads_reversed;
  message.keep_plan = request.keep_plan;
  return message;
}

protocol::AgainRequest ProcessWorker::to_again(const RunRequest& request) {
  protocol::AgainRequest message;
  message.id = ++last_id_;
  message.timed_repetitions = request.timed_repetitions;
  message.timeout_s = seconds(timeout_of(request));
  message.quiet_ns = request.quiet_ns;
  message.keep_plan = request.keep_plan;
  message.threads_reversed = request.threads_reversed;
  return message;
}

ProcessWorker::Answer<RunReply> ProcessWorker::to_reply(protocol::RunReply&& wire,
                                                        bool describes) const {
  const auto status = parse<Status>(wire.status);
  if (!status)
    return tl::unexpected(FailureReason{
        Status::error,
        fmt::format("the worker answered with the unknown status \"{}\"", wire.status), ""});
  RunReply reply;
  reply.status = *status;
  reply.reason = std::move(wire.reason);
  reply.workspace_bytes = wire.workspace_bytes;
  reply.peak_memory_bytes = wire.peak_memory_bytes;
  reply.device = wire.device;
  reply.lse_returned = wire.lse_returned;
  reply.workspace_fault = std::move(wire.workspace_fault);
  reply.timing = {std::move(wire.kernel_ns),
                  std::move(wire.sentinel_ns),
                  std::move(wire.hot_ns),
                  std::move(wire.kernel_cpu_ns),
                  std::move(wire.sentinel_cpu_ns),
                  std::move(wire.kernel_mhz),
                  std::move(wire.hot_mhz),
                  std::move(wire.kernel_throttle),
                  std::move(wire.hot_throttle),
                  wire.plan_ns,
                  wire.mhz,
                  std::move(wire.throttled)};
  if (reply.status != Status::ok) {
    if (reply.reason.empty()) reply.reason = "the worker gave no reason";
    return reply;
  }
  if (!describes) return reply;
  if (!wire.description) {
    const std::string why =
        wire.description_error.empty() ? "there is none" : wire.description_error;
    return tl::unexpected(FailureReason{Status::error, "description: " + why, ""});
  }
  if (std::string fault = description_fault(*wire.description); !fault.empty())
    return tl::unexpected(FailureReason{Status::error, fault, ""});
  reply.description = to_description(*wire.description);
  return reply;
}

void ProcessWorker::remember_inputs() {
  inputs_.clear();
  for (std::size_t slot = 0; slot < arena_.slot_count(); ++slot) {
    if (arena_.slot(slot).access == Access::read) inputs_.emplace_back(slot, arena_.digest(slot));
  }
}

std::string ProcessWorker::changed_input() const {
  for (const auto& [slot, digest] : inputs_) {
    if (slot < arena_.slot_count() && arena_.digest(slot) != digest) return arena_.slot(slot).name;
  }
  return "";
}

std::string ProcessWorker::crash_between_requests() {
  if (process_ == nullptr || process_->alive()) return "";
  const WorkerExit worker_exit = process_->wait_for_end();
  drop_process();
  return explain_idle_end(worker_exit);
}

// A kernel that maps the arena again can change its inputs, which the reference also uses.
RunReply ProcessWorker::run(const RunRequest& request) {
  remember_inputs();
  return without_changed_input(serve(request));
}

// Fails a successful call that changed its inputs.
RunReply ProcessWorker::without_changed_input(RunReply reply) const {
  const std::string changed = changed_input();
  if (changed.empty() || reply.status != Status::ok) return reply;
  RunReply failed;
  failed.reason = reason_of_changed_input(changed);
  failed.device = reply.device;
  return failed;
}

RunReply ProcessWorker::serve(const RunRequest& request) {
  if (std::string crash = crash_between_requests(); !crash.empty()) {
    RunReply reply;
    reply.status = Status::crashed;
    reply.reason = std::move(crash);
    return reply;
  }
  end_kept_plan();
  return finish_reply(request, ensure_started()
                                   .and_then([&] { return to_message(request); })
                                   .and_then([&](const protocol::RunRequest& message) {
                                     return ask<protocol::RunReply>(message, timeout_of(request));
                                   })
                                   .and_then([&](protocol::RunReply&& wire) {
                                     has_plan_ = request.keep_plan && wire.plan_kept;
                                     return to_reply(std::move(wire), true);
                                   }));
}

RunReply ProcessWorker::run_again(const RunRequest& request) {
  if (!has_plan_) return run(request);
  has_plan_ = false;
  return without_changed_input(
      finish_reply(request, ask<protocol::RunReply>(to_again(request), timeout_of(request))
                                .and_then([&](protocol::RunReply&& wire) {
                                  has_plan_ = request.keep_plan && wire.plan_kept;
                                  auto reply = to_reply(std::move(wire), false);
                                  if (reply) reply->same_plan = true;
                                  return reply;
                                })));
}

// Uses a request of its own, so that errors are not attributed to the next kernel.
void ProcessWorker::end_kept_plan() {
  if (!std::exchange(has_plan_, false) || process_ == nullptr) return;
  protocol::AgainRequest message;
  message.id = ++last_id_;
  message.only_end = true;
  message.timeout_s = seconds(options_.timeout);
  ask<protocol::RunReply>(message, options_.timeout);
}

RunReply ProcessWorker::finish_reply(const RunRequest& request, const Answer<RunReply>& answer) {
  RunReply reply;
  if (answer) {
    reply = *answer;
  } else {
    reply.status = answer.error().status;
    reply.reason = answer.error().reason;
  }
  // An error on a GPU may be sticky, so that every later call of the process would fail.
  const bool on_gpu = request.device.starts_with("cuda");
  if (process_ != nullptr &&
      (reply.status == Status::out_of_memory || (on_gpu && reply.status == Status::error)))
    drop_process();
  return reply;
}

}  // namespace

std::string reason_of_changed_input(const std::string& input) {
  return fmt::format("input {} was written to: a kernel must not change what it is given", input);
}

Result<std::unique_ptr<Worker>> Worker::create(WorkerOptions options) {
  auto launch = find_launch(options);
  if (!launch) return tl::unexpected(launch.error());
  auto arena = Arena::create();
  if (!arena) return tl::unexpected(arena.error());
  return std::make_unique<ProcessWorker>(std::move(options), std::move(*launch), std::move(*arena));
}

}  // namespace plumbline
