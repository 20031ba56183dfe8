// The faults of a filled problem's outputs, for tests of causes that rest on them.
#pragma once

#include "harness/compare/faults.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline::test {

inline Faults faults_of(const FilledProblem& filled) {
  const ValueRange range =
      value_range(filled.geometry, filled.v.data(), InputRounding(filled.spec));
  return find_faults({.geometry = &filled.geometry,
                      .outputs = filled.outputs(),
                      .range = &range,
                      .spec = &filled.spec,
                      .policy = PaddingPolicy::zeros,
                      .reference = &filled.reference});
}

// A failing problem with its faults. Refers to `filled`, which must outlive it.
struct FaultyOutput {
  explicit FaultyOutput(const FilledProblem& filled) : faults(faults_of(filled)), problem(filled) {
    problem.output.faults = &faults;
  }
  const Faults faults;
  FailingProblem problem;
};

}  // namespace plumbline::test
