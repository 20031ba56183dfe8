// The kernels of the providers "cuda" and "emulated": the problems that each supports, its instance
// and launch, and its declarations.
#pragma once

#include "kernels/attention/machine.h"

namespace plumbline::attention {

struct Kernel {
  const char* name;
  const char* instances;                      // Instance::kernel
  std::uint32_t accumulator = PLUMBLINE_F32;  // NONE: from the options
  bool tensor_cores = false;
  bool splits_kv = false;
  bool packs_heads = false;        // a block's rows are positions x heads of the group
  bool one_row_per_block = false;  // grid [rows, heads_q, ...] instead of blocks of rows
  bool copies_chunks = false;      // reads 16 bytes at a time: needs contiguous, aligned rows
};
std::span<const Kernel> kernels();

// Returns the instance for a problem, or nullptr with the reason.
const Instance* choose(const Kernel& kernel, const Options& options,
                       const plumbline_problem& problem, std::string& reason);
// Returns the first reason to refuse the problem, including choose()'s; empty if there is none.
std::string refuse(const Kernel& kernel, const Options& options, const plumbline_problem& problem,
                   const plumbline_device& device);
// Returns why the addresses or strides of a tensor are not supported; empty if they are.
std::string refuse_tensors(const Kernel& kernel, const plumbline_tensors& tensors);

// The division of a sample's keys among decode's splits.
struct Splits {
  int count = 1;
  int keys = 0;  // per split except the last; a multiple of every tile
};
Splits splits_of(const Kernel& kernel, const Options& options, const plumbline_problem& problem);

Grid grid_of(const Kernel& kernel, const Instance& instance, const plumbline_problem& problem,
             std::int64_t rows, const Splits& splits);
int shared_bytes_of(const Instance& instance, const plumbline_problem& problem);

// Declares the differences from a kernel that rounds only its output (provider::unrounded).
void declare_roundings(const Kernel& kernel, const Options& options,
                       const plumbline_problem& problem, int arch, plumbline_rounding_spec& spec);
plumbline_promises promises_of(const Kernel& kernel, const Options& options);

}  // namespace plumbline::attention
