// Crash messages of a worker. A handler for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT writes one
// message with the signal and the location of the faulting address ("write 4096 bytes before out"),
// then ends the process.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumbline {

// Call once, before any provider is loaded, on the main thread, which gets an alternate signal
// stack. The message goes to `reply_descriptor`. `epilogue` (async-signal-safe, may be null) is
// called after it.
void install_crash_report(int reply_descriptor, void (*epilogue)() = nullptr);

// Sets the request id in crash messages.
void set_crash_request(std::uint64_t id);

// Crash messages name `phase` while an object of this class exists. `phase` must outlive the
// object.
class CrashPhase {
 public:
  explicit CrashPhase(const char* phase);
  ~CrashPhase();
  CrashPhase(const CrashPhase&) = delete;
  CrashPhase& operator=(const CrashPhase&) = delete;

 private:
  const char* outer_;
};

// Adds a region [data, data + bytes) that names nearby addresses in crash messages. At most 32
// regions; names are cut to 31 characters.
void watch_memory(std::string_view name, const void* data, std::uint64_t bytes, bool writable);
void forget_watched_memory();

}  // namespace plumbline
