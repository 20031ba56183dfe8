// Predicts the LSEs of some rows under each explanation.
#include "harness/diagnose/wrong_lse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "harness/diagnose/error_shape.h"
#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double lse_lenience = 2;      // factor of the limit
constexpr double lse_cost_limit = 4e7;  // multiply-adds
constexpr std::size_t lse_worst_rows = 6;
constexpr std::int64_t smallest_tile = 16;

struct Row {
  RowId id;
  double got = 0, stated = 0, tolerance = 0;  // LSEs in natural units
  std::vector<std::int64_t> keys;             // visible, ascending
  std::vector<double> s;                      // their logits
  std::optional<double> sink;                 // if the LSE includes one
  // before[i]: LSE of the first i keys; from[i]: LSE of key i and those after it; largest[i]: the
  // maximum of the sink and of keys 0 to i
  std::vector<double> before, from, largest;

  double maximum() const { return largest.back(); }
};

// Returns ln(exp(a) + exp(b)).
double log_add(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : high + std::log1p(std::exp(-std::abs(a - b)));
}

class LseExplainer {
 public:
  explicit LseExplainer(const FailingOutput& failing)
      : failing_(failing), problem_(failing.geometry->problem()), calculator_(failing) {
    for (const std::size_t r : informative_rows(failing, lse_worst_rows, lse_cost_limit)) load(r);
  }

  std::string sentence() {
    const auto stated = [](const Row& row) { return row.stated; };
    if (rows_.size() < 2 || fits(stated)) return "";
    if (std::string found = explanation(); !found.empty()) return "only the LSE is wrong: " + found;
    // Rows with a single split or tile may be right, so the other rows are tried alone.
    std::erase_if(rows_, [&](const Row& row) { return is(row, row.stated); });
    const std::string found = explanation();
    return found.empty() ? "" : "only the LSE is wrong, in some rows: " + found;
  }

 private:
  std::string explanation() const {
    for (const auto& explain :
         {&LseExplainer::of_factor, &LseExplainer::of_halves, &LseExplainer::of_range,
          &LseExplainer::of_last_tile, &LseExplainer::of_bias, &LseExplainer::of_mean_key,
          &LseExplainer::of_other_row, &LseExplainer::of_stale_maximum}) {
      std::string found = (this->*explain)();
      if (!found.empty()) return found;
    }
    return "";
  }

  void load(std::size_t r) {
    Row row;
    row.id = calculator_.row(r);
    row.got = lse_at(*failing_.geometry, failing_.outputs, row.id);
    row.stated = failing_.reference->lse[r];
    if (!std::isfinite(row.got) || !std::isfinite(row.stated)) return;
    row.tolerance = lse_lenience * failing_.limits.lse * double{failing_.reference->lse_sigma[r]};
    read_logits(row);
    rows_.push_back(std::move(row));
  }

  void read_logits(Row& row) const {
    const double missing = calculator_.missing_bias(row.id);
    for (const auto& [key, logit] : calculator_.seen_logits(row.id)) {
      row.keys.push_back(key);
      row.s.push_back(logit - missing);
    }
    if (!calculator_.side().sinks.empty() && failing_.spec->lse_includes_sink)
      row.sink = calculator_.stated(row.id).sink - missing;
    const std::size_t n = row.keys.size();
    row.before.assign(n + 1, row.sink.value_or(minus_infinity));
    row.from = row.before;
    for (std::size_t i = 0; i < n; ++i) row.before[i + 1] = log_add(row.before[i], row.s[i]);
    for (std::size_t i = n; i-- > 0;) row.from[i] = log_add(row.from[i + 1], row.s[i]);
    double largest = row.sink.value_or(minus_infinity);
    for (const double logit : row.s) row.largest.push_back(largest = std::max(largest, logit));
  }

  // Returns true if the row's LSE is `expected`, up to the rounding errors of fp32.
  static bool is(const Row& row, double expected) {
    return std::abs(row.got - expected) <= row.tolerance + 0x1p-21 * std::abs(expected);
  }

  // Returns true if at least half of the rows have a prediction, and each prediction is right.
  bool fits(const std::function<std::optional<double>(const Row&)>& predict) const {
    std::size_t tested = 0;
    for (const Row& row : rows_) {
      const std::optional<double> expected = predict(row);
      if (!expected) continue;
      if (!is(row, *expected)) return false;
      ++tested;
    }
    return tested >= 2 && 2 * tested >= rows_.size();
  }

  std::string of_factor() const {
    struct Factor {
      double value;
      const char* meaning;
    };
    for (const Factor& factor :
         {Factor{std::numbers::log2e, "it is in base 2, times log2(e)"},
          Factor{std::numbers::ln2, failing_.outputs.lse_base == 2 ? "it is in base e, not 2"
                                                                   : "it is multiplied by ln 2"},
          Factor{std::numbers::log10e, "it is in base 10, times 0.434"},
          Factor{-1, "it is negated"}}) {
      if (fits([&](const Row& row) { return factor.value * row.stated; })) return factor.meaning;
    }
    return "";
  }

  std::string of_halves() const {
    if (fits([](const Row& row) { return row.maximum(); }))
      return "it is the maximum alone, without ln l";
    if (fits([](const Row& row) { return row.stated - row.maximum(); }))
      return "it is ln l without the maximum";
    return "";
  }

