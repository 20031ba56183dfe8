// Bugs and legal variants of the tensor-core kernels, each with one change. Each computes what
// prefill_mma or decode_mma would compute with that change. plumbline_mma_mutants.toml describes
// them.
#pragma once

#include <span>

#include "kernels/mutants/tensor_core/thread_position.h"

namespace plumbline::mutants {

// The replacement of one call; the members are those of emulator::Fault. nullptr: unchanged.
struct KernelChange {
  const char* name = nullptr;
  const char* options = "";      // for the kernels (kernels/attention/options.h)
  const char* kernel = nullptr;  // the kernel to run; nullptr: decode_mma or prefill_mma
  bool (*leaves_out)(const ThreadPosition&, emulator::Call) = nullptr;
  int (*wait)(const ThreadPosition&, int groups) = nullptr;
  emulator::Fault::Copy (*copy)(const ThreadPosition&, bool valid) = nullptr;
  void (*landed)(const Tiles&, std::byte* shared) = nullptr;
  emulator::Call (*load)(const ThreadPosition&, emulator::Call, std::size_t& row) = nullptr;
  void (*loaded)(const ThreadPosition&, std::uint32_t* r) = nullptr;
  emulator::Call (*shuffle)(const ThreadPosition&, emulator::Call, int& operand) = nullptr;
  bool (*multiply)(ThreadPosition&, emulator::Call&, std::uint32_t* a, std::uint32_t* b,
                   std::uint32_t* c) = nullptr;
  void (*product)(const ThreadPosition&, std::uint32_t* d) = nullptr;
  bool (*computes)(const ThreadPosition&, emulator::Arch, const emulator::MmaInstruction&,
                   std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                   std::uint32_t* d) = nullptr;
};

// Returns all changes; the first is the correct kernel.
std::span<const KernelChange> kernel_changes();

// Functions for KernelChange::computes, implemented in arithmetic.cc. A warp's registers are in the
// order of mma_sync.
bool multiply_in_fp16(const ThreadPosition&, emulator::Arch, const emulator::MmaInstruction&,
                      std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d);
template <int FractionBits>
bool multiply_with_bits(const ThreadPosition&, emulator::Arch, const emulator::MmaInstruction&,
                        std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d);
bool multiply_as_sm_80(const ThreadPosition&, emulator::Arch, const emulator::MmaInstruction&,
                       std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                       std::uint32_t* d);
bool multiply_in_halves(const ThreadPosition&, emulator::Arch, const emulator::MmaInstruction&,
                        std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d);
// Multiplies P by V in tf32 with V's keys t and t + 4 in the slots of P's keys 2t and 2t + 1.
bool multiply_other_keys(const ThreadPosition&, emulator::Arch, const emulator::MmaInstruction&,
                         std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                         std::uint32_t* d);

// Change four fp32 words in shared memory.
void truncate_to_tf32(const Tiles&, std::byte* shared);
void round_to_bf16(const Tiles&, std::byte* shared);
// Rounds P in a register of A (two fp16 or one tf32) to the precision of bf16.
std::uint32_t weights_as_bf16(emulator::Call call, std::uint32_t word);

}  // namespace plumbline::mutants
