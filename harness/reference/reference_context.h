// The inputs of a reference, and the step from q . k to logits: softcap, ALiBi, biases and sinks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "harness/problem/side_inputs.h"
#include "harness/reference/key_values.h"
#include "harness/reference/model.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Turns x = scale * q . k into the logit of a row: s = c tanh(x / c) + b, with b = -slope |diagonal
// - key| plus the bias that a dump states.
struct LogitShape {
  double cap = 0;                // c; 0 = no softcap
  double alibi = 0;              // slope; 0 = none
  std::int64_t diagonal = 0;     // the key at distance 0, counted as in visible_keys()
  const float* added = nullptr;  // bias of key 0 and the following ones; nullptr = none

  bool has_bias() const { return alibi != 0 || added != nullptr; }
  // Returns this shape with keys counted from `key`.
  LogitShape counted_from(std::int64_t key) const {
    return {cap, alibi, diagonal - key, added == nullptr ? nullptr : added + key};
  }
  // Returns slope times the diagonal key: the part of a causal ALiBi bias that all keys share, with
  // the opposite sign. `first`: the argument of counted_from().
  double bias_of_row(std::int64_t first) const {
    return alibi * static_cast<double>(diagonal + first);
  }
  double capped(double x) const { return cap == 0 ? x : cap * std::tanh(x / cap); }
  double bias(std::int64_t key) const {
    const double of_place = -alibi * static_cast<double>(std::abs(diagonal - key));
    return added == nullptr ? of_place : of_place + double{added[key]};
  }
  double logit(double x, std::int64_t key) const { return capped(x) + bias(key); }
};
LogitShape logit_shape(const Geometry& geometry, const SideInputs& side, const RowId& row);
// Returns true if an LSE without the row's bias (RoundingSpec) exceeds the LSE by bias_of_row().
// With a window on the left FlashAttention-2 uses -slope |distance|, as without a causal mask.
inline bool shares_alibi_bias(const Problem& problem) {
  return problem.is_causal() && problem.window_left < 0;
}

// Returns the smallest range that contains both. no_keys adds nothing.
inline KeyRange joined(KeyRange a, KeyRange b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}
inline constexpr KeyRange no_keys{std::numeric_limits<std::int64_t>::max(), 0};

// The inputs of a reference. Geometry and inputs must outlive it.
struct ReferenceContext {
  ReferenceContext(const Geometry& of, const InputView& view, const RoundingSpec& spec)
      : geometry(of),
        inputs(view),
        model(spec, of.problem().softmax_scale()),
        side(of.side),
        key_values(of, view.k, view.v, InputRounding(spec)) {
    model.merges = of.problem().is_merge();
    // A kernel may multiply P by V's scales before it rounds P, so P may have any significands.
    if (of.problem().scale_tokens() > 0 && key_values.scales_v_outside()) {
      model.p_max = MaximumOfP::free;
      model.p_divided = model.p_normalized = false;
    }
  }

  const Geometry& geometry;
  const InputView& inputs;
  Model model;
  const SideInputs& side;
  KeyValues key_values;
};

// Returns the LSE of a row that sees no key: -inf, or the sink if the LSE includes it.
double lse_without_keys(const SideInputs& side, std::int64_t head, bool lse_includes_sink);

}  // namespace plumbline
