// The kernels of the CPU provider. Each is a Variant of an algorithm, with its name, refusals and
// declarations.
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
  // supports fp8 K and V, bit masks, softcap, ALiBi and attention sinks; if S is not rounded, also
  // fp8 Q
  bool all_features = false;
  plumbline_question question = PLUMBLINE_ATTENTION;
};
std::span<const Kernel> kernels();

// Returns the kernel's Variant with the options that it reads and with P's dtype set.
Variant variant_of(const Kernel& kernel, std::string_view options,
                   const plumbline_problem& problem);

// The CPU features that these kernels need; true if present.
struct CpuFeatures {
  bool avx2, fma, f16c;
};
CpuFeatures cpu_features();

// Returns why the kernel does not support the problem on that device; empty if it does.
std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                    const plumbline_device& device, const CpuFeatures& cpu);

// Adds rounding spec, promises, padding policy, build id and the launch to a `description` that the
// provider scaffold has started (plumbline_provider.hpp). `variant` is the one that runs.
void describe(const Kernel& kernel, const Variant& variant, std::string_view options,
              const plumbline_problem& problem, plumbline_description& description);

}  // namespace plumbline::cpu
