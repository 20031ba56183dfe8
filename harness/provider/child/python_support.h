// Code that the Python worker (python/worker) shares with plumbline-worker: a small library with C
// entry points, loaded by ctypes in _plumbline_worker/support.py. Only one thread calls it.
#pragma once

#include <cstddef>
#include <cstdint>

#define PLUMBLINE_SUPPORT_EXPORT extern "C" __attribute__((visibility("default")))

// Installs plumbline-worker's crash report on `reply_descriptor`. After its message the process
// raises `stack_signal`, on which faulthandler writes the Python stack to `stack_descriptor` (a
// readable file). The frames before the first one in `own_folder` are copied to stderr. Also makes
// stdout line-buffered.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_start(int reply_descriptor, int stack_descriptor,
                                                      int stack_signal, const char* own_folder);
// Set the request and the phase that crash messages name. `phase` must stay valid.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_set_request(std::uint64_t id);
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_set_phase(const char* phase);

// Maps the tensors of a run request (a JSON array of protocol::Tensor) as mapping.h does. Returns
// the address of byte 0 of the arena, or null and a reason. Replaces an earlier mapping.
PLUMBLINE_SUPPORT_EXPORT void* plumbline_support_map(int descriptor, std::uint64_t arena_bytes,
                                                     const char* tensors_json, char* reason,
                                                     std::size_t reason_bytes);
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_unmap();

// Call these before and after a call, in its thread: the first records the state of
// process_state.h, the second restores it. `allowance` is an Allowance as a number. `changes`
// receives the result of ProcessState::restore.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_remember_state();
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_restore_state(int allowance, char* changes,
                                                              std::size_t changes_bytes);

// Runs plumbline-worker's sentinel `calls` times.
PLUMBLINE_SUPPORT_EXPORT void plumbline_support_run_sentinel(std::int64_t calls);
// Returns measure_peak_memory(call).
PLUMBLINE_SUPPORT_EXPORT std::int64_t plumbline_support_peak_memory(void (*call)());
