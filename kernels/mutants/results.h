// Turns O, m and l into the output: stores a split's results, merges splits, writes the rows.
#pragma once

#include "kernels/mutants/arithmetic.h"
#include "kernels/mutants/block.h"
#include "kernels/mutants/logits.h"

namespace plumbline::mutants {

// Returns the dtype of kernels that keep values in 16 bits: bf16 if Q (or for fp8 Q the output) is
// bf16, otherwise fp16.
std::uint32_t narrow_dtype(const plumbline_problem& problem);
void round_row(std::uint32_t dtype, float* row, std::int64_t count);
void scale_row(float* row, std::int64_t count, float factor);

class Results {
 public:
  Results(const Sequence& sequence, const Logits& logits, const Scratch& scratch, Mode mode,
          Change change)
      : sequence_(sequence),
        logits_(logits),
        problem_(sequence.problem()),
        t_(scratch),
        mode_(mode),
        change_(change),
        narrow_(narrow_dtype(problem_)) {}

  // Sets out = O / l and lse = m + log2 l. A row that saw no key keeps O = 0 and has lse =
  // -infinity.
  void normalise(const Block& block) const;
  void store_partial(const Block& block, std::int64_t split) const;
  void merge(const Block& block, std::int64_t splits) const;
  void store(const Block& block) const;

 private:
  bool is(Change change) const { return change_ == change; }
  float* out(std::int64_t r) const { return t_.out + r * t_.width_vo; }
  float* partial_out(std::int64_t split, std::int64_t r) const {
    return t_.partial_out + (split * block_rows + r) * t_.width_vo;
  }
  float& partial_lse(std::int64_t split, std::int64_t r) const {
    return t_.partial_lse[split * block_rows + r];
  }

  bool is_target_row(const Block& block, std::int64_t r) const;
  void divide(float* row, float l) const;
  void merge_row(std::int64_t splits, std::int64_t r) const;
  float weight(float below) const;
  void merge_in_pairs(std::int64_t splits, std::int64_t r) const;
  void merge_pair(std::int64_t a, std::int64_t b, std::int64_t r) const;
  void store_row(const Block& block, std::int64_t r) const;
  float natural_lse(const Block& block, std::int64_t r) const;

  const Sequence& sequence_;
  const Logits& logits_;
  const plumbline_problem& problem_;
  const Scratch& t_;
  const Mode mode_;
  const Change change_;
  const std::uint32_t narrow_;
};

}  // namespace plumbline::mutants
