// Exports the worker's memory mapping, crash report, sentinel and peak memory to Python.
#include "harness/provider/child/python_support.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include "harness/base/json.h"
#include "harness/provider/child/call.h"
#include "harness/provider/child/crash_report.h"
#include "harness/provider/child/mapping.h"
#include "harness/provider/child/peak_memory.h"
#include "harness/provider/child/process_state.h"
#include "harness/provider/child/sentinel.h"
#include "harness/provider/protocol.h"

namespace plumbline {

namespace {

int stack_source = -1;
int stack_request = 0;
// prefix of a stack line in the worker's own files: `  File "<folder>`
std::array<char, 512> own_frames{};
std::array<char, 16384> stack_text{};

std::optional<CrashPhase> current_phase;
std::unique_ptr<MappedArena> arena;
std::optional<ProcessState> state_before;

// Runs in the handler of a deadly signal: no allocation, no stdio.
void write_python_stack() {
  raise(stack_request);
  const ssize_t size = pread(stack_source, stack_text.data(), stack_text.size() - 1, 0);
  if (size <= 0) return;
  stack_text[static_cast<std::size_t>(size)] = '\0';
  // Absent if the crash is in a thread without Python.
  const char* stack = std::strstr(stack_text.data(), "Current thread");
  if (stack == nullptr) stack = stack_text.data();
  const char* const own = std::strstr(stack, own_frames.data());
  const std::size_t length =
      own != nullptr ? static_cast<std::size_t>(own - stack) : std::strlen(stack);
  for (std::size_t written = 0; written < length;) {
    const ssize_t n = write(STDERR_FILENO, stack + written, length - written);
    if (n <= 0) return;
    written += static_cast<std::size_t>(n);
  }
}

}  // namespace
}  // namespace plumbline

using namespace plumbline;

void plumbline_support_start(int reply_descriptor, int stack_descriptor, int stack_signal,
                             const char* own_folder) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // as in plumbline-worker
  stack_source = stack_descriptor;
  stack_request = stack_signal;
  std::snprintf(own_frames.data(), own_frames.size(), "  File \"%s/", own_folder);
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a crash must not lose the output of C code
  install_crash_report(reply_descriptor, write_python_stack);
}

void plumbline_support_set_request(std::uint64_t id) { set_crash_request(id); }

void plumbline_support_set_phase(const char* phase) {
  current_phase.reset();
  current_phase.emplace(phase);
}

void* plumbline_support_map(int descriptor, std::uint64_t arena_bytes, const char* tensors_json,
                            char* reason, std::size_t reason_bytes) {
  try {
    arena.reset();
    arena = std::make_unique<MappedArena>(
        descriptor, arena_bytes, parse_json(tensors_json).get<std::vector<protocol::Tensor>>());
    return arena->data(protocol::Tensor{});
  } catch (const Stop& stop) {
    std::snprintf(reason, reason_bytes, "%s", stop.reason.c_str());
  } catch (const std::exception& error) {
    std::snprintf(reason, reason_bytes, "%s", error.what());
  }
  return nullptr;
}

void plumbline_support_unmap() { arena.reset(); }

void plumbline_support_remember_state() { state_before.emplace(); }

void plumbline_support_restore_state(int allowance, char* changes, std::size_t changes_bytes) {
  const std::string changed =
      state_before ? state_before->restore(static_cast<Allowance>(allowance)) : "";
  std::snprintf(changes, changes_bytes, "%s", changed.c_str());
}

void plumbline_support_run_sentinel(std::int64_t calls) {
  for (std::int64_t i = 0; i < calls; ++i) run_sentinel();
}

std::int64_t plumbline_support_peak_memory(void (*call)()) { return measure_peak_memory(call); }
