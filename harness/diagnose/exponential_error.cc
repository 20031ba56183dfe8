// Fits the relative error of exp2 as a polynomial in the fraction of its argument.
#include "harness/diagnose/exponential_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double exponential_cost_limit = 2e6;  // multiply-adds of one pass over the rows
constexpr std::size_t exponential_rows = 12, min_exponential_rows = 8;
constexpr std::size_t terms = 10;  // Chebyshev polynomials; 2^f needs no more
constexpr int newton_passes = 3;
constexpr double min_error = 3e-7;  // about 2 ulp of fp32, which a kernel may have
constexpr double max_error = 0.1;   // relative

using Terms = std::array<double, terms>;

// Returns the Chebyshev polynomials at the fraction of x: x - floor(x), or x less the nearest whole
// number. exp2 of a whole number has no error.
Terms terms_at(double x, bool is_centered) {
  Terms values{};
  const double whole = is_centered ? std::nearbyint(x) : std::floor(x), fraction = x - whole;
  if (fraction == 0) return values;
  const double t = is_centered ? 2 * fraction : 2 * fraction - 1;
  values[0] = 1, values[1] = t;
  for (std::size_t n = 2; n < terms; ++n) values[n] = 2 * t * values[n - 1] - values[n - 2];
  return values;
}

double dot(const Terms& a, const Terms& b) {
  double sum = 0;
  for (std::size_t n = 0; n < terms; ++n) sum += a[n] * b[n];
  return sum;
}

// A row of the reference: its index, and the logits and V of the keys that it sees, ascending.
struct SeenRow {
  std::size_t index = 0;
  std::vector<KeyLogit> logits;
  std::vector<std::vector<double>> values;
};

SeenRow read_row(const RowCalculator& calculator, const Problem& problem, std::size_t r) {
  const RowId& id = calculator.row(r);
  SeenRow row{r, calculator.seen_logits(id), {}};
  for (const auto& [key, logit] : row.logits) {
    row.values.emplace_back(static_cast<std::size_t>(problem.head_dim_vo));
    calculator.read_value(id.sample, key, id.head / problem.group(), row.values.back());
  }
  return row;
}

// A visible key: its logit, the largest logit up to its tile, and its weight's error terms.
struct SeenKey {
  double logit = 0, maximum = 0;
  Terms of_weight{};
};

class ExponentialFit {
 public:
  ExponentialFit(const FailingOutput& failing, const RowCalculator& calculator,
                 const std::vector<SeenRow>& rows, std::int64_t tile, bool is_centered)
      : failing_(failing), calculator_(calculator), rows_(rows), is_centered_(is_centered) {
    for (const SeenRow& row : rows_) keys_.push_back(keys_of(row.logits, tile));
  }

