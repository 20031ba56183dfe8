// Draws the query and key length of each sample from problem.lengths and the seed.
#include "harness/problem/lengths.h"

#include <algorithm>

#include "harness/base/counter_hash.h"
#include "harness/problem/recorded_inputs.h"

namespace plumbline {
namespace {

struct Range {
  std::int64_t low, high;
};

Range range_of(Lengths law, std::int64_t sample, std::int64_t full) {
  if (full == 0) return {0, 0};
  switch (law) {
    case Lengths::full:
      return {full, full};
    case Lengths::random:
    case Lengths::with_zero:
      return {1, full};
    case Lengths::near_full:
    case Lengths::serving:
      return {std::max<std::int64_t>(1, full - 20), full};
    case Lengths::third:
      return {std::max<std::int64_t>(1, full / 3), full};
    case Lengths::one_long:
      return sample == 0 ? Range{full, full} : Range{1, std::max<std::int64_t>(1, full / 16)};
  }
  return {full, full};
}

// Returns the sample that has the full length: any sample under `random`, one that keeps its keys
// under `with_zero`.
std::int64_t full_sample(const Problem& problem, HashPurpose purpose) {
  const std::uint64_t bits = counter_hash(problem.seed, static_cast<std::uint64_t>(purpose), 0);
  if (problem.lengths == Lengths::random) return uniform_in(bits, 0, problem.batch - 1);
  if (problem.batch <= 3) return 0;
  // neither sample 1 nor the last
  const std::int64_t choice = uniform_in(bits, 0, problem.batch - 3);
  return choice == 0 ? 0 : choice + 1;
}

std::vector<std::int32_t> draw(const Problem& problem, std::int64_t full, HashPurpose purpose,
                               HashPurpose full_purpose) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    const Range range = range_of(problem.lengths, sample, full);
    const std::uint64_t bits = counter_hash(problem.seed, static_cast<std::uint64_t>(purpose),
                                            static_cast<std::uint64_t>(sample));
    lengths.push_back(static_cast<std::int32_t>(uniform_in(bits, range.low, range.high)));
  }
  if (problem.lengths == Lengths::random || problem.lengths == Lengths::with_zero) {
    lengths[static_cast<std::size_t>(full_sample(problem, full_purpose))] =
        static_cast<std::int32_t>(full);
  }
  return lengths;
}

}  // namespace

SampleLengths draw_lengths(const Problem& problem) {
  if (!problem.inputs.empty()) return recorded_inputs_of(problem)->lengths;
  SampleLengths lengths;
  lengths.kv = draw(problem, problem.seq_kv, HashPurpose::length_kv, HashPurpose::full_sample_kv);
  if (problem.seq_q == problem.seq_kv) {
    lengths.q = lengths.kv;
  } else {
    lengths.q = draw(problem, problem.seq_q, HashPurpose::length_q, HashPurpose::full_sample_q);
  }
  if (problem.lengths == Lengths::serving) {
    for (std::size_t sample = 0; sample < lengths.kv.size(); ++sample) {
      const auto prompt = static_cast<std::int32_t>(9 + sample / 3 % 2);
      lengths.q[sample] = std::min<std::int32_t>(1, static_cast<std::int32_t>(problem.seq_q));
      if (sample % 3 != 1) continue;
      lengths.q[sample] = std::min(prompt, static_cast<std::int32_t>(problem.seq_q));
      lengths.kv[sample] = std::min(prompt, static_cast<std::int32_t>(problem.seq_kv));
    }
  }
  if (problem.lengths == Lengths::with_zero) {
    lengths.kv.back() = 0;  // its queries stay, as rows that see no key
    if (problem.batch >= 3) lengths.q[1] = lengths.kv[1] = 0;
  }
  return lengths;
}

}  // namespace plumbline
