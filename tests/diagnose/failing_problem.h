// A filled problem whose output is judged by its spec, as an input of the diagnosis.
#pragma once

#include "harness/compare/statistics.h"
#include "harness/contract/limits.h"
#include "harness/diagnose/failing_output.h"
#include "harness/diagnose/locate.h"
#include "harness/reference/key_values.h"
#include "tests/compare/filled_problem.h"

namespace plumbline::test {

// Refers to `filled`, which must outlive it.
struct FailingProblem {
  explicit FailingProblem(const FilledProblem& filled)
      : comparison(compare(filled.geometry, filled.outputs(), filled.reference)),
        limits(
            default_limits(filled.spec, filled.geometry.problem(), comparison.statistics.elements)),
        location(locate({&filled.geometry, filled.inputs(), &filled.spec, &filled.reference,
                         &comparison, limits})),
        output{&filled.geometry, filled.inputs(), filled.outputs(), &filled.spec, &filled.reference,
               &comparison,      limits,          &faults,          &location} {}
  FailingProblem(const FailingProblem&) = delete;
  FailingProblem& operator=(const FailingProblem&) = delete;

  bool fails() const { return !within_limits(comparison.statistics, limits); }

  const Comparison comparison;
  const Limits limits;
  const Faults faults;
  const Location location;
  FailingOutput output;
};

// Judges the problem by another spec, and writes its exact outputs again.
inline void respecify(FilledProblem& filled, const RoundingSpec& spec) {
  filled.spec = spec;
  filled.reference = compute_reference(filled.geometry, filled.inputs(), filled.spec,
                                       select_rows(filled.geometry, 1e12));
  filled.write_exact();
}

// Writes the rows of another problem with the same inputs.
inline void write_rows(FilledProblem& filled, const Reference& other) {
  const auto columns = static_cast<std::size_t>(other.columns);
  for (std::size_t r = 0; r < other.selection.rows.size(); ++r) {
    const RowId& id = other.selection.rows[r];
    for (std::size_t j = 0; j < columns; ++j)
      filled.set(id, static_cast<std::int64_t>(j), other.o[r * columns + j]);
    filled.set_lse(id, other.lse[r]);
  }
}

// Returns V of a key as the products see it.
inline std::vector<double> value_of(const FilledProblem& filled, const RowId& id,
                                    std::int64_t key) {
  const Problem& problem = filled.geometry.problem();
  std::vector<double> value(static_cast<std::size_t>(problem.head_dim_vo));
  KeyValues(filled.geometry, filled.k.data(), filled.v.data(), InputRounding(filled.spec))
      .value(id.sample, key, id.head / problem.group(), value);
  return value;
}

}  // namespace plumbline::test
