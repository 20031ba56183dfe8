// Bugs and legal variants of the tensor-core kernels, each as one call made otherwise. Each is what
// prefill_mma or decode_mma would compute if it called the machine so. mma_mutants.toml describes
// them.
#pragma once

#include <span>

#include "kernels/mutants/tensor_core/place.h"

namespace plumbline::mutants {

// What a change puts in place of a call: members as emulator::Fault has them; nullptr: as asked.
struct KernelChange {
  const char* name = nullptr;
  const char* options = "";      // of the kernels (kernels/attention/options.h)
  const char* kernel = nullptr;  // the only one that is run; else decode_mma or prefill_mma
  bool (*leaves_out)(const Place&, emulator::Call) = nullptr;
  int (*wait)(const Place&, int groups) = nullptr;
  emulator::Fault::Copy (*copy)(const Place&, bool valid) = nullptr;
  void (*landed)(const Tiles&, std::byte* shared) = nullptr;
  emulator::Call (*load)(const Place&, emulator::Call, std::size_t& row) = nullptr;
  void (*loaded)(const Place&, std::uint32_t* r) = nullptr;
  emulator::Call (*shuffle)(const Place&, emulator::Call, int& operand) = nullptr;
  bool (*multiply)(Place&, emulator::Call&, std::uint32_t* a, std::uint32_t* b,
                   std::uint32_t* c) = nullptr;
  void (*product)(const Place&, std::uint32_t* d) = nullptr;
  bool (*computes)(const Place&, emulator::Arch, const emulator::MmaInstruction&, std::uint32_t* a,
                   std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) = nullptr;
};

// The first is the correct kernel.
std::span<const KernelChange> kernel_changes();

// What the changes of arithmetic compute, in arithmetic.cc: registers of a warp as mma_sync has
// them.
bool multiply_in_fp16(const Place&, emulator::Arch, const emulator::MmaInstruction&,
                      std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d);
template <int FractionBits>
bool multiply_with_bits(const Place&, emulator::Arch, const emulator::MmaInstruction&,
                        std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d);
bool multiply_as_sm_80(const Place&, emulator::Arch, const emulator::MmaInstruction&,
                       std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                       std::uint32_t* d);
bool multiply_in_halves(const Place&, emulator::Arch, const emulator::MmaInstruction&,
                        std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d);
// V of tf32 with keys t and t + 4 in the slots where P has 2t and 2t + 1.
bool multiply_other_keys(const Place&, emulator::Arch, const emulator::MmaInstruction&,
                         std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                         std::uint32_t* d);

// fp32 words of 16 bytes in shared memory.
void truncate_to_tf32(const Tiles&, std::byte* shared);
void round_to_bf16(const Tiles&, std::byte* shared);
// P in a register of A: two fp16, or one tf32, to the precision of bf16.
std::uint32_t weights_as_bf16(emulator::Call call, std::uint32_t word);

}  // namespace plumbline::mutants
