// Names the verdicts, orders them from worst to best, and derives a run's exit code from them.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "harness/judge/judge.h"

namespace plumbline {
namespace {

// Worst first: the order in which verdicts win.
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

bool is_failure(Verdict verdict) { return place(verdict) <= place(Verdict::regressed); }

Verdict worse_of(Verdict a, Verdict b) { return place(a) <= place(b) ? a : b; }

}  // namespace plumbline
