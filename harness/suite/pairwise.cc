// Builds the combinations greedily, like AETG. Searches if no greedy combination is allowed.
#include "harness/suite/pairwise.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>

#include "harness/base/counter_hash.h"

namespace plumbline {
namespace {

constexpr std::size_t unset = static_cast<std::size_t>(-1);
constexpr int candidates_per_row = 24;  // AETG's authors found little gain beyond 50.
constexpr std::size_t fillings_tried = 4096;

using Allowed = std::function<bool(const Combination&)>;

class Random {
 public:
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(splitmix64(counter_++) % count);
  }

 private:
  std::uint64_t counter_ = 0;
};

// The pairs of values that are not covered yet.
class OpenPairs {
 public:
  explicit OpenPairs(std::span<const std::size_t> sizes) : first_value_(sizes.size() + 1, 0) {
    std::partial_sum(sizes.begin(), sizes.end(), first_value_.begin() + 1);
    open_.assign(first_value_.back() * first_value_.back(), false);
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) {
        for (std::size_t i = 0; i < sizes[a]; ++i) {
          for (std::size_t j = 0; j < sizes[b]; ++j) open_[index(a, i, b, j)] = true;
        }
      }
    }
  }

  // Returns a combination with only the first open pair set, or nullopt if all are covered.
  std::optional<Combination> first() const {
    const auto found = std::ranges::find(open_, true);
    if (found == open_.end()) return std::nullopt;
    const auto at = static_cast<std::size_t>(found - open_.begin());
    Combination pair(first_value_.size() - 1, unset);
    set_value(pair, at / first_value_.back());
    set_value(pair, at % first_value_.back());
    return pair;
  }

  // Returns the number of open pairs of `value` of `dimension` with the dimensions already set.
  std::size_t gain(const Combination& partial, std::size_t dimension, std::size_t value) const {
    std::size_t count = 0;
    for (std::size_t other = 0; other < partial.size(); ++other) {
      if (other != dimension && partial[other] != unset)
        count += is_open(other, partial[other], dimension, value);
    }
    return count;
  }

  std::size_t gain(const Combination& full) const {
    std::size_t count = 0;
    for_each_pair(full, [&](std::size_t at) { count += open_[at]; });
    return count;
  }

  void cover(const Combination& combination) {
    for_each_pair(combination, [&](std::size_t at) { open_[at] = false; });
  }

 private:
  std::size_t index(std::size_t a, std::size_t i, std::size_t b, std::size_t j) const {
    return (first_value_[a] + i) * first_value_.back() + first_value_[b] + j;
  }
  bool is_open(std::size_t a, std::size_t i, std::size_t b, std::size_t j) const {
    return a < b ? open_[index(a, i, b, j)] : open_[index(b, j, a, i)];
  }
  void set_value(Combination& combination, std::size_t flat) const {
    const auto next = std::ranges::upper_bound(first_value_, flat);
    const auto dimension = static_cast<std::size_t>(next - first_value_.begin()) - 1;
    combination[dimension] = flat - first_value_[dimension];
  }
  template <class Visit>
  void for_each_pair(const Combination& combination, const Visit& visit) const {
    for (std::size_t a = 0; a < combination.size(); ++a) {
      for (std::size_t b = a + 1; b < combination.size(); ++b) {
        if (combination[a] != unset && combination[b] != unset)
          visit(index(a, combination[a], b, combination[b]));
      }
    }
  }

  // each dimension's first value in the flat numbering of all values, then their count
  std::vector<std::size_t> first_value_;
  std::vector<bool> open_;  // [value, value], only if the first value's dimension comes first
};

std::vector<std::size_t> unset_dimensions(const Combination& partial) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < partial.size(); ++d) {
    if (partial[d] == unset) dimensions.push_back(d);
  }
  return dimensions;
}

