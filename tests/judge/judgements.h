// Helpers for tests of judgements: odd numbers, a small problem, the names of findings.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/problem/problem.h"

namespace plumbline {

inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline Problem small_problem() {
  Problem problem;
  problem.seq_q = 16;
  problem.seq_kv = 64;
  return problem;
}

inline std::vector<std::string> statistics(const Judgement& judgement) {
  std::vector<std::string> result;
  for (const Finding& finding : judgement.findings) result.emplace_back(name(finding.kind));
  return result;
}

inline std::ostream& operator<<(std::ostream& out, Verdict verdict) { return out << name(verdict); }

}  // namespace plumbline
