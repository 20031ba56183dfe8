// The kernels of the CPU provider: name, algorithm, refusals and declarations of each. Each is one
// Variant of an algorithm.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/cpu/attention.h"

namespace plumbline::cpu {

struct Algorithm {
  std::uint64_t (*workspace)(const plumbline_problem& problem, const Variant& variant);
  void (*run)(const Attention& attention, const Variant& variant, std::byte* workspace);
  bool splits_kv;  // reads variant.splits
};

struct Kernel {
  const char* name;
  const Algorithm* algorithm;
  Variant variant;
  // nullptr: fp32 is supported. Otherwise the reason, completed by " (got fp32)"
  const char* why_not_fp32;
  bool padded_only = false;
  // takes fp8 K and V, and where S is not rounded fp8 Q, masks of bits, softcap, ALiBi and
  // attention sinks
  bool all_features = false;
  plumbline_question question = PLUMBLINE_ATTENTION;
};
std::span<const Kernel> kernels();

// The kernel's Variant with the options it reads, and with P's dtype filled in.
Variant variant_of(const Kernel& kernel, std::string_view options,
                   const plumbline_problem& problem);

// What these kernels need of the CPU, and whether it has it.
struct CpuFeatures {
  bool avx2, fma, f16c;
};
CpuFeatures cpu_features();

// Why the kernel does not take the problem on that device; empty if it does.
std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                    const plumbline_device& device, const CpuFeatures& cpu);

// Rounding spec, promises, padding policy, build id and what is launched, into a `description` that
// the scaffold of providers has begun (plumbline_provider.hpp). `variant` is what runs.
void describe(const Kernel& kernel, const Variant& variant, std::string_view options,
              const plumbline_problem& problem, plumbline_description& description);

}  // namespace plumbline::cpu
