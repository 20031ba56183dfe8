// Dot products on which published models of tensor cores disagree, with each model's prediction. No
// recording reaches some of them.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/fragments.h"

namespace plumbline::testing {

// The treatment of zero operands and tiny sums (fused_sum.h). The emulator follows the first
// hypothesis, which matches an H200.
struct Hypothesis {
  const char* name;
  emulator::ZeroRule zeros;
  bool keeps_floor;  // of the architecture's parameters
  emulator::Underflow underflow;
};
inline constexpr std::array hypotheses{
    Hypothesis{"zeros skipped, E has a floor, an underflow is positive (H200)",
               emulator::ZeroRule::skipped, true, emulator::Underflow::positive_zero},
    Hypothesis{"zeros skipped, E has a floor (Khattak and Mikaitis)", emulator::ZeroRule::skipped,
               true, emulator::Underflow::keeps_sign},
    Hypothesis{"zeros at exponent -126 (MMA-Sim)", emulator::ZeroRule::minus_126, false,
               emulator::Underflow::positive_zero},
    Hypothesis{"zeros at their format's smallest normal", emulator::ZeroRule::smallest_normal,
               false, emulator::Underflow::keeps_sign},
};
emulator::MmaModel under(const Hypothesis&, emulator::MmaModel);

struct Corner {
  std::string name;
  emulator::MmaInstruction instruction;
  // raw bits of a[k] and b[k]; elements beyond these are zero
  std::vector<std::pair<std::uint32_t, std::uint32_t>> products;
  std::uint32_t c;
  std::array<std::uint32_t, hypotheses.size()> on_sm_90;  // the result under each hypothesis
};
const std::vector<Corner>& corners();

// Returns the corner's result in one model.
std::uint32_t predict(const Corner&, const emulator::MmaModel&);

// Returns the corner as a warp's registers: its dot product is element (0, 0), everything else is
// zero.
Fragments fragments_of(const Corner&);

// Returns one of two probes that determine F: 16 products of 2^-25, or of 2^-24, and c = 1, fp16
// operands.
Corner fingerprint(bool wide);

}  // namespace plumbline::testing
