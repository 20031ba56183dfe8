// Computes single rows of a failing output in fp64 with one thing changed: a head, the address of a
// key, a scale, a sink, how a logit is made or how P is rounded. The results serve only the text of
// reports; no verdict depends on them.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/diagnose/failing_output.h"
#include "harness/reference/reference_context.h"

namespace plumbline {

// The address at which the K or V of a key is read; key < 0: zeros are read.
struct KeyAddress {
  std::int64_t sample = 0, key = 0;
  bool operator==(const KeyAddress&) const = default;
};

// Changes to the stated problem. A function that is not set changes nothing.
struct RowVariation {
  std::int64_t key_head = 0, value_head = 0;
  double key_factor = 1, value_factor = 1;
  double sink = 0;              // used if the problem has sinks
  std::optional<double> alibi;  // slope in place of the stated one
  std::function<KeyAddress(KeyAddress)> key_address, value_address;
  std::optional<RowId> query;                       // the row whose Q is read
  bool key_is_value = false, value_is_key = false;  // V is read for K; K for V
  // Read a vector in another way.
  std::function<void(const RowId&, std::span<double>)> read_query;
  std::function<void(std::int64_t sample, std::int64_t key, std::int64_t head, std::span<double>)>
      read_key, read_value;
  // Change a vector in place after it is read.
  std::function<void(std::span<double>)> change_query, change_key, change_value;
  // Maps q . k, without the softmax scale, to the logit. `shape` is that of the row.
  std::function<double(const LogitShape& shape, double product, std::int64_t key)> logit;
  DType s_rounded = DType::none;  // dtype to which `logit` rounds
  // Rounds p = exp(s - max) in place. The weights are p / sum, where `sum` adds the unrounded p and
  // the sink. May set ties[i] to the spacing at p[i] if an fp32 error may round p[i] the other way.
  std::function<void(std::span<const std::int64_t> keys, std::span<double> p, double sum,
                     std::span<double> ties)>
      round_p;
  bool adds_sink_itself = false;  // the sum adds the sink, not its exponential
};

struct CalculatedRow {
  std::vector<double> o;           // [head_dim_vo], before an fp8 output saturates
  double lse = 0;                  // natural units
  double lse_tie = 0;              // standard deviation of lse due to ties of rounded logits
  std::vector<double> o_tie;       // standard deviation of o due to ties; may be empty
  double sum_p2 = 1;               // sum of the squared weights
  bool has_stated_values = false;  // V is read as stated
};

struct KeyLogit {
  std::int64_t key = 0;
  double logit = 0;
};

// Relative error of a sum in fp32.
inline constexpr double fp32_error = 16 * 0x1p-24;
// Returns the spacing of `dtype` at x if `error` may round x the other way than to `rounded`,
// otherwise 0.
double tie_at(double x, double rounded, DType dtype, double error);

// The distance between the output and a computed row.
struct RowMisfit {
  double squared = 0, largest = 0;  // sum of (e / sigma)^2; max |e / sigma|
  double log_sigmas = 0;            // sum of ln sigma
  double lse = 0;                   // |e| / sigma; 0 without an LSE
};

class RowCalculator {
 public:
  explicit RowCalculator(const FailingOutput& failing);

  const SideInputs& side() const { return reference_context_.side; }
  const Model& model() const { return reference_context_.model; }
  const RowId& row(std::size_t r) const { return failing_.reference->selection.rows[r]; }
  RowVariation stated(const RowId& id) const;
  LogitShape shape(const RowId& id) const {
    return logit_shape(geometry_, reference_context_.side, id);
  }
  // Returns true if Q has this row.
  bool is_query(const RowId& id) const {
    return id.row >= 0 && id.row < geometry_.length_q(id.sample) && id.head >= 0 &&
           id.head < problem_.heads_q;
  }
  // Returns true if the row exists and sees keys.
  bool is_row(const RowId& id) const {
    return is_query(id) && geometry_.visible_count(id.sample, id.row, id.head) > 0;
  }
  // Return the row at the place of `id` in a sample of a tensor that has heads before rows but is
  // read as rows before heads, and the reverse.
  RowId with_heads_first(RowId id) const;
  RowId with_rows_first(RowId id) const;
  // Returns the part of the logits that the spec's LSE lacks (lse_without_row_bias).
  double missing_bias(const RowId& id) const { return missing_bias(shape(id)); }
  double missing_bias(const LogitShape& shape) const {
    return failing_.spec->lse_without_row_bias && shares_alibi_bias(problem_)
               ? -shape.bias_of_row(0)
               : 0;
  }

  // Returns the row's result under a variation.
  CalculatedRow answer(const RowId& id, const RowVariation& variation) const;
  // Read one vector as the products see it. The softmax scale is removed from a pre-scaled Q.
  void read_query(const RowId& id, std::span<double> to) const;
  void read_key(std::int64_t sample, std::int64_t key, std::int64_t head,
                std::span<double> to) const {
    reference_context_.key_values.key(sample, key, head, to);
  }
  void read_value(std::int64_t sample, std::int64_t key, std::int64_t head,
                  std::span<double> to) const {
    reference_context_.key_values.value(sample, key, head, to);
  }
  // Returns the stated logit of a row as a function of the key, visible or not.
  std::function<double(std::int64_t key)> stated_logit(const RowId& id) const;
  // Returns the keys that the row sees, ascending, with their stated logits.
  std::vector<KeyLogit> seen_logits(const RowId& id) const;
  // Returns q . mean(K) over all keys of the sample, visible or not.
  double mean_product(const RowId& id) const;
  // Returns how far the output is from `answer`, in sigmas of the stated row. If the rms of
  // `answer` exceeds that of the stated row, the sigmas grow in proportion.
  RowMisfit misfit(std::size_t r, const CalculatedRow& answer) const;
  // Returns (output - answer) / sigma of each column, then that of the LSE if there is one. The
  // sigmas are those of the stated row.
  std::vector<double> errors(std::size_t r, const CalculatedRow& answer) const;
  // Returns true if the misfit may be rounding, as far as a single row can tell: it is within twice
  // the limits.
  bool fits(const RowMisfit& misfit) const;
  bool explains(std::size_t r, const RowVariation& variation) const {
    return fits(misfit(r, answer(row(r), variation)));
  }
  // Returns true if the stated problem explains the row.
  bool is_right(std::size_t r) const { return explains(r, stated(row(r))); }
  // Returns is_right() by the sigma of an average element, by which misfit() measures answers with
  // other values of V. If the row is right by this sigma, such an answer explains nothing.
  bool is_right_on_average(std::size_t r) const;
  // Return true if every row of `rows` is right.
  bool are_right(std::span<const std::size_t> rows) const {
    return std::ranges::all_of(rows, [&](std::size_t r) { return is_right(r); });
  }
  bool are_right_on_average(std::span<const std::size_t> rows) const {
    return std::ranges::all_of(rows, [&](std::size_t r) { return is_right_on_average(r); });
  }

 private:
  std::int64_t stored_rows(std::int64_t sample) const;
  void load(const std::function<KeyAddress(KeyAddress)>& place, bool is_key, KeyAddress at,
            std::int64_t head, std::vector<double>& to) const;

  const FailingOutput& failing_;
  const Geometry& geometry_;
  const Problem& problem_;
  const ReferenceContext reference_context_;
  const std::vector<double> got_;
};

}  // namespace plumbline
