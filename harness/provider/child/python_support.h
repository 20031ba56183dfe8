// What the Python worker shares with plumbline-worker: a small library that ctypes loads. Its entry
// points are C; the worker is python/worker. One thread calls it. The Python side is
// _plumbline_worker/support.py.
#pragma once

#include <cstddef>
#include <cstdint>

#define PLUMBLINE_SUPPORT_EXPORT extern "C" __attribute__((visibility("default")))

// Installs the crash report of plumbline-worker, with its message on `reply_descriptor`. Behind it
// the process raises `stack_signal`, on which faulthandler writes the Python stack to
// `stack_descriptor` (a file that can be read back); the part above the frames of files in
// `own_folder` goes to stderr. stdout becomes line-buffered.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_start(int reply_descriptor, int stack_descriptor,
                                                      int stack_signal, const char* own_folder);
// The request, and what the process is doing, as a crash message names them. `phase` must stay
// valid.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_set_request(std::uint64_t id);
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_set_phase(const char* phase);

// Maps the tensors of a run request (a JSON array of protocol::Tensor) out of the arena, as
// mapping.h does, and returns the address at which byte 0 of the arena would lie; null and a reason
// where that fails. One mapping at a time.
PLUMBLINE_SUPPORT_EXPORT void* plumbline_support_map(int descriptor, std::uint64_t arena_bytes,
                                                     const char* tensors_json, char* reason,
                                                     std::size_t reason_bytes);
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_unmap();

// Before and behind a call of the thread: remembers the state that process_state.h names, and puts
// back what differs. `allowance` is an Allowance as a number. `changes` gets what differed and must
// not, as ProcessState::restore says, "" for nothing.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_remember_state();
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_restore_state(int allowance, char* changes,
                                                              std::size_t changes_bytes);

// The very sentinel of plumbline-worker, that many times.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_run_sentinel(std::int64_t calls);
// measure_peak_memory() of a call.
PLUMBLINE_SUPPORT_EXPORT std::int64_t plumbline_support_peak_memory(void (*call)());
