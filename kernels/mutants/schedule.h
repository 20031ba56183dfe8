// Chooses which keys a kernel processes together, and when, for kernels that break an invariance.
// The choices depend on the same facts as in real kernels, although these kernels promise equal
// bits. Each choice is legal by itself; mutants.toml names the facts.
#pragma once

#include <vector>

#include "kernels/mutants/sequence.h"

namespace plumbline::mutants {

class Schedule {
 public:
  // `requested_splits`: requested by the caller; 0 = the kernel chooses.
  Schedule(const Sequence& sequence, const plumbline_tensors& tensors, Change change,
           int requested_splits);

  std::int64_t tile_keys() const { return tile_keys_; }  // upper bound, a multiple of 8
  std::vector<Range> splits(std::int64_t sample) const;  // at most max_splits
  // in the order of processing
  std::vector<Range> tiles(std::int64_t sample, Range split) const;

 private:
  bool is(Change change) const { return change_ == change; }
  std::int64_t choose_tile_keys() const;
  std::int64_t length(std::int64_t sample) const { return sequence_.length_kv(sample); }
  std::int64_t capacity() const;
  std::int64_t keys_per_split(std::int64_t sample) const;
  std::vector<Range> splits_of_work_queue(std::int64_t sample) const;
  std::int64_t origin(std::int64_t sample) const;
  void cut(Range keys, std::int64_t origin, std::vector<Range>& tiles) const;

  const Sequence& sequence_;
  const plumbline_problem& problem_;
  const Change change_;
  const int splits_asked_;
  const bool is_packed_;
  const std::int64_t tile_keys_;
};

}  // namespace plumbline::mutants
