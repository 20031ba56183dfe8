// Expands the set, product, zip and pairwise tables of a group into problems.

#include <algorithm>
#include <cassert>

#include "harness/suite/pairwise.h"
#include "harness/suite/suite.h"
#include "harness/suite/suite_space.h"

namespace plumbline {
namespace {

void assign(Problem& problem, const std::string& key, const std::string& value) {
  [[maybe_unused]] const auto message = set_field(problem, key, value);
  assert(!message && "values were checked when the suite was read");
}

// The current value of every dimension of a space. `product` and `pairwise` have one choice per
// dimension, `zip` has one for all.
class Cursor {
 public:
  Combination product, pairwise;
  std::size_t zip = 0;

  Cursor(const ProblemSpace& space, const Problem& base)
      : product(space.product.size(), 0), pairwise(space.pairwise.size(), 0), base_(base) {
    for (const Dimension& d : space.set) axes_.push_back({&d, &none_});
    for (std::size_t i = 0; i < product.size(); ++i)
      axes_.push_back({&space.product[i], &product[i]});
    for (const Dimension& d : space.zip) axes_.push_back({&d, &zip});
    for (std::size_t i = 0; i < pairwise.size(); ++i)
      axes_.push_back({&space.pairwise[i], &pairwise[i]});
    first_listed_ = space.set.size();
    sorted_ = axes_;
    const auto names = field_names();
    const auto position = [&](const Axis& axis) {
      return std::ranges::find(names, axis.dimension->key);
    };
    std::ranges::sort(sorted_,
                      [&](const Axis& a, const Axis& b) { return position(a) < position(b); });
  }
  Cursor(const Cursor&) = delete;  // axes_ points into this object
  Cursor& operator=(const Cursor&) = delete;

  Problem problem() const {
    Problem result = base_;
    for (const Axis& axis : sorted_)
      assign(result, axis.dimension->key, axis.dimension->values[*axis.choice]);
    return result;
  }

  std::vector<std::vector<bool>> nothing_used() const {
    std::vector<std::vector<bool>> used;
    for (std::size_t i = first_listed_; i < axes_.size(); ++i)
      used.emplace_back(axes_[i].dimension->values.size(), false);
    return used;
  }
  void mark_used(std::vector<std::vector<bool>>& used) const {
    for (std::size_t i = first_listed_; i < axes_.size(); ++i)
      used[i - first_listed_][*axes_[i].choice] = true;
  }

 private:
  struct Axis {
    const Dimension* dimension;
    const std::size_t* choice;
  };
  Problem base_;
  std::vector<Axis> axes_;    // set, product, zip, pairwise
  std::vector<Axis> sorted_;  // in canonical order
  std::size_t first_listed_ = 0;
  std::size_t none_ = 0;
};

// Calls `visit` for every combination of product (last dimension fastest) and zip.
template <class Visit>
void for_each_fixed(const ProblemSpace& space, Cursor& cursor, const Visit& visit) {
  const std::size_t zipped = space.zip.empty() ? 1 : space.zip.front().values.size();
  while (true) {
    for (cursor.zip = 0; cursor.zip < zipped; ++cursor.zip) visit();
    std::size_t dimension = space.product.size();
    while (dimension > 0 &&
           ++cursor.product[dimension - 1] == space.product[dimension - 1].values.size()) {
      cursor.product[--dimension] = 0;
    }
    if (dimension == 0) return;
  }
}

bool is_excluded(const ProblemSpace& space, const Problem& problem, std::string_view kernel) {
  return std::ranges::any_of(space.exclude, [&](const Exclusion& exclusion) {
    if (exclusion.kernel && !glob_match(*exclusion.kernel, kernel)) return false;
    return has_values(problem, exclusion.fields);
  });
}

}  // namespace

bool has_values(const Problem& problem, const std::vector<Dimension>& fields) {
  return std::ranges::all_of(fields, [&](const Dimension& field) {
    return std::ranges::any_of(
        field.values, [&](const auto& value) { return has_field(problem, field.key, value); });
  });
}

Problem with_values(Problem problem, const std::vector<Dimension>& single_values) {
  for (const Dimension& dimension : single_values)
    assign(problem, dimension.key, dimension.values.front());
  return problem;
}

std::vector<Problem> expand_fixed(const ProblemSpace& space, const Problem& base) {
  Cursor cursor(space, base);
  std::vector<Problem> problems;
  for_each_fixed(space, cursor, [&] { problems.push_back(cursor.problem()); });
  return problems;
}

Expansion expand(const ProblemSpace& space, const Problem& base, std::string_view kernel,
                 std::size_t& tries_left) {
  Cursor cursor(space, base);
  Expansion result;
  result.used = cursor.nothing_used();
  std::vector<std::size_t> sizes;
  for (const Dimension& dimension : space.pairwise) sizes.push_back(dimension.values.size());

  for_each_fixed(space, cursor, [&] {
    if (tries_left == 0) return;
    std::vector<std::string> wrong;  // messages of the first invalid combination
    const auto allowed = [&](const Combination& combination) {
      std::ranges::copy(combination, cursor.pairwise.begin());
      const Problem problem = cursor.problem();
      if (is_excluded(space, problem, kernel)) return false;
      const std::vector<std::string> found = validate(problem);
      if (wrong.empty()) wrong = found;
      return found.empty();
    };
    const std::vector<Combination> rows = all_pairs(sizes, allowed, tries_left);
    for (const Combination& row : rows) {
      std::ranges::copy(row, cursor.pairwise.begin());
      cursor.mark_used(result.used);
      result.problems.push_back(canonical(cursor.problem()));
    }
    // Invalid combinations within pairwise only restrict the search. If no valid one is left, the
    // suite has a mistake.
    if (!rows.empty()) return;
    for (std::string& sentence : wrong) {
      if (std::ranges::find(result.invalid, sentence) == result.invalid.end()) {
        result.invalid.push_back(std::move(sentence));
      }
    }
  });
  return result;
}

}  // namespace plumbline
