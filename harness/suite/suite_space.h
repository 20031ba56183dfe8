// The problems that a group or diff of a suite spans, and their expansion. The tables `set`,
// `product`, `zip`, `pairwise` and `exclude` define them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"
#include "harness/problem/problem.h"

namespace plumbline {

// A problem field with texts for its values, all of which passed set_field.
struct Dimension {
  std::string key;
  std::vector<std::string> values;
  const ConfigNode* node = nullptr;  // place in the file
};

// Drops combinations that have one of the values of each field (and the kernel, if one is named).
struct Exclusion {
  std::optional<std::string> kernel;  // glob that is matched with the group's kernel pattern
  std::vector<Dimension> fields;
};

// Dimensions are in the canonical order of field_names(), not of the file.
struct ProblemSpace {
  std::vector<Dimension> set;  // one value each
  std::vector<Dimension> product;
  std::vector<Dimension> zip;  // equal numbers of values
  std::vector<Dimension> pairwise;
  std::vector<Exclusion> exclude;
};

// Reads the table `name` of single values (`set`, `defaults`). The caller handles the keys in
// `also_known`.
std::vector<Dimension> read_single_values(const ConfigNode& table, std::string_view name,
                                          Errors& errors,
                                          std::span<const std::string_view> also_known = {});
// Reads the table `name` of `owner`: a value or a list of values for each field. Empty if there is
// no such table.
std::vector<Dimension> read_field_lists(const ConfigNode& owner, std::string_view name,
                                        Errors& errors);
// Reads the tables set, product, zip, pairwise and exclude of `owner`. `kernels` are the patterns
// that exclude may name.
ProblemSpace read_space(const ConfigNode& owner, std::span<const std::string> kernels,
                        Errors& errors);

// Returns true if the problem has one of the values of each field.
bool has_values(const Problem& problem, const std::vector<Dimension>& fields);

// Sets problem fields in the given order, which must be canonical, so that `heads` does not undo
// `heads_kv`. Does not validate.
Problem with_values(Problem problem, const std::vector<Dimension>& single_values);

// Returns the combinations of product and zip over `base`, neither validated nor canonical. zip
// varies fastest, then the last dimension of product.
std::vector<Problem> expand_fixed(const ProblemSpace& space, const Problem& base);

// All problems of the space for one kernel pattern: product outermost, then zip, then pairwise.
struct Expansion {
  std::vector<Problem> problems;  // valid, canonical, not excluded; may repeat
  // errors of combinations that are invalid and not excluded, each sentence once
  std::vector<std::string> invalid;
  // [dimension of product, zip, pairwise in this order][value]: true if some problem has it
  std::vector<std::vector<bool>> used;
};
// `tries_left` counts down the combinations that are tried. At 0 the expansion is incomplete.
Expansion expand(const ProblemSpace& space, const Problem& base, std::string_view kernel,
                 std::size_t& tries_left);

// Returns the number of combinations of product and zip, or `most` + 1 if there are more than
// `most`.
std::size_t fixed_combinations(const ProblemSpace& space, std::size_t most);

}  // namespace plumbline
