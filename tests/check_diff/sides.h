// Two outputs of one problem, both exact until a test plants an error.
#pragma once

#include <memory>
#include <string>

#include "harness/check/diff_measured.h"
#include "harness/compare/statistics.h"
#include "tests/compare/filled_problem.h"

namespace plumbline::test {

// Returns a side with the current output of `filled` and a judgement within its limits.
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

// Returns a dump of the current problem. A stated spec skips the ladder.
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
