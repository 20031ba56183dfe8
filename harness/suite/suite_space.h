// The problems that a group or diff of a suite spans, and their expansion. The tables `set`,
// `product`, `zip`, `pairwise` and `exclude` say which.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"
#include "harness/problem/problem.h"

namespace plumbline {

// A problem field and the texts it takes; all of them passed set_field.
struct Dimension {
  std::string key;
  std::vector<std::string> values;
  const ConfigNode* node = nullptr;  // where it stands
};

// Drops a combination that has one of the values of each field (and the kernel, where one is
// named).
struct Exclusion {
  std::optional<std::string> kernel;  // glob over the group's kernel pattern
  std::vector<Dimension> fields;
};

// Dimensions are in the canonical order of field_names(), never in that of the file.
struct ProblemSpace {
  std::vector<Dimension> set;  // one value each
  std::vector<Dimension> product;
  std::vector<Dimension> zip;  // equally many values each
  std::vector<Dimension> pairwise;
  std::vector<Exclusion> exclude;
};

// Reads the table `name` of single values (`set`, `defaults`). Keys in `also_known` are left to the
// caller.
std::vector<Dimension> read_single_values(const ConfigNode& table, std::string_view name,
                                          Errors& errors,
                                          std::span<const std::string_view> also_known = {});
// Reads the table `name` of `owner`: for each field a value or a list of them. Empty where there is
// no such table.
std::vector<Dimension> read_field_lists(const ConfigNode& owner, std::string_view name,
                                        Errors& errors);
// Reads those of the tables set, product, zip, pairwise and exclude that `owner` has. `kernels` are
// the patterns that exclude may name.
ProblemSpace read_space(const ConfigNode& owner, std::span<const std::string> kernels,
                        Errors& errors);

// Whether the problem has one of the values of each field.
bool has_values(const Problem& problem, const std::vector<Dimension>& fields);

// Problem fields set in canonical order, so that `heads` does not undo `heads_kv`. Does not
// validate.
Problem with_values(Problem problem, const std::vector<Dimension>& single_values);

// The combinations of product and zip over `base`, neither validated nor canonical: product varies
// its last dimension fastest, zip is inside.
std::vector<Problem> expand_fixed(const ProblemSpace& space, const Problem& base);

// Every problem of the space for one kernel pattern: product outermost, then zip, then pairwise.
struct Expansion {
  std::vector<Problem> problems;  // valid, canonical, not excluded; may repeat
  std::vector<std::string>
      // what is wrong with combinations that are invalid and not excluded, each sentence once
      invalid;
  // [dimension of product, zip, pairwise in this order][value]: in at least one problem
  std::vector<std::vector<bool>> used;
};
// `tries_left` counts down the combinations that are looked at; at 0 the expansion is incomplete.
Expansion expand(const ProblemSpace& space, const Problem& base, std::string_view kernel,
                 std::size_t& tries_left);

// How many combinations product and zip have; `most` + 1 where there are more than `most`.
std::size_t fixed_combinations(const ProblemSpace& space, std::size_t most);

}  // namespace plumbline
