// The query and key lengths of a problem's samples.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/problem/problem.h"

namespace plumbline {

struct SampleLengths {
  std::vector<std::int32_t> q, kv;  // batch each
};

// Draws the lengths by problem.lengths (see Lengths in problem.h) from problem.seed. Lengths of
// recorded inputs are the file's; throws std::runtime_error if it cannot be read.
SampleLengths draw_lengths(const Problem& problem);

// Purposes of counter_hash in this module. Each has its own stream, so that choices are
// independent.
enum class HashPurpose : std::uint64_t {
  length_kv = 1,
  length_q = 2,
  full_sample_kv = 3,
  full_sample_q = 4,
  page_order = 5,
  prefix = 6,
  documents = 7,
  mask_bits = 8
};

}  // namespace plumbline
