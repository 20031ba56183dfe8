// Ranks explanations of an error by the likelihood of a few rows under each. Text for reports; no
// verdict depends on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/diagnose/row_calculator.h"

namespace plumbline {

// Kinds that replays (split_results.cc) and looser specs (other_roundings.cc) have in common.
inline constexpr const char* pv_in_fp16 = "P V";
inline constexpr const char* o_in_bf16 = "O in bf16";

// An explanation is named only if it fits the rows and makes them a thousand times likelier than
// every explanation of another kind. Errors are taken as normal. The columns of a row share the
// errors of its P. A row therefore counts as 1 / sum p^2 draws (about the number of keys that
// matter), at most one for each column. An explanation without a sentence only competes: if it
// wins, no cause is named.
class ExplanationRanking {
 public:
  explicit ExplanationRanking(const FailingOutput& failing);

  using Vary = std::function<RowVariation(const RowId&)>;
  // Adds an explanation that can be recomputed: the kernel solved another problem, or rounded in a
  // reproducible way. The errors that remain have the judged spec's sigmas. The explanation is
  // dropped unless it fits at least nine in ten rows.
  void add(const std::string& kind, const std::string& sentence, const Vary& vary);
  // Adds such an explanation by a function that returns the result of rows()[n].
  using Answer = std::function<CalculatedRow(std::size_t n)>;
  void add_answers(const std::string& kind, const std::string& sentence, const Answer& answer);
  // Adds a looser spec: the kernel rounds more, in a way that cannot be reproduced, so its errors
  // have the sigmas of `spec`. It wins only if it also explains the rows of second_look() within
  // all limits and the errors of these rows are of similar size, also in each query head.
  void add(const std::string& kind, const std::string& sentence, const RoundingSpec& spec);

  struct Best {
    std::string kind, sentence;
  };
  // Returns the winner; empty if no explanation wins, the winner has no sentence or is_cut().
  Best best() const;
  std::string best_sentence() const { return best().sentence; }
  // Returns true if explanations are missing, because failing.late() returned true.
  bool is_cut() const { return is_cut_; }
  const RowCalculator& answers() const { return answers_; }
  // Indices of the rows in the reference, the largest errors first.
  const std::vector<std::size_t>& rows() const { return rows_; }

 private:
  struct Entry {
    std::string kind, sentence;
    double log_likelihood = 0;
    RoundingSpec spec;
    bool is_spec = false;
  };
  bool has_errors_of_spec(const RoundingSpec& spec) const;
  // Returns true if an explanation may be added.
  bool has_time();

  const FailingOutput& failing_;
  const RowCalculator answers_;
  std::vector<std::size_t> rows_;
  std::vector<double> draws_;  // draws of a row / columns
  std::vector<Entry> entries_;
  bool is_cut_ = false;
};

}  // namespace plumbline
