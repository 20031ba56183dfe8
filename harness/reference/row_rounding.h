// The rounding of one row's P. Log-uniform significands have a mean square error of kappa u_P^2.
// This header covers rows whose P has few different significands, or shares them with all rows of a
// problem: docs/judging-formulas.md, "Local kappa".
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "harness/reference/cells.h"
#include "harness/reference/row_block.h"

namespace plumbline {

// An error that is the same in all rows is at most sqrt(shared_slack) sigma.
inline constexpr double shared_slack = 1.2;

// The variance of one key if P is normalised. The error delta_k = rnd(p_k) - p_k is then known. The
// variance is at least 0.03 (u_P p_k)^2, so that a kernel that rounds the other way stays below 6
// sigma.
inline double normalized_variance(const Model& model, double p, double delta) {
  return std::max(square(delta), 0.03 * square(model.u_p * p));
}
// The known errors make P sum to 1 + `sum`, which scales o_j. Returns the variance to add for this,
// in units of o_j^2, beyond the terms of the keys (`independent`) and of their cells (`excess`).
inline double normalized_sum_variance(double sum, double independent, double excess) {
  return std::max(0.0, square(sum) / shared_slack - independent - excess);
}

// The rounding of one row. P is t = exp(s - m), with m the largest logit of the row's keys; if P is
// normalised, t = p.
struct RowRounding {
  static constexpr int octaves = 64;

  bool is_local = false;  // kappa depends on the octave; otherwise it is Model::kappa_p
  bool is_flat = false;
  double t_of_p = 1;  // t / p
  // By octave g, which holds 2^-g <= t < 2^(1 - g). The last octave also holds all smaller t.
  std::array<double, octaves> kappas;
  // The error of each p_k, [stride]: in a flat row under the maximum with the largest sum of
  // errors, and in every row of a normalised P, where it is known. Otherwise empty.
  std::vector<float> errors;
  double error_sum = 0;  // sum of errors
  // If P is normalised: the result of normalized_sum_variance(), in units of o_j^2.
  double sum_variance = 0;

  // Returns true if neither kappas nor errors of its own describe the row.
  bool is_plain() const { return !is_local && errors.empty(); }
  double kappa_of(double t) const { return kappas[static_cast<std::size_t>(octave(t))]; }
  // Returns the octave of t. A t that is a power of two except for fp64 noise counts as that power.
  static int octave(double t) {
    const std::uint64_t below_one = 1023 - (std::bit_cast<std::uint64_t>(t * (1 + 1e-12)) >> 52);
    return static_cast<int>(std::min<std::uint64_t>(below_one, octaves - 1));  // NaN: last octave
  }
};

// Keeps its tables between rows.
class RowRoundings {
 public:
  // Finds the rounding of a row after its S, P and cells of P.
  void find(const Model& model, const RowBlock& block, std::int64_t row, const Cells& cells,
            RowRounding& result);
  // Sets the rounding of a row that is_plain(), as find() does, without its cells.
  void set_plain(const Model& model, const RowBlock& block, std::int64_t row,
                 RowRounding& result) const;
  // Adds to sums[i][g] the sum of (error of p_k) x[i][k] over the row's keys, for each maximum g
  // that a kernel may have used. The order of the maxima depends only on whether there is a sink. A
  // normalised P depends on no maximum, so g is 0. `of_row` is the result of find(); x[i] is
  // [stride].
  void project_errors(const Model& model, const RowBlock& block, std::int64_t row,
                      const RowRounding& of_row, std::array<const double*, 2> x,
                      std::array<std::vector<double>*, 2> sums);

 private:
  // A maximum that a kernel may have used when it rounded P: the largest logit of all keys, or of
  // the tiles so far, optionally including a sink.
  struct Guess {
    enum class Order { all_keys, forward, backward, splits } order = Order::all_keys;
    std::int64_t tile = 0, splits = 1;
    bool from_sink = false;
  };
  // Sums by octave: `squares` sums p_k^2 over its keys, `of_cells` (sum p_k^2)^2 over its cells.
  struct Octaves {
    std::array<double, RowRounding::octaves> squares, of_cells;
    double total() const { return std::accumulate(squares.begin(), squares.end(), 0.0); }
  };

  // `m` is the largest logit of the keys.
  bool find_octaves(const Model& model, const RowBlock& block, std::int64_t row, const Cells& cells,
                    double m, const RowRounding& result);
  void gather(const Model& model, const RowBlock& block, std::int64_t row,
              const RowRounding& result);
  std::vector<Guess> guesses(const Model& model, bool has_sink, bool repeats) const;
  template <class Visit>
  void for_tiles(const Model& model, const Guess& guess, double m, const Sink* sink,
                 Visit visit) const;
  void find_lag(const Model& model, const Guess& guess, double m, const Sink* sink);
  void find_normalized(const Model& model, const RowBlock& block, std::int64_t row,
                       const Cells& cells, RowRounding& result);
  void find_shares(const Model& model);
  // Returns (rounded - exact) / exact of key i's P under the maximum in lag_, or its standard
  // deviation if P is rounded at random.
  double error_of(const Model& model, std::size_t i) const;

  Octaves octaves_;
  // For p_max free: the largest share of each octave's sum p_k^2 in one cell eight times as wide as
  // P's.
  std::array<double, RowRounding::octaves> shares_;
  std::array<bool, RowRounding::octaves> few_;  // few significands in this octave
  // For each visible key: its index in the block, its logit, t, and exp(m - m_k), with m_k the
  // maximum that a guess gives the key.
  std::vector<std::int64_t> key_;
  std::vector<double> s_, t_, lag_;
  // For project_errors(): x of the visible keys, and the sums of each chunk of keys by its lag.
  struct ChunkSums {
    double lag = 0;
    std::array<double, 2> sums{};
  };
  std::array<std::vector<double>, 2> x_;
  std::vector<std::vector<ChunkSums>> chunks_;
};

}  // namespace plumbline
