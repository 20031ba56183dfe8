// The last words of a worker: which deadly signal came, and where the faulting address lies. A
// handler for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT writes one crash message ("write 4096
// bytes behind out"), then ends the process.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumbline {

// Once, before any provider is loaded; on the main thread, which gets an alternate signal stack.
// The message goes to `reply_descriptor`; `epilogue` (async-signal-safe, may be null) is called
// behind it.
void install_crash_report(int reply_descriptor, void (*epilogue)() = nullptr);

// The request that a crash message answers.
void set_crash_request(std::uint64_t id);

// Names what the process is doing while the object lives. `phase` must outlive it.
class CrashPhase {
 public:
  explicit CrashPhase(const char* phase);
  ~CrashPhase();
  CrashPhase(const CrashPhase&) = delete;
  CrashPhase& operator=(const CrashPhase&) = delete;

 private:
  const char* outer_;
};

// Memory that addresses are described by: [data, data + bytes). At most 32 of them; names of at
// most 31 characters.
void watch_memory(std::string_view name, const void* data, std::uint64_t bytes, bool writable);
void forget_watched_memory();

}  // namespace plumbline
