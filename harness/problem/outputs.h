// The table of the outputs that kernels return besides `out`. All code that handles outputs walks
// this table. CONTRIBUTING.md, "a named output", explains how to add one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/enumeration.h"

namespace plumbline {

// Outputs with one number for each query row and head. Each is fp32 with the layout
// Geometry::row_shape, has its own scale sigma, and one statistic with a limit, the largest |error|
// / sigma. A row without visible keys holds -infinity (except for the LSE with a sink).
//   name       in the C interface, dumps, the database and JSON
//   words      in sentences: "the LSE"
//   other      another name in dumps
//   limit      the default of the statistic's limit
//   of_merges  true if merges have the output
//   absent     the note if a kernel does not return it; "" = none
#define PLUMBLINE_ROW_OUTPUTS(ROW)                                 \
  ROW(lse, "LSE", "softmax_lse", 6, true,                          \
      "lse=absent: denominator and exp2 errors could not be seen") \
  ROW(max_logit, "largest logit", "softmax_max", 6, false, "")

#define PLUMBLINE_ENUMERATOR(name, ...) name,
enum class RowOutput { PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ENUMERATOR) };
#undef PLUMBLINE_ENUMERATOR

struct NamedOutput {
  std::string_view name, words, other_name;
  bool of_merges = true;
};

#define PLUMBLINE_ROW(name, words, other, limit, of_merges, absent) \
  NamedOutput{#name, words, other, of_merges},
inline constexpr std::array row_outputs{PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)};
#undef PLUMBLINE_ROW

constexpr const NamedOutput& table_row(RowOutput output) {
  return row_outputs[static_cast<std::size_t>(output)];
}

// The row outputs that have no columns of their own in SQLite. Each is a row of outcome_output.
inline constexpr auto further_row_outputs = [] {
  std::array<RowOutput, row_outputs.size() - 1> all_but_lse{};
  for (std::size_t i = 0; i < all_but_lse.size(); ++i) all_but_lse[i] = RowOutput(i + 1);
  return all_but_lse;
}();

// One value for each row output.
template <class T>
class PerRowOutput {
 public:
  constexpr T& operator[](RowOutput output) { return values_[static_cast<std::size_t>(output)]; }
  constexpr const T& operator[](RowOutput output) const {
    return values_[static_cast<std::size_t>(output)];
  }
  bool operator==(const PerRowOutput&) const = default;
  std::array<T, row_outputs.size()> values_{};
};

// Elements are identified by sample, head, row and column. Each row output has a negative column:
// -1 for the LSE.
constexpr std::int64_t column_of(RowOutput output) { return -1 - static_cast<int>(output); }
constexpr std::optional<RowOutput> row_output_at(std::int64_t column) {
  if (column >= 0 || -column > static_cast<std::int64_t>(row_outputs.size())) return std::nullopt;
  return static_cast<RowOutput>(-1 - column);
}

}  // namespace plumbline
