// The machine as a translated kernel sees it, and the state of each thread. Included by translated
// kernels and by emulator/ptx/run.cc. Uses only the standard library and headers of the emulator
// that do the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "emulator/machine/exchange.h"

namespace plumbline::ptx {

using Where = std::source_location;  // a line of the PTX

using emulator::Call;
enum class Redux : std::uint8_t { add, min_u32, max_u32, min_s32, max_s32, and_, or_, xor_ };

inline constexpr std::uint64_t no_detail = ~std::uint64_t{0};

// The bits of a global address that hold the process's address. The bits above are a tag, which a
// pointer keeps through arithmetic. A pointer reaches only memory that was added under its tag.
inline constexpr std::uint64_t address_bits = (std::uint64_t{1} << 48) - 1;

// Memory that a thread may access: [begin, end), with the tag.
struct Range {
  std::uint64_t begin = 1, end = 0;
};

struct Thread;

// A call that the machine cannot execute never returns.
struct Machine {
  // Calls that wait. They return the stack to switch to (Thread::stack_pointer); nullptr: the
  // thread continues.
  void* (*arrive)(Call, unsigned mask, Where);  // the lane's part must be in the exchange
  void* (*sync_threads)(Where);
  void* (*barrier)(Call, int id, int threads, Where);
  void* (*sync_warp)(unsigned mask, Where);
  // In lockstep: lets the other lanes of the warp come as far as this one.
  void* (*converge)();
  // Ends the launch if `row`, an address of the process, is not valid for ldmatrix or stmatrix.
  void (*check_row)(Call, std::uint64_t row, Where);
  // Ends the launch, because a shuffle reads a lane that is not in the mask.
  void (*unmasked)(unsigned mask, unsigned from_lane, Where);
  // Functions for Exchange::combined: `same_value` for match, `redux` (indexed by Redux) for redux.
  emulator::Combine same_value, redux[8];
  void (*cp_async)(std::uint64_t shared, std::uint64_t global, std::size_t bytes,
                   std::size_t source_bytes, Where);
  void (*cp_async_commit)();
  void (*cp_async_wait)(int groups, Where);
  // The special function unit (emulator/ptx/special_functions.h).
  std::uint32_t (*ex2)(std::uint32_t);
  std::uint32_t (*lg2)(std::uint32_t);
  std::uint32_t (*rcp)(std::uint32_t);
  std::uint32_t (*rsqrt)(std::uint32_t);
  std::uint32_t (*sqrt)(std::uint32_t);
  std::uint32_t (*sin)(std::uint32_t);
  std::uint32_t (*cos)(std::uint32_t);
  std::uint32_t (*tanh)(std::uint32_t);
  // Returns the allocation that contains [address, address + bytes) of global memory. Ends the
  // launch if there is none.
  Range (*allocation)(const Thread&, std::uint64_t address, std::size_t bytes, Where);
  // Ends the launch with `what`, followed by `detail` unless it is no_detail. clang does not accept
  // [[noreturn]] for a pointer.
  void (*fail)(const char* what, std::uint64_t detail, Where) __attribute__((noreturn));
};

struct Index {
  std::uint32_t x, y, z;
};

struct Thread {
  const Machine* machine;
  Index tid, ntid, ctaid, nctaid;
  std::uint32_t lane, warp;
  emulator::Exchange* exchange;  // of the warp
  void** stack_pointer;          // where a switch stores this thread's stack pointer
  std::uint64_t shared;          // address of the block's shared memory
  std::uint32_t shared_bytes;    // static and dynamic
  bool lockstep;                 // see Machine::converge
  bool checked;                  // accesses to global memory are checked against allocations
  std::uint64_t module;          // address of the module's variables (.global, .const)
  Range* sites;                  // the last allocation of each access instruction
  const void* launch;            // private to the machine
};

// The function that a library of translated PTX exports under the kernel's name.
using Entry = void (*)(const Thread& thread, const std::byte* parameters);

}  // namespace plumbline::ptx
