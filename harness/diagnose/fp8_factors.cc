// Tries factors of the products and of V, and fits both.
#include "harness/diagnose/fp8_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double factor_cost_limit = 1e6;  // multiply-adds of all rows
constexpr std::size_t factor_rows = 4;
constexpr int factor_steps = 8;
constexpr double step_of_factor = 1e-4;  // for the numerical derivative
constexpr double min_factor_change = 0.01;
// Factors of the products to start from.
constexpr std::array factor_starts{1.0, 0.5, 2.0, 0.25, 4.0};

// Factors of q . k and of V.
struct Fp8Factors {
  double product = 1, value = 1;
};

class FactorSearch {
 public:
  explicit FactorSearch(const FailingOutput& failing)
      : failing_(failing),
        calculator_(failing),
        rows_(informative_rows(failing, factor_rows, factor_cost_limit)) {}

  bool is_wrong() const { return !calculator_.are_right_on_average(rows_); }
  bool explains(const Fp8Factors& factors) const {
    return std::ranges::all_of(rows_, [&](std::size_t r) {
      return calculator_.fits(calculator_.misfit(r, answer(r, factors)));
    });
  }

  // Returns factors that explain all rows.
  std::optional<Fp8Factors> fitted() const {
    for (const double start : factor_starts) {
      Fp8Factors factors{start, 1};
      for (int i = 0; i < factor_steps; ++i) {
        if (failing_.late()) return std::nullopt;
        const Fp8Factors change = step_at(factors);
        if (!std::isfinite(change.product) || !std::isfinite(change.value)) break;
        factors.product *= std::exp(std::clamp(change.product, -0.7, 0.7));
        factors.value += change.value;
      }
      if (explains(factors)) return factors;
    }
    return std::nullopt;
  }

 private:
  CalculatedRow answer(std::size_t r, const Fp8Factors& factors) const {
    const RowId& id = calculator_.row(r);
    RowVariation variation = calculator_.stated(id);
    variation.key_factor = factors.product;
    variation.value_factor = factors.value;
    return calculator_.answer(id, variation);
  }

  // Returns the least-squares changes of log(product) and of value.
  Fp8Factors step_at(const Fp8Factors& factors) const {
    double pp = 0, pv = 0, vv = 0, ep = 0, ev = 0;
    for (const std::size_t r : rows_) {
      const auto errors = [&](const Fp8Factors& of) {
        return calculator_.errors(r, answer(r, of));
      };
      const std::vector<double> error = errors(factors),
                                of_product = errors(
                                    {factors.product * std::exp(step_of_factor), factors.value}),
                                of_value =
                                    errors({factors.product, factors.value + step_of_factor});
      for (std::size_t j = 0; j < error.size(); ++j) {
        const double p = (error[j] - of_product[j]) / step_of_factor,
                     v = (error[j] - of_value[j]) / step_of_factor;
        pp += p * p, pv += p * v, vv += v * v;
        ep += error[j] * p, ev += error[j] * v;
      }
    }
    const double determinant = pp * vv - pv * pv;
    return {(vv * ep - pv * ev) / determinant, (pp * ev - pv * ep) / determinant};
  }

  const FailingOutput& failing_;
  const RowCalculator calculator_;
  const std::vector<std::size_t> rows_;
};

// The tensors that a wrong encoding halves, by how often it halves q . k and V.
struct Halved {
  int product, value;
  const char* what;
  bool of_fp8_q;  // only if Q is fp8
};
constexpr std::array halved_tensors{
    Halved{1, 1, "K and V are", false}, Halved{2, 1, "Q, K and V are", true},
    Halved{1, 0, "K is", false}, Halved{0, 1, "V is", false}, Halved{2, 0, "Q and K are", true}};

}  // namespace

std::string other_fp8_encoding(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (!problem.has_fp8_kv() || problem.is_merge()) return "";
  const FactorSearch search(failing);
  if (!search.is_wrong()) return "";
  for (const Halved& halved : halved_tensors) {
    if (halved.of_fp8_q && !problem.has_fp8_q()) continue;
    for (const double factor : {0.5, 2.0}) {
      const Fp8Factors factors{std::pow(factor, halved.product), std::pow(factor, halved.value)};
      if (failing.late()) return "";
      if (!search.explains(factors)) continue;
      // Only the product of Q and K matters.
      const bool may_be_q = problem.has_fp8_q() && halved.product == 1;
      return fmt::format("{} {} as large{}: {} read as {}fnuz or the reverse, or a scale off by 2",
                         halved.what, factor < 1 ? "half" : "twice",
                         may_be_q ? " (or Q in place of K)" : "", name(problem.kv()),
                         name(problem.kv()));
    }
  }
  return "";
}

std::string other_fp8_factors(const FailingOutput& failing) {
  if (!failing.geometry->problem().has_fp8_kv()) return "";
  const FactorSearch search(failing);
  if (!search.is_wrong()) return "";
  const auto factors = search.fitted();
  const bool are_both_needed = factors && std::abs(factors->product - 1) >= min_factor_change &&
                               std::abs(factors->value - 1) >= min_factor_change;
  if (!are_both_needed) return "";
  return fmt::format(
      "Q K^T is {:.3g} times and V {:.3g} times as large: their fp8 scales are wrong",
      factors->product, factors->value);
}

}  // namespace plumbline
