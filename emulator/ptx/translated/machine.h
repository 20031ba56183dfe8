// What a translated kernel may ask of the machine that runs it, and what each of its threads knows.
// Included by translated kernels, which a compiler meets at run time, and by emulator/ptx/run.cc:
// the standard library, and what of the emulator is like this.
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

// The bits of a global address that are the process's address. Those above are a tag: a pointer
// keeps it through arithmetic, and it reaches only memory that was added under the same tag.
inline constexpr std::uint64_t address_bits = (std::uint64_t{1} << 48) - 1;

// Bytes of memory that a thread may touch: [begin, end), with their tag.
struct Range {
  std::uint64_t begin = 1, end = 0;
};

struct Thread;

// A call that the machine cannot do never returns.
struct Machine {
  // What a thread waits in. Answers the stack to switch to (Thread::stack_pointer); nullptr: the
  // thread goes on.
  void* (*arrive)(Call, unsigned mask, Where);  // its part is in the exchange
  void* (*sync_threads)(Where);
  void* (*barrier)(Call, int id, int threads, Where);
  void* (*sync_warp)(unsigned mask, Where);
  // Lets the other lanes of the warp come as far as this one, where they run in lockstep.
  void* (*converge)();
  // Ends the launch where the row of ldmatrix or stmatrix, an address of the process, is none.
  void (*check_row)(Call, std::uint64_t row, Where);
  // Ends the launch: a shuffle reads a lane that is not in the mask.
  void (*unmasked)(unsigned mask, unsigned from_lane, Where);
  // Exchange::combined of match, and of redux by operation.
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
  // The allocation that holds [address, address + bytes) of global memory; without one the launch
  // ends with the address.
  Range (*allocation)(const Thread&, std::uint64_t address, std::size_t bytes, Where);
  // Ends the launch with `what`, and the number behind it unless it is no_detail. clang does not
  // take [[noreturn]] of a pointer.
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
  void** stack_pointer;          // where a switch leaves this thread's
  std::uint64_t shared;          // address of the block's shared memory
  std::uint32_t shared_bytes;    // static and dynamic
  bool lockstep;                 // see Machine::converge
  bool checked;                  // accesses to global memory are held against allocations
  std::uint64_t module;          // address of the module's variables (.global, .const)
  Range* sites;                  // what each access to global memory met last, one for each
  const void* launch;            // the machine's own
};

// What a library of translated PTX exports under the kernel's name.
using Entry = void (*)(const Thread& thread, const std::byte* parameters);

}  // namespace plumbline::ptx
