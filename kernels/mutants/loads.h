// Copies tiles of K and V from memory. Missing tokens become zeros, or what a change leaves there.
#pragma once

#include "kernels/mutants/block.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

class Loads {
 public:
  Loads(const Sequence& sequence, const Scratch& scratch, Mode mode, Change change,
        std::int64_t tile_keys)
      : sequence_(sequence),
        problem_(sequence.problem()),
        t_(scratch),
        mode_(mode),
        change_(change),
        tile_keys_(tile_keys) {}

  // Load keys of the block's sample and head. `tile` counts the tiles that the block visits.
  void keys(const Block& block, Range keys, std::int64_t tile) const;
  void values(const Block& block, Range keys, std::int64_t tile) const;

 private:
  bool is(Change change) const { return change_ == change; }
  bool is_stale(Range keys, std::int64_t tile, std::int64_t j) const;
  bool is_hidden(const Block& block, std::int64_t key) const;
  bool within_last_page(std::int64_t sample, std::int64_t key) const;

  const Sequence& sequence_;
  const plumbline_problem& problem_;
  const Scratch& t_;
  const Mode mode_;
  const Change change_;
  const std::int64_t tile_keys_;
};

}  // namespace plumbline::mutants
