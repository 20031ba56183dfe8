// Fits one factor to each block of dimensions of Q K^T.
#include "harness/diagnose/key_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/diagnose/error_shape.h"
#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double column_cost_limit = 1e6;  // multiply-adds of one fit
constexpr std::size_t column_rows = 6;
constexpr int newton_steps = 4;
constexpr double step_of_slope = 1e-3;  // for the numerical derivative
constexpr double min_change = 0.01;     // |factor - 1|
constexpr double min_share = 0.5;       // share of the squared error that the first step removes

struct Block {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

std::vector<Block> blocks_of(std::size_t dims) {
  constexpr std::size_t tile = 64;
  std::vector<Block> blocks;
  for (std::size_t size = 8; size < dims; size *= 2) {
    blocks.push_back({dims - size, dims});
    blocks.push_back({0, size});
  }
  for (std::size_t begin = tile; begin + 2 * tile <= dims; begin += tile)
    blocks.push_back({begin, begin + tile});
  return blocks;
}

class ColumnFit {
 public:
  explicit ColumnFit(const FailingOutput& failing)
      : calculator_(failing), rows_(informative_rows(failing, column_rows, column_cost_limit)) {
    is_wrong_ = !calculator_.are_right(rows_);
  }

  bool is_wrong() const { return is_wrong_; }

  // Returns the factor of a block that explains all rows.
  std::optional<double> factor_of(const Block& block) const {
    double factor = 1;
    for (int i = 0; i < newton_steps; ++i) {
      const Step step = step_at(block, factor);
      if (!std::isfinite(step.change) || (i == 0 && step.share < min_share)) return std::nullopt;
      factor += std::clamp(step.change, -0.5, 0.5);
    }
    const bool explains =
        std::abs(factor - 1) >= min_change && std::ranges::all_of(rows_, [&](std::size_t r) {
          return calculator_.fits(calculator_.misfit(r, answer(r, block, factor)));
        });
    return explains ? std::optional(factor) : std::nullopt;
  }

 private:
  // The least-squares change of a factor, and the share of the squared error that it removes.
  struct Step {
    double change = 0, share = 0;
  };
  Step step_at(const Block& block, double factor) const {
    double along = 0, squared = 0, all = 0;
    for (const std::size_t r : rows_) {
      const std::vector<double> error = calculator_.errors(r, answer(r, block, factor)),
                                moved =
                                    calculator_.errors(r, answer(r, block, factor + step_of_slope));
      for (std::size_t j = 0; j < error.size(); ++j) {
        const double slope = (error[j] - moved[j]) / step_of_slope;
        along += error[j] * slope, squared += slope * slope, all += error[j] * error[j];
      }
    }
    return {along / squared, along * along / squared / all};
  }

  CalculatedRow answer(std::size_t r, const Block& block, double factor) const {
    const RowId& id = calculator_.row(r);
    RowVariation variation = calculator_.stated(id);
    variation.change_key = [&](std::span<double> k) {
      for (double& x : k.subspan(block.begin, block.size())) x *= factor;
    };
    return calculator_.answer(id, variation);
  }

  const RowCalculator calculator_;
  const std::vector<std::size_t> rows_;
  bool is_wrong_ = false;
};

std::string weight_in_words(const Block& block, double factor) {
  if (std::abs(factor) < min_change) {
    return fmt::format("dimensions {} to {} of Q K^T are left out", block.begin, block.end - 1);
  }
  const std::string columns =
      fmt::format("columns {} to {} of K (or Q)", block.begin, block.end - 1);
  if (factor < 0) return fmt::format("{} are multiplied by {:.2g}", columns, factor);
  return fmt::format("{} weigh {} too {}", columns, text_above_one(std::max(factor, 1 / factor)),
                     factor > 1 ? "much" : "little");
}

}  // namespace

std::string larger_key_columns(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (problem.is_merge()) return "";
  const ColumnFit fit(failing);
  if (!fit.is_wrong()) return "";
  for (const Block& block : blocks_of(static_cast<std::size_t>(problem.head_dim_qk))) {
    if (failing.late()) return "";
    if (const auto factor = fit.factor_of(block)) return weight_in_words(block, *factor);
  }
  return "";
}

}  // namespace plumbline