  // Tries keys before a bound, and from a bound on.
  std::string of_range() const {
    const std::int64_t last = last_key();
    for (std::int64_t bound = 1; bound <= last; ++bound) {
      if (fits([&](const Row& row) { return lse_before(row, bound); }))
        return fmt::format("it is that of keys 0 to {}: the last keys or splits are missing",
                           bound - 1);
      if (fits([&](const Row& row) { return lse_from(row, bound); }))
        return fmt::format(
            "it is that of keys {} to {}: that of the last split, or the first keys "
            "are missing",
            bound, last);
    }
    return "";
  }

  // Tries the LSE before each row's last tile of keys. Rows with one tile do not count.
  std::string of_last_tile() const {
    for (std::int64_t size = smallest_tile; size <= last_key(); size *= 2) {
      const bool lacks = fits([&](const Row& row) -> std::optional<double> {
        const std::int64_t bound = row.keys.back() / size * size;
        if (keys_before(row, bound) == 0) return std::nullopt;
        return lse_before(row, bound);
      });
      if (lacks) return fmt::format("it lacks the row's last tile of {} keys", size);
    }
    return "";
  }

  std::string of_stale_maximum() const {
    const std::int64_t last = last_key();
    for (std::int64_t bound = smallest_tile; bound <= last; bound += smallest_tile) {
      const auto predict = [&](const Row& row) {
        const std::size_t count = keys_before(row, bound);
        return count == 0 ? row.stated : row.stated - row.largest.back() + row.largest[count - 1];
      };
      if (fits(predict))
        return fmt::format("it adds the maximum of keys 0 to {} to ln l", bound - 1);
    }
    return "";
  }

  std::string of_bias() const {
    if (calculator_.side().alibi_slopes.empty() || !shares_alibi_bias(problem_)) return "";
    const bool states_none = failing_.spec->lse_without_row_bias;
    const bool differs = fits([&](const Row& row) {
      const double of_row = calculator_.shape(row.id).bias_of_row(0);
      return states_none ? row.stated - of_row : row.stated + of_row;
    });
    if (!differs) return "";
    return states_none ? "it includes the row's part of the ALiBi bias"
                       : "it lacks the row's part of the ALiBi bias, as FlashAttention-2 stores it";
  }

  // Subtracting the mean of K from K changes the LSE, but not the output.
  std::string of_mean_key() const {
    const bool lacks = fits([&](const Row& row) {
      return row.stated - problem_.softmax_scale() * calculator_.mean_product(row.id);
    });
    return lacks ? "it lacks scale q . mean(K), as if K were less its mean" : "";
  }

  // Tries the LSE of another row, head or sample.
  std::string of_other_row() const {
    const std::int64_t heads = problem_.heads_q, batch = problem_.batch;
    struct Other {
      std::string meaning;
      std::function<RowId(RowId)> place;
    };
    std::vector<Other> others{
        {"each row has that of the next row", [](RowId id) { return ++id.row, id; }},
        {"each row has that of the row before", [](RowId id) { return --id.row, id; }}};
    if (heads > 1) {
      others.insert(
          others.end(),
          {{"its heads are reversed", [=](RowId id) { return id.head = heads - 1 - id.head, id; }},
           {"each head has that of the next head",
            [=](RowId id) { return id.head = (id.head + 1) % heads, id; }},
           {"its heads are exchanged in pairs", [](RowId id) { return id.head ^= 1, id; }},
           {"it is transposed: heads before rows, read as rows before heads",
            [this](RowId id) { return calculator_.with_heads_first(id); }},
           {"it is transposed: rows before heads, read as heads before rows",
            [this](RowId id) { return calculator_.with_rows_first(id); }}});
    }
    if (batch > 1) {
      others.push_back({"each sample has that of the next sample",
                        [=](RowId id) { return id.sample = (id.sample + 1) % batch, id; }});
    }
    for (const Other& other : others) {
      const bool is_it = fits([&](const Row& row) -> std::optional<double> {
        const RowId place = other.place(row.id);
        if (!calculator_.is_row(place)) return std::nullopt;
        return stated_lse(place);
      });
      if (is_it) return other.meaning;
    }
    return "";
  }

  double stated_lse(const RowId& id) const {
    return calculator_.answer(id, calculator_.stated(id)).lse;
  }

  std::int64_t last_key() const {
    std::int64_t last = 0;
    for (const Row& row : rows_) last = std::max(last, row.keys.back());
    return last;
  }
  // Return the LSE of the keys before a bound, and from it on; NaN if the row sees none of them.
  static double lse_before(const Row& row, std::int64_t bound) {
    const std::size_t count = keys_before(row, bound);
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : row.before[count];
  }
  static double lse_from(const Row& row, std::int64_t bound) {
    const std::size_t count = keys_before(row, bound);
    return count == row.keys.size() ? std::numeric_limits<double>::quiet_NaN() : row.from[count];
  }
  static std::size_t keys_before(const Row& row, std::int64_t bound) {
    return static_cast<std::size_t>(std::ranges::lower_bound(row.keys, bound) - row.keys.begin());
  }

  const FailingOutput& failing_;
  const Problem& problem_;
  const RowCalculator calculator_;
  std::vector<Row> rows_;
};

}  // namespace

std::string wrong_lse(const FailingOutput& failing) {
  if (!only_lse_fails(failing) || failing.outputs.lse == nullptr) return "";
  return LseExplainer(failing).sentence();
}

}  // namespace plumbline
