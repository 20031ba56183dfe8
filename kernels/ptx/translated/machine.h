// What a translated kernel may ask of the machine that runs it, and what each of its threads knows.
// Included by translated kernels, which a compiler meets at run time, and by kernels/ptx/run.cc:
// the standard library alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace plumbline::ptx {

using Where = std::source_location;  // a line of the PTX

// The matrix instructions of mma.sync.m16n8kK by the formats of A and B and of C and D.
enum class Mma : std::uint8_t {
  f16_k16,
  f16_f16_k16,
  bf16_k16,
  tf32_k8,
  e4m3_k32,
  e5m2_k32,
  f16_k8,
  f16_f16_k8,
  bf16_k8,
  tf32_k4,
  e4m3_k16,
  e5m2_k16,
};

enum class Redux : std::uint8_t { add, min_u32, max_u32, min_s32, max_s32, and_, or_, xor_ };

inline constexpr std::uint64_t no_detail = ~std::uint64_t{0};

// Bytes of memory that a thread may touch: [begin, end).
struct Range {
  std::uint64_t begin = 1, end = 0;
};

struct Thread;

// Calls may suspend the thread while others run. One that the machine cannot do never returns.
struct Machine {
  void (*sync_threads)(Where);
  void (*barrier)(int id, int threads, Where);  // bar.sync id, threads
  void (*barrier_arrive)(int id, int threads, Where);
  void (*sync_warp)(unsigned mask, Where);
  std::uint32_t (*shuffle)(unsigned mask, std::uint32_t value, unsigned from_lane, Where);
  unsigned (*ballot)(unsigned mask, bool predicate, Where);
  unsigned (*match_any)(unsigned mask, std::uint64_t value, Where);
  unsigned (*match_all)(unsigned mask, std::uint64_t value, Where);  // 0: they are not all equal
  std::uint32_t (*redux)(Redux, unsigned mask, std::uint32_t value, Where);
  // 1, 2 or 4 matrices; the address of shared memory as the process sees it
  void (*ldmatrix)(int count, bool transposed, std::uint32_t* r, std::uint64_t row, Where);
  void (*stmatrix)(int count, bool transposed, const std::uint32_t* r, std::uint64_t row, Where);
  void (*mma)(Mma, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, Where);
  void (*cp_async)(std::uint64_t shared, std::uint64_t global, std::size_t bytes,
                   std::size_t source_bytes, Where);
  void (*cp_async_commit)();
  void (*cp_async_wait)(int groups, Where);
  // Lets the other lanes of the warp come as far as this one, where they run in lockstep.
  void (*converge)();
  // The special function unit (kernels/ptx/special_functions.h).
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
  std::uint64_t shared;        // address of the block's shared memory
  std::uint32_t shared_bytes;  // static and dynamic
  bool lockstep;               // see Machine::converge
  bool checked;                // accesses to global memory are held against allocations
  std::uint64_t module;        // address of the module's variables (.global, .const)
  const void* launch;          // the machine's own
};

// What a library of translated PTX exports under the kernel's name.
using Entry = void (*)(const Thread& thread, const std::byte* parameters);

}  // namespace plumbline::ptx
