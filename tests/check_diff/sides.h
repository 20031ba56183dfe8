// Two outputs of one problem, both exact until a test plants something.
#pragma once

#include <memory>
#include <string>

#include "harness/check/diff_measured.h"
#include "harness/compare/statistics.h"
#include "tests/compare/filled_problem.h"

namespace plumbline::test {

// A side that is said to keep its limits; its output is that of `filled` now.
inline MeasuredSide side_of(const FilledProblem& filled, const std::string& label) {
  MeasuredSide side;
  side.label = label;
  side.spec_name = "the strict spec";
  side.spec = filled.spec;
  side.answer = Answer::rounding;
  side.judgement.verdict = Verdict::pass;
  side.judgement.percent_of_limit = 50;
  side.judgement.nearest_statistic = "peak";
  side.measurement.outcome.status = Status::ok;
  side.measurement.outcome.c = {label, "cpu", filled.geometry.problem()};
  side.measurement.outcome.case_id = label;
  side.measurement.geometry = std::make_shared<const Geometry>(filled.geometry);
  side.measurement.reference = std::make_shared<const Reference>(filled.reference);
  side.measurement.rows = rows_of(filled.geometry, filled.outputs(), filled.reference);
  return side;
}

// A dump of the problem as it is now, with a spec stated so that no ladder is walked.
inline Dump dump_of(const FilledProblem& filled, const std::string& name,
                    const std::string& spec = "FlashAttention-2") {
  Dump dump;
  dump.name = name;
  dump.geometry = std::make_shared<const Geometry>(filled.geometry);
  dump.q = filled.q;
  dump.k = filled.k;
  dump.v = filled.v;
  dump.out = filled.out;
  dump.spec = spec;
  return dump;
}

}  // namespace plumbline::test
