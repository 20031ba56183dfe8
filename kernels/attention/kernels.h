// The kernels of the providers "cuda" and "emulated": what each takes, runs and declares. It says
// which instance serves a problem, and how it is launched.
#pragma once

#include "kernels/attention/machine.h"

namespace plumbline::attention {

struct Kernel {
  const char* name;
  const char* instances;                      // Instance::kernel
  std::uint32_t accumulator = PLUMBLINE_F32;  // NONE: as the options say
  bool tensor_cores = false;
  bool splits_kv = false;
  bool packs_heads = false;    // rows of a block: positions x heads of the group
  bool row_a_block = false;    // grid [rows, heads_q, ...] instead of blocks of a sample
  bool copies_chunks = false;  // 16 bytes at a time: needs contiguous, aligned rows
};
std::span<const Kernel> kernels();

// The instance for a problem, or nullptr with the reason it has none.
const Instance* choose(const Kernel& kernel, const Options& options,
                       const plumbline_problem& problem, std::string& reason);
// Everything else a kernel cannot take, in words; empty: it takes the problem.
std::string refuse(const Kernel& kernel, const Options& options, const plumbline_problem& problem,
                   const plumbline_device& device);
// Why the addresses or strides of a tensor do not suit; empty: they do.
std::string refuse_tensors(const Kernel& kernel, const plumbline_tensors& tensors);

// How decode cuts the keys of a sample.
struct Splits {
  int count = 1;
  int keys = 0;  // of each but the last, a multiple of every tile
};
Splits splits_of(const Kernel& kernel, const Options& options, const plumbline_problem& problem);

Grid grid_of(const Kernel& kernel, const Instance& instance, const plumbline_problem& problem,
             std::int64_t rows, const Splits& splits);
int shared_bytes_of(const Instance& instance, const plumbline_problem& problem);

// What differs from a kernel that rounds its output alone (provider::unrounded).
void declare_roundings(const Kernel& kernel, const Options& options,
                       const plumbline_problem& problem, int arch, plumbline_rounding_spec& spec);
plumbline_promises promises_of(const Kernel& kernel, const Options& options);

}  // namespace plumbline::attention
