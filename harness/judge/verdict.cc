// Orders the verdicts from worst to best, and maps each to its standing.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "harness/judge/judge.h"

namespace plumbline {
namespace {

// The first of two in this order wins.
constexpr std::array worst_first{Verdict::crashed,       Verdict::timeout,
                                 Verdict::out_of_memory, Verdict::error,
                                 Verdict::fail,          Verdict::support_mismatch,
                                 Verdict::mistrusted,    Verdict::unexpected_pass,
                                 Verdict::regressed,     Verdict::unconfirmed,
                                 Verdict::ambiguous,     Verdict::expected_failure,
                                 Verdict::acknowledged,  Verdict::changed,
                                 Verdict::improved,      Verdict::first_seen,
                                 Verdict::unsupported,   Verdict::pass};
static_assert(worst_first.size() == all<Verdict>().size());

auto place(Verdict verdict) { return std::find(worst_first.begin(), worst_first.end(), verdict); }

}  // namespace

std::string_view in_words(Verdict verdict) {
  return verdict == Verdict::first_seen ? "first seen" : name(verdict);
}

Standing standing_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
    case Verdict::improved:
    case Verdict::first_seen:
    case Verdict::changed:
    case Verdict::expected_failure:
    case Verdict::acknowledged:
      return Standing::fine;
    case Verdict::unsupported:
      return Standing::unmeasured;
    case Verdict::fail:
    case Verdict::regressed:
    case Verdict::crashed:
    case Verdict::timeout:
    case Verdict::out_of_memory:
    case Verdict::error:
    case Verdict::support_mismatch:
    case Verdict::mistrusted:
    case Verdict::unexpected_pass:
      return Standing::failure;
    case Verdict::ambiguous:
    case Verdict::unconfirmed:
      return Standing::open;
  }
  __builtin_unreachable();
}

bool is_tolerated(Verdict verdict) {
  return verdict == Verdict::expected_failure || verdict == Verdict::acknowledged;
}

Verdict worse_of(Verdict a, Verdict b) { return place(a) <= place(b) ? a : b; }

}  // namespace plumbline
