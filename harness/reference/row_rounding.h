// How rounding falls on the P of one row. Log-uniform significands have kappa of u_P^2 each; where
// P has few different significands, or the rows of a problem share them, it is found here.
// docs/judging-formulas.md, "Local kappa".
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "harness/reference/cells.h"
#include "harness/reference/row_block.h"

namespace plumbline {

// No error that many keys share is more than the root of this, in sigma.
inline constexpr double shared_slack = 1.2;

// Where P is normalised its errors are known: delta_k = rnd(p_k) - p_k, of which this much is
// counted at least, so that no single rounding that falls otherwise is 6 sigma.
inline double normalized_variance(const Model& model, double p, double delta) {
  return std::max(square(delta), 0.03 * square(model.u_p * p));
}
// What the sum of them adds, of o_j^2: P then sums to 1 + sum delta_k. `independent` and `excess`:
// what the keys, and their cells, have of it.
inline double normalized_sum_variance(double sum, double independent, double excess) {
  return std::max(0.0, square(sum) / shared_slack - independent - excess);
}

// Of one row. P is t = exp(s - m) with m the largest logit of the row's keys, and where P is
// normalised t = p.
struct RowRounding {
  static constexpr int octaves = 64;

  bool is_local = false;  // else each key has Model::kappa_p
  bool is_flat = false;
  double t_of_p = 1;  // t / p
  // By octave g, which holds 2^-g <= t < 2^(1 - g); the last also what is smaller.
  std::array<double, octaves> kappas;
  // The error of each p_k, [stride]: of a flat row under the maximum that makes the largest sum of
  // them; where P is normalised of every row, and known. Else empty.
  std::vector<float> errors;
  double error_sum = 0;  // sum of errors
  // Where P is normalised: the variance of sum p_k beyond that of the keys, of o_j^2.
  double sum_variance = 0;

  double kappa_of(double t) const { return kappas[static_cast<std::size_t>(octave(t))]; }
  // Of a t that is a power of two but for the noise of fp64: that power's.
  static int octave(double t) {
    const std::uint64_t below_one = 1023 - (std::bit_cast<std::uint64_t>(t * (1 + 1e-12)) >> 52);
    return static_cast<int>(std::min<std::uint64_t>(below_one, octaves - 1));  // NaN: the last
  }
};

// Holds its tables between rows.
class RowRoundings {
 public:
  // Of a row once its S and P, and the cells of its P, stand.
  void find(const Model& model, const RowBlock& block, std::int64_t row, const Cells& cells,
            RowRounding& result);
  // The errors of p_k, [stride], under each maximum that a kernel may have had, in an order that
  // depends only on whether there is a sink; of a normalised P the known ones. `of_row`: what
  // find() gave.
  void errors_by_guess(const Model& model, const RowBlock& block, std::int64_t row,
                       const RowRounding& of_row, std::vector<std::vector<double>>& result);

 private:
  // Which keys of a tile had the maximum of those before them, and of a sink, when P was rounded.
  struct Guess {
    enum class Order { all_keys, forward, backward, splits } order = Order::all_keys;
    std::int64_t tile = 0, splits = 1;
    bool from_sink = false;
  };
  // Sums by octave of p_k^2, and over its cells of (sum p_k^2)^2.
  struct Octaves {
    std::array<double, RowRounding::octaves> squares, of_cells;
    double total() const { return std::accumulate(squares.begin(), squares.end(), 0.0); }
  };

  // `m`: the largest logit of the keys.
  bool find_octaves(const Model& model, const RowBlock& block, std::int64_t row, const Cells& cells,
                    double m, const RowRounding& result);
  void gather(const Model& model, const RowBlock& block, std::int64_t row,
              const RowRounding& result);
  std::vector<Guess> guesses(const Model& model, bool has_sink, bool repeats) const;
  void find_lag(const Model& model, const Guess& guess, double m, const Sink* sink);
  void find_normalized(const Model& model, const RowBlock& block, std::int64_t row,
                       const Cells& cells, RowRounding& result);
  void find_shares(const Model& model);
  // (rounded - exact) / exact of key i's P, with the maximum of lag_.
  double error_of(const Model& model, std::size_t i) const;

  Octaves octaves_;
  // Of each octave's sum p_k^2, the largest share that lies in one eighth of the cells of P; where
  // the maximum may be any number.
  std::array<double, RowRounding::octaves> shares_;
  std::array<bool, RowRounding::octaves> few_;  // few significands in this octave
  // Of the visible keys: their numbers in the block, places in the sequence, logits and t; and
  // exp(m - m_k) with m_k the maximum that a guess has for the key.
  std::vector<std::int64_t> key_;
  std::vector<double> s_, t_, lag_;
};

}  // namespace plumbline
