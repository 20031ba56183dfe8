// plumbline check: is the output of a dump explained by rounding?
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

// rounding: the stated spec, or (none stated) some rung, explains the output: every element, its
// LSE and the scale of both. undecided: the stated spec does not, a looser rung does. Or, none
// stated, only a rung that rounds S does, or only above 90 % of a limit. Or nothing could be
// judged, or the dump asks what nothing judges yet: gradients or dropout. bug: no rung does.
enum class Answer { rounding, bug, undecided };
template <>
inline constexpr std::array<std::string_view, 3> names_of<Answer>{"ROUNDING", "BUG", "UNDECIDED"};

// One rung tried on the output.
struct RungTrial {
  Rung rung;
  double sigma_rms = 0;  // rms of sigma: how tight the rung is on this problem
  // Log-likelihood of the errors of outputs and LSE, were they normal with the rung's scales. A
  // rung that rounds otherwise, or more than the kernel did, has less.
  double fit = 0;
  ComparedOutput outcome;
  Judgement judgement;
  ScaleTests scale;
  bool explains = false;

  // Of the statistics and of the scale tests, the one nearest to its limit.
  double percent_of_limit() const;
};

struct CheckReport {
  std::string name;
  Problem problem;
  Answer answer = Answer::undecided;
  std::string sentence;            // one line for people: why this answer
  std::vector<std::string> notes;  // what was done to the dump's inputs before (Dump::notes)
  bool stated = false;             // trials.front() is the stated spec
  // in the order tried; empty where the dump's dropout leaves nothing to compare with
  std::vector<RungTrial> trials;
  // the trial that the answer rests on: the one that explains, else the stated or the loosest
  // one
  std::size_t judged = 0;
  // up to five, largest |e| / sigma first, from different (sample, head, row)
  std::vector<WorstElement> worst;
  // What kind of fault the pattern suggests, most telling first; empty unless bug or undecided.
  std::vector<std::string> suggestions;
  std::vector<std::string> tensors_without_a_part;  // of the dump
  std::int64_t rows_given = 0;                      // of the output, in all heads, padding included
  std::vector<NotJudged> not_judged;                // Dump::not_judged

  // The trial that the answer rests on; an empty one where there is none.
  const RungTrial& judged_trial() const;
  // The reason in one line: the likeliest cause of a bug if one is known, otherwise the sentence.
  const std::string& cause() const {
    return answer == Answer::bug && !suggestions.empty() ? suggestions.front() : sentence;
  }
};

struct CheckOptions {
  // See select_rows. All rows of 32 heads of 4,096 queries and keys with a head dim of 128, which
  // takes about ten seconds a rung on two cores.
  double reference_cost_limit = 1.4e11;
  bool whole_ladder = false;  // try every rung even when a tighter one explains
};

// UNDECIDED, with trials or without, where the dump asks what nothing judges yet (Dump::open),
// unless its output is a bug without that. An error where there is nothing to judge: no output, an
// unknown spec, inputs that are not finite.
// The caller's floating-point state changes nothing, and stays as it is.
Result<CheckReport> check(const Dump& dump, const CheckOptions& options = {});

}  // namespace plumbline