  // Returns the largest error that the fit to every other row has, if it explains all rows;
  // otherwise 0.
  double run() {
    for (int pass = 0; pass < newton_passes; ++pass) {
      if (!step()) return 0;
    }
    double largest = 0;
    constexpr int points = 256;
    for (int i = 1; i < points; ++i)
      largest = std::max(
          largest,
          std::abs(dot(terms_at(static_cast<double>(i) / points, is_centered_), coefficients_)));
    if (!(largest >= min_error && largest <= max_error)) return 0;
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      if (!calculator_.fits(calculator_.misfit(rows_[n].index, answer(n).row))) return 0;
    }
    return largest;
  }

 private:
  // A row's result, and the derivatives of its columns and its LSE by the coefficients.
  struct Answer {
    CalculatedRow row;
    std::vector<Terms> slopes;
  };

  std::vector<SeenKey> keys_of(const std::vector<KeyLogit>& logits, std::int64_t tile) const {
    std::vector<SeenKey> keys(logits.size());
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t begin = 0, end = 0; begin < logits.size(); begin = end) {
      for (; end < logits.size() && logits[end].key / tile == logits[begin].key / tile; ++end)
        maximum = std::max(maximum, logits[end].logit);
      for (std::size_t n = begin; n < end; ++n) {
        keys[n].logit = logits[n].logit;
        keys[n].maximum = maximum;
      }
    }
    add_terms(keys);
    return keys;
  }

  // Later maxima rescale a key's weight by further exponentials.
  void add_terms(std::vector<SeenKey>& keys) const {
    Terms of_rescales{};
    for (std::size_t n = keys.size(); n-- > 0;) {
      const double exponent = (keys[n].logit - keys[n].maximum) * std::numbers::log2e,
                   step = n == 0 ? 0 : keys[n - 1].maximum - keys[n].maximum;
      const Terms own = terms_at(exponent, is_centered_),
                  rescale = terms_at(step * std::numbers::log2e, is_centered_);
      for (std::size_t i = 0; i < terms; ++i) keys[n].of_weight[i] = own[i] + of_rescales[i];
      for (std::size_t i = 0; i < terms; ++i) of_rescales[i] += rescale[i];
    }
  }

  Answer answer(std::size_t row) const {
    const std::vector<SeenKey>& keys = keys_[row];
    const std::vector<std::vector<double>>& values = rows_[row].values;
    const double maximum = keys.back().maximum;
    const std::size_t columns = values.front().size();
    Answer answer;
    answer.row.has_stated_values = true;
    answer.row.o.assign(columns, 0);
    answer.slopes.assign(columns + 1, Terms{});
    double sum = 0;
    Terms mean{};
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const Terms& of_key = keys[n].of_weight;
      const double p = std::exp(keys[n].logit - maximum) * (1 + dot(of_key, coefficients_));
      sum += p;
      for (std::size_t i = 0; i < terms; ++i) mean[i] += p * of_key[i];
      for (std::size_t j = 0; j < columns; ++j) {
        answer.row.o[j] += p * values[n][j];
        for (std::size_t i = 0; i < terms; ++i) answer.slopes[j][i] += p * of_key[i] * values[n][j];
      }
    }
    for (std::size_t j = 0; j < columns; ++j) {
      answer.row.o[j] /= sum;
      for (std::size_t i = 0; i < terms; ++i)
        answer.slopes[j][i] = (answer.slopes[j][i] - mean[i] * answer.row.o[j]) / sum;
    }
    for (std::size_t i = 0; i < terms; ++i) answer.slopes[columns][i] = mean[i] / sum;
    answer.row.lse =
        maximum + std::log(sum) - calculator_.missing_bias(calculator_.row(rows_[row].index));
    return answer;
  }

  // Takes a least-squares step over every other row. Returns false if it has no solution.
  bool step() {
    std::array<Terms, terms> squares{};
    Terms along{};
    for (std::size_t n = 0; n < rows_.size(); n += 2) {
      const Answer of_row = answer(n);
      const std::vector<double> errors = calculator_.errors(rows_[n].index, of_row.row);
      for (std::size_t j = 0; j < errors.size(); ++j) {
        const double sigma = sigma_of(rows_[n].index, j);
        if (!(sigma > 0) || !std::isfinite(errors[j])) return false;
        for (std::size_t i = 0; i < terms; ++i) {
          const double slope = of_row.slopes[j][i] / sigma;
          along[i] += slope * errors[j];
          for (std::size_t k = 0; k < terms; ++k)
            squares[i][k] += slope * of_row.slopes[j][k] / sigma;
        }
      }
    }
    const Terms change = solved(squares, along);
    for (std::size_t i = 0; i < terms; ++i) {
      if (!std::isfinite(change[i])) return false;
      coefficients_[i] += change[i];
    }
    return true;
  }

  double sigma_of(std::size_t r, std::size_t column) const {
    const auto columns = static_cast<std::size_t>(failing_.reference->columns);
    return column < columns ? double{failing_.reference->sigma[r * columns + column]}
                            : double{failing_.reference->lse_sigma[r]};
  }

  // Solves squares x = along by Cholesky's method, with a little added to the diagonal.
  static Terms solved(std::array<Terms, terms> squares, Terms along) {
    constexpr double ridge = 1e-12;
    double trace = 0;
    for (std::size_t i = 0; i < terms; ++i) trace += squares[i][i];
    for (std::size_t i = 0; i < terms; ++i) squares[i][i] += ridge * trace;
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double rest = squares[i][j];
        for (std::size_t k = 0; k < j; ++k) rest -= squares[i][k] * squares[j][k];
        squares[i][j] = i == j ? std::sqrt(rest) : rest / squares[j][j];
      }
    }
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t k = 0; k < i; ++k) along[i] -= squares[i][k] * along[k];
      along[i] /= squares[i][i];
    }
    for (std::size_t i = terms; i-- > 0;) {
      for (std::size_t k = i + 1; k < terms; ++k) along[i] -= squares[k][i] * along[k];
      along[i] /= squares[i][i];
    }
    return along;
  }

  const FailingOutput& failing_;
  const RowCalculator& calculator_;
  const std::vector<SeenRow>& rows_;
  const bool is_centered_;
  std::vector<std::vector<SeenKey>> keys_;
  Terms coefficients_{};
};

}  // namespace

std::string exponential_error(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (problem.is_merge() || problem.sinks != Sinks::none) return "";
  const RowCalculator calculator(failing);
  const auto rows = informative_rows(failing, exponential_rows, exponential_cost_limit);
  if (rows.size() < min_exponential_rows) return "";
  if (calculator.are_right(rows)) return "";
  std::vector<SeenRow> seen;
  for (const std::size_t r : rows) seen.push_back(read_row(calculator, problem, r));
  for (const bool is_centered : {false, true}) {
    for (std::int64_t tile = 16; tile <= 256; tile *= 2) {
      if (failing.late()) return "";
      const double largest = ExponentialFit(failing, calculator, seen, tile, is_centered).run();
      if (largest == 0) continue;
      return fmt::format(
          "the exponential has a relative error of up to {:.2g}, by the fraction of "
          "its base-2 exponent: a polynomial of too low a degree",
          largest);
    }
  }
  return "";
}

}  // namespace plumbline
