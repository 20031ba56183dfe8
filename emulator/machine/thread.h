// The calls of one emulated thread: the machine behind emulator/machine/simt.h.
//
// The threads of a block are fibers of one OS thread. A call here may suspend its fiber; others
// run, and it returns when what it waits for has happened. A call that CUDA does not define (a lane
// is missing, an address lies outside of shared memory, an instruction that the architecture lacks)
// never returns: it ends the block, and launch() answers with the reason. `where` is the caller's
// place in the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include "emulator/machine/exchange.h"
#include "emulator/machine/fiber.h"

namespace plumbline::emulator {

using Where = std::source_location;

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

class Fault;  // fault.h

struct BlockContext {
  Dim3 index;       // blockIdx
  Dim3 dimensions;  // blockDim
  Dim3 grid;        // gridDim
  std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  const Fault* fault = nullptr;  // changes the threads' calls; nullptr: nothing does
  Switching switching{};
};

struct ThreadContext {
  Dim3 index;  // threadIdx
  const BlockContext* block = nullptr;
  unsigned lane = 0;             // within the warp
  Exchange* exchange = nullptr;  // of the warp (exchange.h)
  Fiber fiber;
};

// The running fiber's. A fiber never moves to another OS thread, so a compiler may keep the
// variable's address, if not its value, across a call. Within the static TLS block: one load, no
// call, also in a library opened at run time.
extern constinit thread_local ThreadContext* current __attribute__((tls_model("initial-exec")));

const char* name(Call call);  // as the source spells it: "__syncthreads"

// Ends the block: the running thread did what `what` says, at `where`.
[[noreturn]] void fail_at(std::string what, Where where);

void sync_threads(Where where);
void sync_warp(unsigned mask, Where where);
// Barrier 1 to 15 (0 to 15 where barriers are matched by id); `threads` (a multiple of 32) counts
// those that sync and those that arrive. Only `sync` waits.
void named_barrier(Call call, int id, int threads, Where where);

// `operand`: source lane, distance, or the mask of xor. Segments of `width` lanes as shfl.sync has
// them.
std::uint64_t shuffle(Call call, unsigned mask, std::uint64_t value, int operand, int width,
                      Where where);
// What `combined` answers for this lane: redux and match.
std::uint64_t combine(Call call, unsigned mask, std::uint64_t value, Combine combined, Where where);

// Where lanes run in lockstep (launch.h): waits for the other lanes of the warp until each of them
// waits, too, or is here. For code whose lanes exchange data through memory without __syncwarp.
void converge();

// The destination is poisoned now; the source is read when a wait forces the copy's group.
void cp_async_16(void* shared, const void* global, bool valid, Where where);
// The same of 4, 8 or 16 bytes, of which the first `source_bytes` are read; zeros behind them.
void cp_async(void* shared, const void* global, std::size_t bytes, std::size_t source_bytes,
              Where where);
void cp_async_commit();
void cp_async_wait(int groups, Where where);

// One, two or four 8 x 8 matrices of 16-bit elements, as `call` says, a register each. Lane 8 i + j
// names row j of matrix i; what the lanes beyond name is not read.
void ldmatrix(Call call, std::uint32_t* r, const void* row, Where where);
void stmatrix(Call call, const std::uint32_t* r, void* row, Where where);
// d = a b + d. Registers of a, b and d: those of the instruction (registers() in tensor_core.h), 4,
// 2, and 4 (fp32) or 2 (fp16) with the whole of K.
void mma(Call call, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, Where where);

}  // namespace plumbline::emulator
