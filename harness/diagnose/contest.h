// Which of several explanations of an error is the likeliest, by the likelihood of a few rows under
// each. Words for people; nothing here decides.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/diagnose/row_answers.h"

namespace plumbline {

// An explanation is named only if it explains the rows, and if they are a thousand times likelier
// under it than under every explanation of another kind. The errors are taken as normal. Those of a
// row count as many draws as its P has keys that matter, 1 / sum p^2, because a row's columns share
// the errors of its P.
class Contest {
 public:
  explicit Contest(const FailingOutput& failing);

  using Vary = std::function<RowVariation(const RowId&)>;
  // The kernel answered another question, or rounded in a way that can be repeated: what is left is
  // the error of the spec judged by. Takes part where that explains nine in ten of the rows, those
  // with the largest errors first.
  void add(const std::string& kind, const std::string& sentence, const Vary& vary);
  // The kernel rounds more, in a way that cannot be repeated: its errors have the scales of `spec`.
  // Wins only where these explain more rows, by all limits, and the rows' errors are alike.
  void add(const std::string& kind, const std::string& sentence, const RoundingSpec& spec);

  // The winner's sentence; "" where there is none, or where it has no sentence.
  std::string winner() const;
  const RowAnswers& answers() const { return answers_; }
  // Of the reference, those with the largest errors first.
  const std::vector<std::size_t>& rows() const { return rows_; }

 private:
  struct Entry {
    std::string kind, sentence;
    double log_likelihood = 0;
    RoundingSpec spec;
    bool is_spec = false;
  };
  bool is_of_scale(const RoundingSpec& spec) const;

  const FailingOutput& failing_;
  const RowAnswers answers_;
  std::vector<std::size_t> rows_;
  std::vector<double> draws_;  // of each row, per column
  std::vector<Entry> entries_;
};

}  // namespace plumbline