// Sets the unset dimensions in random order, each to the value that covers most open pairs. Ties
// are broken at random.
Combination fill_greedily(Combination partial, std::span<const std::size_t> sizes,
                          const OpenPairs& open, Random& random) {
  std::vector<std::size_t> order = unset_dimensions(partial);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const std::size_t dimension : order) {
    std::size_t best_gain = 0, equals = 0, best = 0;
    for (std::size_t value = 0; value < sizes[dimension]; ++value) {
      const std::size_t gain = open.gain(partial, dimension, value);
      if (equals == 0 || gain > best_gain) {
        best_gain = gain, best = value, equals = 1;
      } else if (gain == best_gain && random.below(++equals) == 0) {
        best = value;
      }
    }
    partial[dimension] = best;
  }
  return partial;
}

// Sets the unset dimensions to their `number`-th filling (mixed radix).
Combination fill_numbered(Combination partial, std::span<const std::size_t> sizes,
                          const std::vector<std::size_t>& open, std::size_t number) {
  for (const std::size_t dimension : open) {
    partial[dimension] = number % sizes[dimension];
    number /= sizes[dimension];
  }
  return partial;
}

// Returns the allowed filling of `pair` that covers most open pairs. Tries all fillings if they are
// few, otherwise random ones.
std::optional<Combination> search_filling(const Combination& pair,
                                          std::span<const std::size_t> sizes, const OpenPairs& open,
                                          const Allowed& allowed, Random& random,
                                          std::size_t& tries_left) {
  const std::vector<std::size_t> dimensions = unset_dimensions(pair);
  std::size_t fillings = 1;
  for (const std::size_t d : dimensions)
    fillings = std::min(fillings * sizes[d], fillings_tried + 1);
  const bool all = fillings <= fillings_tried;

  std::optional<Combination> best;
  std::size_t best_gain = 0;
  for (std::size_t i = 0; i < std::min(fillings, fillings_tried) && tries_left > 0;
       ++i, --tries_left) {
    Combination candidate = pair;
    if (all) {
      candidate = fill_numbered(std::move(candidate), sizes, dimensions, i);
    } else {
      for (const std::size_t d : dimensions) candidate[d] = random.below(sizes[d]);
    }
    const std::size_t gain = open.gain(candidate);
    if ((!best || gain > best_gain) && allowed(candidate)) {
      best = std::move(candidate);
      best_gain = gain;
    }
  }
  return best;
}

std::optional<Combination> cover_pair(const Combination& pair, std::span<const std::size_t> sizes,
                                      const OpenPairs& open, const Allowed& allowed, Random& random,
                                      std::size_t& tries_left) {
  std::optional<Combination> best;
  std::size_t best_gain = 0;
  for (int i = 0; i < candidates_per_row && tries_left > 0; ++i, --tries_left) {
    Combination candidate = fill_greedily(pair, sizes, open, random);
    const std::size_t gain = open.gain(candidate);
    if (gain > best_gain && allowed(candidate)) {
      best = std::move(candidate);
      best_gain = gain;
    }
  }
  return best ? best : search_filling(pair, sizes, open, allowed, random, tries_left);
}

}  // namespace

std::vector<Combination> all_pairs(std::span<const std::size_t> sizes, const Allowed& allowed,
                                   std::size_t& tries_left) {
  assert(std::ranges::find(sizes, 0u) == sizes.end());
  std::vector<Combination> rows;
  if (sizes.size() < 2) {
    for (std::size_t value = 0; value < (sizes.empty() ? 1 : sizes[0]) && tries_left > 0;
         ++value, --tries_left) {
      if (Combination row(sizes.size(), value); allowed(row)) rows.push_back(std::move(row));
    }
    return rows;
  }
  OpenPairs open(sizes);
  Random random;
  for (auto pair = open.first(); pair && tries_left > 0; pair = open.first()) {
    const auto row = cover_pair(*pair, sizes, open, allowed, random, tries_left);
    open.cover(row ? *row : *pair);  // if no allowed row has the pair, closes the pair
    if (row) rows.push_back(*row);
  }
  return rows;
}

}  // namespace plumbline
