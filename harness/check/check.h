// plumbline check: decides if rounding explains the output of a dump.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/dump.h"
#include "harness/diagnose/ladder.h"
#include "harness/judge/judgement.h"
#include "harness/outcome/compared_output.h"
#include "harness/problem/problem.h"
#include "harness/reference/scale_test.h"

namespace plumbline {

// rounding: the stated spec, or any rounding model if none is stated, explains every output and
// LSE, and their scale tests pass.
// bug: no rounding model explains them.
// undecided, if one of these holds:
// - A spec is stated, and only another model explains them.
// - No spec is stated, and every model that explains them rounds S, multiplies parts of fp32
//   numbers or exceeds 90 % of a limit.
// - The output fits another reading of unstated attributes.
// - Nothing could be judged.
// - The dump has gradients or dropout, which are not judged yet.
enum class Answer { rounding, bug, undecided };
template <>
inline constexpr std::array<std::string_view, 3> names_of<Answer>{"ROUNDING", "BUG", "UNDECIDED"};

// One rounding model tried on the output.
struct RungTrial {
  Rung rung;
  double sigma_rms = 0;  // rms of sigma: how tight the model is on this problem
  // Log-likelihood of the errors of outputs and LSE, taken as normal with the model's sigmas. It is
  // lower for a model that rounds more than the kernel or differently.
  double fit = 0;
  ComparedOutput outcome;
  Judgement judgement;
  ScaleTests scale;
  bool explains = false;

  // Returns the statistic or scale test nearest to its limit, in percent of that limit.
  double percent_of_limit() const;
};

struct CheckReport {
  std::string name;
  Problem problem;
  Answer answer = Answer::undecided;
  std::string sentence;            // the reason in one line
  std::vector<std::string> notes;  // about the inputs (Dump::notes)
  bool stated = false;             // trials.front() is the stated spec
  // In the order tried; empty if the dump has dropout, so that nothing can be compared.
  std::vector<RungTrial> trials;
  // The trial that the answer rests on: the one that explains, otherwise the stated one, otherwise
  // the one whose limits are exceeded least.
  std::size_t judged = 0;
  // Up to five, largest |e| / sigma first, from different (sample, head, row).
  std::vector<WorstElement> worst;
  // Suggested causes, the most telling first; empty unless bug or undecided.
  std::vector<std::string> suggestions;
  std::vector<std::string> unused_tensors;  // Dump::unused_tensors
  std::int64_t rows_given = 0;              // output rows in all heads, with padding
  std::vector<NotJudged> not_judged;        // Dump::not_judged

  // Returns the trial that the answer rests on; an empty one if there is none.
  const RungTrial& judged_trial() const;
  // Returns the likeliest cause of a bug if one is known, otherwise the sentence.
  const std::string& cause() const {
    return answer == Answer::bug && !suggestions.empty() ? suggestions.front() : sentence;
  }
};

struct CheckOptions {
  // See select_rows. The default allows all rows of 32 heads of 4,096 queries and keys with a head
  // dim of 128. That takes about ten seconds a model on two cores.
  double reference_cost_limit = 1.4e11;
  bool whole_ladder = false;  // try every rung even when a tighter one explains
};

// Returns UNDECIDED without trials if the dump has dropout (Dump::open). If the dump has gradients
// but no dropout, its output is tried, and the answer is BUG or UNDECIDED. Returns an error if
// there is nothing to judge: no output, an unknown spec, inputs that are not finite. The caller's
// floating-point state has no effect and is kept.
Result<CheckReport> check(const Dump& dump, const CheckOptions& options = {});

}  // namespace plumbline
