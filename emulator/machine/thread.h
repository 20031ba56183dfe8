// The calls of emulated threads; emulator/machine/simt.h gives them CUDA's names.
//
// The threads of a block are fibers of one OS thread. A call may suspend its fiber; other fibers
// run, and the call returns after the event that it waits for. A call with undefined behaviour
// never returns: it ends the block, and launch() returns the reason. Examples are a missing lane,
// an address outside of shared memory, and an instruction that the architecture lacks. `where` is
// the caller's source location.
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
  const Fault* fault = nullptr;  // changes the threads' calls; nullptr: none
  Switching switching{};
};

struct ThreadContext {
  Dim3 index;  // threadIdx
  const BlockContext* block = nullptr;
  unsigned lane = 0;             // within the warp
  Exchange* exchange = nullptr;  // of the warp (exchange.h)
  Fiber fiber;
};

// The running thread. A fiber never moves to another OS thread, so a compiler may keep the
// variable's address, but not its value, across a call. The variable is in the static TLS block, so
// a read is one load without a call, even in a library opened at run time.
extern constinit thread_local ThreadContext* current __attribute__((tls_model("initial-exec")));

const char* name(Call call);  // as in the source: "__syncthreads"

// Ends the block with the error `what` of the running thread, at `where`.
[[noreturn]] void fail_at(std::string what, Where where);

void sync_threads(Where where);
void sync_warp(unsigned mask, Where where);
// Barrier 1 to 15 (0 to 15 if barriers are matched by id). `threads` (a multiple of 32) counts
// those that sync and those that arrive. Only `sync` waits.
void named_barrier(Call call, int id, int threads, Where where);

// `operand`: source lane, distance, or the mask of xor. Segments of `width` lanes, as in shfl.sync.
std::uint64_t shuffle(Call call, unsigned mask, std::uint64_t value, int operand, int width,
                      Where where);
// Returns what `combined` gives this lane (redux, match).
std::uint64_t combine(Call call, unsigned mask, std::uint64_t value, Combine combined, Where where);

// In lockstep (launch.h): waits until every other lane of the warp waits or is here. For code whose
// lanes exchange data through memory without __syncwarp.
void converge();

// Copies 16 bytes. The destination is poisoned now; the source is read when a wait requires the
// copy.
void cp_async_16(void* shared, const void* global, bool valid, Where where);
// Copies 4, 8 or 16 bytes. Only the first `source_bytes` are read; the rest become zeros.
void cp_async(void* shared, const void* global, std::size_t bytes, std::size_t source_bytes,
              Where where);
void cp_async_commit();
void cp_async_wait(int groups, Where where);

// Loads or stores one, two or four 8 x 8 matrices of 16-bit elements, as `call` says, one register
// each. Lane 8 i + j names row j of matrix i; rows of further lanes are ignored.
void ldmatrix(Call call, std::uint32_t* r, const void* row, Where where);
void stmatrix(Call call, const std::uint32_t* r, void* row, Where where);
// d = a b + d, with the instruction's registers (registers() in tensor_core.h): 4 of a and 2 of b,
// or half as many with half of K; d has 4 (fp32) or 2 (fp16).
void mma(Call call, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, Where where);

}  // namespace plumbline::emulator
