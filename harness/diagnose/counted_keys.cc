// Adds the hidden keys of a row's tiles to its sums.
#include "harness/diagnose/counted_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double counted_cost_limit = 2e6;  // multiply-adds of one range of keys
constexpr std::size_t counted_worst_rows = 8;

// The keys that a row counts: those of the tiles in which it sees keys, or all (tile 0). Keys of a
// tile after the end of the sample have V = 0, or do not count.
struct CountedTiles {
  std::int64_t keys = 0;
  bool has_tail = false;
};

// How hidden keys count: in the denominator, and in P V if `has_values`.
struct Count {
  double logit = 0;
  bool has_values = true;
};

class CountedKeys {
 public:
  explicit CountedKeys(const FailingOutput& failing)
      : failing_(failing),
        geometry_(*failing.geometry),
        calculator_(failing),
        rows_(informative_rows(failing, counted_worst_rows, counted_cost_limit)) {
    for (const std::size_t r : rows_) stated_.push_back(sums_of(r));
  }

  bool is_wrong() const { return !calculator_.are_right_on_average(rows_); }

  // Returns the first of `counts` that explains all rows.
  std::optional<Count> count_of(const CountedTiles& tiles, const std::vector<Count>& counts) const {
    std::vector<Hidden> hidden;
    double cost = 0;
    for (const std::size_t r : rows_) {
      cost += static_cast<double>(range_of(r, tiles).size() * failing_.reference->columns);
      if (cost > counted_cost_limit) return std::nullopt;
      hidden.push_back(hidden_of(r, tiles));
    }
    for (const Count& count : counts) {
      std::size_t fitting = 0;
      while (fitting < rows_.size() && explains(fitting, hidden[fitting], count)) ++fitting;
      if (fitting == rows_.size()) return count;
    }
    return std::nullopt;
  }

 private:
  // A row's result, and the logarithms of the sums that divide O and that the LSE counts.
  struct StatedSums {
    CalculatedRow row;
    double all = 0, of_lse = 0;
  };
  // The number of hidden keys that count, and the sum of their V.
  struct Hidden {
    double count = 0;
    std::vector<double> values;
  };

  StatedSums sums_of(std::size_t r) const {
    const RowId& id = calculator_.row(r);
    const RowVariation stated = calculator_.stated(id);
    StatedSums sums{calculator_.answer(id, stated), 0, 0};
    const bool has_sink = !calculator_.side().sinks.empty();
    const double with_bias = sums.row.lse + calculator_.missing_bias(id),
                 sink = has_sink ? std::exp(stated.sink - with_bias) : 0;
    sums.all = sums.of_lse = with_bias;
    if (has_sink && !failing_.spec->lse_includes_sink) sums.all += std::log1p(sink);
    return sums;
  }

  KeyRange range_of(std::size_t r, const CountedTiles& tiles) const {
    const RowId& id = calculator_.row(r);
    const std::int64_t length = geometry_.length_kv(id.sample);
    if (tiles.keys == 0) return {0, length};
    const KeyRange seen = geometry_.visible_keys(id.sample, id.row, id.head);
    const std::int64_t end = (seen.end + tiles.keys - 1) / tiles.keys * tiles.keys;
    return {seen.begin / tiles.keys * tiles.keys, tiles.has_tail ? end : std::min(end, length)};
  }

  Hidden hidden_of(std::size_t r, const CountedTiles& tiles) const {
    const RowId& id = calculator_.row(r);
    const auto columns = static_cast<std::size_t>(failing_.reference->columns);
    Hidden hidden{0, std::vector<double>(columns)};
    std::vector<double> value(columns);
    const KeyRange keys = range_of(r, tiles);
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      const bool is_stored = key < geometry_.length_kv(id.sample);
      if (is_stored && geometry_.sees(id.sample, id.row, key, id.head)) continue;
      ++hidden.count;
      if (!is_stored) continue;
      calculator_.read_value(id.sample, key, id.head / geometry_.problem().group(), value);
      for (std::size_t j = 0; j < columns; ++j) hidden.values[j] += value[j];
    }
    return hidden;
  }

  bool explains(std::size_t n, const Hidden& hidden, const Count& count) const {
    const StatedSums& stated = stated_[n];
    CalculatedRow row = stated.row;
    row.has_stated_values = false;
    const double weight = std::exp(count.logit - stated.all), sum = 1 + hidden.count * weight,
                 value_weight = count.has_values ? weight : 0;
    for (std::size_t j = 0; j < row.o.size(); ++j)
      row.o[j] = (row.o[j] + value_weight * hidden.values[j]) / sum;
    row.lse += std::log1p(hidden.count * std::exp(count.logit - stated.of_lse));
    return calculator_.fits(calculator_.misfit(rows_[n], row));
  }

  const FailingOutput& failing_;
  const Geometry& geometry_;
  const RowCalculator calculator_;
  const std::vector<std::size_t> rows_;
  std::vector<StatedSums> stated_;
};

}  // namespace

std::string counted_hidden_keys(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (problem.is_merge()) return "";
  const CountedKeys counted(failing);
  if (!counted.is_wrong()) return "";
  std::vector<Count> counts{{0, true}};
  if (problem.softcap != 0) counts.push_back({-problem.softcap, true});
  counts.push_back({0, false});
  std::vector<CountedTiles> all_tiles{{0, false}};
  for (std::int64_t keys = 16; keys <= 128; keys *= 2) {
    all_tiles.push_back({keys, false});
    all_tiles.push_back({keys, true});
  }
  for (const CountedTiles& tiles : all_tiles) {
    if (failing.late()) return "";
    const auto count = counted.count_of(tiles, counts);
    if (!count) continue;
    return fmt::format(
        "the softmax denominator is too large: it counts hidden keys with a logit of {:.3g}, {}",
        count->logit,
        !count->has_values  ? "which P V leaves out"
        : count->logit == 0 ? "as if the mask set it to 0"
                            : "as if the softcap were applied after the mask");
  }
  return "";
}

}  // namespace plumbline
