#include "harness/provider/worker.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>

#include "harness/provider/description.h"
#include "harness/provider/device_name.h"
#include "harness/provider/process.h"
#include "harness/provider/protocol.h"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

// Loading a GPU library takes seconds whatever the deadline of a case is.
constexpr std::chrono::milliseconds loading_timeout{60'000};

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

// Why a request has no answer.
struct Trouble {
  Status status = Status::error;
  std::string reason;
  std::string remedy;
};

Result<fs::path> find_executable(const fs::path& wanted) {
  std::error_code ignored;
  if (!wanted.empty()) {
    if (fs::exists(wanted, ignored)) return fs::absolute(wanted);
    return fail(fmt::format("{}: no such worker program", wanted.string()));
  }
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> places{beside / "plumbline-worker", beside.parent_path() / "libexec" / "plumbline" / "plumbline-worker"};
  if (const char* variable = std::getenv("PLUMBLINE_WORKER"); variable != nullptr && *variable != '\0') places.emplace_back(variable);
  for (const fs::path& place : places) {
    if (fs::exists(place, ignored)) return place;
  }
  return fail(fmt::format("plumbline-worker is neither beside this program ({}) nor in ../libexec/plumbline", beside.string()),
              "set PLUMBLINE_WORKER to its path");
}

// "path/to/lib.so:options": the first ':' behind ".so", or the first of all where there is no ".so" (providers of other workers).
std::pair<std::string, std::string> split_provider(const std::string& provider) {
  const std::size_t suffix = provider.find(".so:");
  const std::size_t colon = suffix != std::string::npos ? suffix + 3 : provider.ends_with(".so") ? std::string::npos : provider.find(':');
  if (colon == std::string::npos) return {provider, ""};
  return {provider.substr(0, colon), provider.substr(colon + 1)};
}

plumbline_problem to_wire(const Geometry& geometry) {
  const Problem& p = geometry.problem();
  plumbline_problem wire{};
  wire.struct_size = sizeof wire;
  wire.dtype_q = static_cast<std::uint32_t>(p.dtype);
  wire.dtype_kv = static_cast<std::uint32_t>(p.kv());
  wire.dtype_out = static_cast<std::uint32_t>(p.out());
  wire.layout = static_cast<std::uint32_t>(p.layout);
  wire.mask = static_cast<std::uint32_t>(p.mask);
  wire.padding = static_cast<std::uint32_t>(p.padding);
  wire.lse_wanted = p.lse ? 1 : 0;
  wire.batch = p.batch;
  wire.heads_q = p.heads_q;
  wire.heads_kv = p.heads_kv;
  wire.seq_q = p.seq_q;
  wire.seq_kv = p.seq_kv;
  wire.head_dim_qk = p.head_dim_qk;
  wire.head_dim_vo = p.head_dim_vo;
  wire.total_q = geometry.total_q();
  wire.total_kv = geometry.total_kv();
  wire.page_size = p.is_paged() ? p.page_size : 0;
  wire.page_count = p.is_paged() ? geometry.page_count() : 0;
  wire.window_left = p.window_left;
  wire.window_right = p.window_right;
  wire.scale = p.softmax_scale();
  wire.softcap = p.softcap;
  return wire;
}

protocol::Tensor to_wire(const Slot& slot, const TensorShape& shape) {
  protocol::Tensor tensor;
  tensor.name = slot.name;
  tensor.dtype = static_cast<std::uint32_t>(shape.dtype);
  tensor.extent.assign(shape.extent.begin(), shape.extent.begin() + shape.rank);
  tensor.stride.assign(shape.stride.begin(), shape.stride.begin() + shape.rank);
  tensor.offset = slot.offset;
  tensor.bytes = slot.bytes;
  tensor.page_begin = slot.page_begin;
  tensor.page_end = slot.page_end;
  tensor.access = slot.access == Access::write ? "write" : "read";
  return tensor;
}

TensorShape index_shape(std::int64_t rows, std::int64_t columns = 0) {
  TensorShape shape;
  shape.dtype = DType::i32;
  shape.rank = columns > 0 ? 2 : 1;
  shape.extent = {rows, columns, 0, 0};
  shape.stride = {columns > 0 ? columns : 1, columns > 0 ? 1 : 0, 0, 0};
  return shape;
}

std::vector<protocol::Tensor> to_wire(const RunRequest& request, const Arena& arena) {
  const Geometry& g = *request.geometry;
  const std::int64_t batch = g.problem().batch;
  const std::array<std::pair<int, TensorShape>, 10> tensors{{{request.q, g.q},
                                                             {request.k, g.k},
                                                             {request.v, g.v},
                                                             {request.out, g.out},
                                                             {request.lse, g.lse},
                                                             {request.cu_seqlens_q, index_shape(batch + 1)},
                                                             {request.cu_seqlens_kv, index_shape(batch + 1)},
                                                             {request.seqlens_q, index_shape(batch)},
                                                             {request.seqlens_kv, index_shape(batch)},
                                                             {request.page_table, index_shape(batch, g.pages_per_sample)}}};
  std::vector<protocol::Tensor> wire;
  for (const auto& [slot, shape] : tensors) {
    if (slot >= 0) wire.push_back(to_wire(arena.slot(static_cast<std::size_t>(slot)), shape));
  }
  return wire;
}

// The end of a log in one line, to be put behind a reason.
std::string quote(const std::string& log) {
  constexpr std::size_t longest = 300;
  std::string line;
  for (const char c : log.substr(log.size() - std::min(log.size(), longest))) {
    if (static_cast<unsigned char>(c) >= ' ') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line.empty() ? "" : fmt::format("; it last wrote: {}", line);
}

std::string signal_text(int number) {
  const char* const abbreviation = sigabbrev_np(number);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation) : fmt::format("signal {}", number);
}

// Whether a line is the crash message of a worker's signal handler; if so, what it says.
std::optional<std::string> crash_text(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("reply", nlohmann::json()) != "crash") return std::nullopt;
  try {
    const auto crash = json.get<protocol::CrashReply>();
    return fmt::format("{} in {}{}{}", crash.signal, crash.phase, crash.where.empty() ? "" : ": ", crash.where);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Trouble explain(const Death& death, const std::string& log, std::chrono::milliseconds timeout) {
  const std::string said = quote(log);
  if (death.deadline) return {Status::timeout, fmt::format("no answer within {} ms{}", timeout.count(), said), ""};
  if (const auto crash = crash_text(death.last_words)) return {Status::crashed, *crash + said, ""};
  if (death.mute) return {Status::crashed, fmt::format("closed its reply channel{}", said), ""};
  if (!death.by_signal) {
    return {Status::crashed, fmt::format("ended itself with exit status {} in the middle of a request{}", death.code, said), ""};
  }
  // We did not send it, so the system did.
  if (death.code == SIGKILL)
    return {Status::out_of_memory, fmt::format("killed by SIGKILL, as the system does when memory runs out{}", said), ""};
  return {Status::crashed, fmt::format("killed by {}{}", signal_text(death.code), said), ""};
}

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(WorkerOptions options, Arena arena) : options_(std::move(options)), arena_(std::move(arena)) {}

  Result<Hello> hello() override;
  Arena& arena() override { return arena_; }
  RunReply run(const RunRequest& request) override;
  std::string log_tail() override { return process_ != nullptr ? process_->log_tail() : last_log_; }

 private:
  template <class Value>
  using Answer = tl::expected<Value, Trouble>;

  Answer<void> ensure_started();
  Answer<void> greet();
  Answer<protocol::RunRequest> to_message(const RunRequest& request);
  // Sends a message; the reply has the right kind and id, or the process is gone.
  template <class Reply, class Request>
  Answer<Reply> ask(const Request& request, std::chrono::milliseconds timeout);
  Answer<RunReply> to_reply(protocol::RunReply&& wire) const;
  void drop_process();

  WorkerOptions options_;
  Arena arena_;
  std::unique_ptr<WorkerProcess> process_;
  Hello hello_;
  std::uint64_t last_id_ = 0;
  std::string last_log_;
};

void ProcessWorker::drop_process() {
  last_log_ = process_->log_tail();
  process_.reset();
}

template <class Reply, class Request>
ProcessWorker::Answer<Reply> ProcessWorker::ask(const Request& request, std::chrono::milliseconds timeout) {
  tl::expected<std::string, Death> line = process_->exchange(protocol::to_line(request), timeout);
  if (line && crash_text(*line)) {
    Death death = process_->wait_for_end();
    death.last_words = *line;
    line = tl::unexpected(std::move(death));
  }
  if (!line) {
    Trouble trouble = explain(line.error(), process_->log_tail(), timeout);
    drop_process();
    return tl::unexpected(std::move(trouble));
  }
  try {
    auto reply = nlohmann::json::parse(*line).get<Reply>();
    if (reply.reply == Reply{}.reply && reply.id == request.id) return reply;
  } catch (const nlohmann::json::exception&) {
  }
  drop_process();
  return tl::unexpected(Trouble{Status::error, fmt::format("the worker wrote what is no reply: {}", line->substr(0, 200)), ""});
}

ProcessWorker::Answer<void> ProcessWorker::ensure_started() {
  if (process_ != nullptr && process_->alive()) return {};
  process_.reset();
  auto process = WorkerProcess::start(options_.executable, arena_.descriptor());
  if (!process) return tl::unexpected(Trouble{Status::error, process.error().front().message, process.error().front().remedy});
  process_ = std::move(*process);
  return greet();
}

ProcessWorker::Answer<void> ProcessWorker::greet() {
  protocol::HelloRequest request;
  request.id = ++last_id_;
  std::tie(request.provider, request.options) = split_provider(options_.provider);
  // A path without '/' would be looked up in the system's library folders.
  std::error_code ignored;
  if (fs::exists(request.provider, ignored)) request.provider = fs::absolute(request.provider).string();
  request.memory_limit_bytes = options_.memory_limit_bytes;
  const auto timeout = std::max(options_.timeout, loading_timeout);
  request.timeout_s = seconds(timeout);
  auto reply = ask<protocol::HelloReply>(request, timeout);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  if (!reply->error.empty()) {
    drop_process();
    return tl::unexpected(Trouble{Status::error, reply->error, reply->remedy});
  }
  if (reply->protocol != protocol::protocol_version || reply->abi != PLUMBLINE_ABI_VERSION) {
    drop_process();
    return tl::unexpected(Trouble{Status::error,
                                  fmt::format("the worker speaks protocol {} and ABI {}, this plumbline protocol {} and ABI {}",
                                              reply->protocol, reply->abi, protocol::protocol_version, PLUMBLINE_ABI_VERSION),
                                  "use the plumbline-worker that was built with this plumbline"});
  }
  hello_ = {reply->provider, reply->version, {}};
  for (const std::string& kernel : reply->kernels) hello_.kernels.push_back(reply->provider + "/" + kernel);
  return {};
}

Result<Hello> ProcessWorker::hello() {
  if (auto started = ensure_started(); !started) {
    const Trouble& trouble = started.error();
    return fail(trouble.status == Status::error
                    ? trouble.reason
                    : fmt::format("provider {}: {}: {}", options_.provider, name(trouble.status), trouble.reason),
                trouble.remedy);
  }
  return hello_;
}

ProcessWorker::Answer<protocol::RunRequest> ProcessWorker::to_message(const RunRequest& request) {
  assert(request.geometry != nullptr);
  auto device = parse_device(request.device);
  if (!device) return tl::unexpected(Trouble{Status::error, device.error().front().message, ""});
  if (!request.kernel.starts_with(hello_.provider + "/")) {
    return tl::unexpected(Trouble{Status::error, fmt::format("{} is no kernel of provider {}", request.kernel, hello_.provider), ""});
  }
  protocol::RunRequest message;
  message.id = ++last_id_;
  message.kernel = request.kernel.substr(hello_.provider.size() + 1);
  message.device = std::move(*device);
  message.problem = to_wire(*request.geometry);
  message.arena_bytes = arena_.size_bytes();
  message.tensors = to_wire(request, arena_);
  message.timed_repetitions = request.timed_repetitions;
  message.timeout_s = seconds(options_.timeout);
  return message;
}

ProcessWorker::Answer<RunReply> ProcessWorker::to_reply(protocol::RunReply&& wire) const {
  const auto status = parse_status(wire.status);
  if (!status)
    return tl::unexpected(Trouble{Status::error, fmt::format("the worker answered with the unknown status \"{}\"", wire.status), ""});
  RunReply reply;
  reply.status = *status;
  reply.reason = std::move(wire.reason);
  reply.workspace_bytes = wire.workspace_bytes;
  reply.workspace_fault = std::move(wire.workspace_fault);
  reply.timing = {std::move(wire.kernel_ns), std::move(wire.sentinel_ns)};
  if (reply.status != Status::ok) {
    if (reply.reason.empty()) reply.reason = "the worker gave no reason";
    return reply;
  }
  try {
    const auto description = wire.description.get<plumbline_description>();
    if (std::string fault = description_fault(description); !fault.empty()) return tl::unexpected(Trouble{Status::error, fault, ""});
    reply.description = to_description(description);
  } catch (const nlohmann::json::exception& e) {
    return tl::unexpected(Trouble{Status::error, fmt::format("description: {}", e.what()), ""});
  }
  return reply;
}

RunReply ProcessWorker::run(const RunRequest& request) {
  const auto answer = ensure_started()
                          .and_then([&] { return to_message(request); })
                          .and_then([&](const protocol::RunRequest& message) { return ask<protocol::RunReply>(message, options_.timeout); })
                          .and_then([&](protocol::RunReply&& wire) { return to_reply(std::move(wire)); });
  RunReply reply;
  if (answer) {
    reply = *answer;
  } else {
    reply.status = answer.error().status;
    reply.reason = answer.error().reason;
  }
  // An error on a GPU may be sticky: every later call of the process would fail with it.
  const bool on_gpu = request.device.starts_with("cuda");
  if (process_ != nullptr && (reply.status == Status::out_of_memory || (on_gpu && reply.status == Status::error))) drop_process();
  return reply;
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::create(WorkerOptions options) {
  auto executable = find_executable(options.executable);
  if (!executable) return tl::unexpected(executable.error());
  options.executable = *executable;
  auto arena = Arena::create();
  if (!arena) return tl::unexpected(arena.error());
  return std::make_unique<ProcessWorker>(std::move(options), std::move(*arena));
}

}  // namespace plumbline
