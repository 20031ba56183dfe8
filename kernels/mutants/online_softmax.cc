// The kernel that all mutants share. Without the changes it is attention by tiles with an online
// softmax:
//
//   for each block of rows of one head, for each KV split, for each tile of keys
//     S = Q K^T                           [rows, keys]
//     S = scale log2(e) S, softcap, ALiBi, mask (logits.h): S is in units of log2
//     m' = max(m, row max of S)
//     P = 2^(S - m'),  l = l 2^(m - m') + row sum of P
//     O = O 2^(m - m') + round(P) V
//   an attention sink is one more term of l, in the first split
//   out_s = O / l,  lse_s = m + log2 l    for each split s
//   w_s = 2^(lse_s - max lse),  out = sum_s w_s out_s / sum_s w_s
//   LSE = ln(2) (max lse + log2 sum_s w_s)
//
// Rows of a block differ only in the keys that they see, so a row's bits do not depend on its
// block, on other samples or on the layout.
#include "kernels/mutants/online_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/mutants/choices.h"
#include "kernels/mutants/loads.h"
#include "kernels/mutants/results.h"
#include "kernels/mutants/schedule.h"
#include "kernels/mutants/stale.h"

namespace plumbline::mutants {
namespace {

class Kernel {
 public:
  Kernel(const Sequence& sequence, const Schedule& schedule, const Scratch& scratch, Mode mode,
         Change change)
      : sequence_(sequence),
        schedule_(schedule),
        problem_(sequence.problem()),
        t_(scratch),
        mode_(mode),
        change_(change),
        tile_keys_(is_breaker(change) ? schedule.tile_keys() : tile_keys(change)),
        p_dtype_(p_dtype(problem_, mode, change)),
        narrow_(narrow_dtype(problem_)),
        loads_(sequence, scratch, mode, change, tile_keys_),
        logits_(sequence, change),
        sum_(sum_of_products(problem_, mode, change)),
        results_(sequence, logits_, scratch, mode, change) {}

  void run() {
    const bool leaves_rows = is(Change::memory_padded_rows_left_over);
    if (leaves_rows && cpu::is_padded(problem_.layout))
      cpu::clear_padded_rows(sequence_.attention());
    for (block_.sample = 0; block_.sample < sequence_.samples(); ++block_.sample) {
      const Range tokens = sequence_.computed_tokens(block_.sample);
      const std::int64_t step = is(Change::legal_one_row_blocks) ? 1 : block_rows;
      for (block_.head = 0; block_.head < problem_.heads_q; ++block_.head) {
        for (block_.first = tokens.begin; block_.first < tokens.end; block_.first += step) {
          block_.rows = std::min(step, tokens.end - block_.first);
          run_block();
        }
      }
    }
    if (cpu::is_padded(problem_.layout) && !is(Change::memory_padded_rows_unwritten) &&
        !is(Change::memory_padded_rows_computed) && !leaves_rows) {
      cpu::clear_padded_rows(sequence_.attention());
    }
  }

 private:
  bool is(Change change) const { return change_ == change; }

  float lazy_limit() const {
    return mutants::lazy_limit(change_, p_dtype_, problem_.lse_wanted != 0);
  }

  // ---- A block of rows ----

  void run_block() {
    for (std::int64_t r = 0; r < block_.rows; ++r) load_query(r);
    const std::vector<Range> keys_of_splits =
        is_breaker(change_) ? schedule_.splits(block_.sample) : even_splits();
    splits_ = static_cast<std::int64_t>(keys_of_splits.size());
    for (split_ = 0; split_ < splits_; ++split_) {
      const Range keys = keys_of_splits[static_cast<std::size_t>(split_)];
      reset();
      if (normalises_p(change_)) {
        visit_twice(keys);
      } else {
        visit_tiles(keys);
        add_sinks();
      }
      results_.normalise(block_);
      results_.store_partial(block_, split_);
    }
    if (splits_ > 1) results_.merge(block_, splits_);
    results_.store(block_);
  }

  void load_query(std::int64_t r) {
    float* q = t_.q + r * t_.width_qk;
    sequence_.load_query(block_.sample, block_.first + r, block_.head, q);
    if (mode_ == Mode::tf32 || is(Change::precision_inputs_tf32))
      round_row(PLUMBLINE_TF32, q, problem_.head_dim_qk);
    if (is(Change::precision_q_prescaled)) {
      for (std::int64_t d = 0; d < problem_.head_dim_qk; ++d) q[d] *= logits_.factor();
      const bool f32 = problem_.dtype_q == PLUMBLINE_F32;
      round_row(f32 ? static_cast<std::uint32_t>(PLUMBLINE_TF32) : narrow_, q,
                problem_.head_dim_qk);
    }
  }

  Range visible(std::int64_t r) const {
    return sequence_.visible_keys(block_.sample, block_.head, block_.first + r);
  }

  // Returns the keys of each split: whole tiles, the same number for each split.
  std::vector<Range> even_splits() const {
    const std::int64_t keys = sequence_.end_of_keys(block_.sample);
    const bool whole = is(Change::softmax_lazy_by_step) && lazy_limit() > 0;
    const std::int64_t splits = whole ? 1 : splits_of(change_, sequence_.length_kv(block_.sample));
    const std::int64_t tiles = (keys + tile_keys_ - 1) / tile_keys_;
    std::int64_t step =
        (is(Change::split_tail_dropped) ? tiles / splits : (tiles + splits - 1) / splits) *
        tile_keys_;
    // chunks that are not multiples of a tile
    if (is(Change::split_overlaps) && splits > 1) step = (keys + splits - 1) / splits;
    std::vector<Range> ranges;
    for (std::int64_t split = 0; split < splits; ++split)
      ranges.push_back({split * step, std::min(keys, (split + 1) * step)});
    for (Range& range : ranges) {
      if (is(Change::split_last_key_lost) && range.end < keys) --range.end;
    }
    return ranges;
  }

  void reset() {
    const float start = is(Change::softmax_max_starts_at_zero)                 ? 0.0F
                        : is(Change::softmax_finite_sentinel)                  ? logits_.sentinel()
                        : is(Change::softmax_max_starts_at_minus_ten_thousand) ? -1e4F
                                                                               : minus_infinity;
    std::fill_n(t_.m, block_.rows, start);
    std::fill_n(t_.l, block_.rows, 0.0F);
    if (is(Change::legal_sink_first) && problem_.has_sink != 0 && split_ == 0) {
      std::fill_n(t_.m, block_.rows, logits_.sink(block_));
      std::fill_n(t_.l, block_.rows, 1.0F);
    }
    std::fill_n(t_.rescale, block_.rows, 1.0F);
    std::fill_n(t_.lse_before, block_.rows, minus_infinity);
    if (!is(Change::memory_workspace_not_cleared) || split_ > 0)
      std::fill_n(t_.out, block_.rows * t_.width_vo, 0.0F);
  }

  void add_sinks() {
    const bool shared = is(Change::sink_shared_among_splits);
    if (split_ > 0 && !is(Change::sink_in_each_split) && !shared) return;
    if (is(Change::legal_sink_first)) return;
    if (is(Change::sink_needs_lse) && problem_.lse_wanted == 0) return;
    const bool empty =
        std::all_of(t_.m, t_.m + block_.rows, [](float m) { return m == minus_infinity; });
    if (is(Change::sink_lost_with_empty_split) && splits_ > 1 && empty) return;
    const float share = shared ? -std::log2(static_cast<float>(splits_)) : 0.0F;
    for (std::int64_t r = 0; r < block_.rows; ++r) {
      if (shared && t_.m[r] == minus_infinity) continue;
      logits_.add_sink(block_, share, t_.m[r], t_.l[r], t_.out + r * t_.width_vo, t_.width_vo);
    }
  }

  bool is_first_of_call() const {
    return block_.sample == 0 && block_.head == 0 && block_.first == 0 && split_ == 0;
  }

  // Returns the range of keys that any row of the block sees.
  Range seen_by_block() const {
    Range seen{std::numeric_limits<std::int64_t>::max(), 0};
    for (std::int64_t r = 0; r < block_.rows; ++r) {
      if (visible(r).size() == 0 && !is(Change::mask_empty_row_averages)) continue;
      const Range row =
          visible(r).size() == 0 ? Range{0, sequence_.end_of_keys(block_.sample)} : visible(r);
      seen = {std::min(seen.begin, row.begin), std::max(seen.end, row.end)};
    }
    if (is(Change::mask_causal_extent_of_first_row))
      seen.end = std::max(visible(0).end, seen.begin);
    if (is(Change::mask_causal_last_tile_lost) && problem_.mask != PLUMBLINE_MASK_NONE) --seen.end;
    return seen;
  }

  void visit_tiles(Range keys) {
    const Range seen = seen_by_block();
    if (is_breaker(change_)) {
      for (const Range& tile : schedule_.tiles(block_.sample, keys)) {
        if (tile.begin < seen.end && tile.end > seen.begin) visit_tile(tile);
      }
      return;
    }
    std::int64_t first = keys.begin, end = keys.end;  // the tiles with keys in `seen`
    while (first < end && first + tile_keys_ <= seen.begin) first += tile_keys_;
    while (first < end && first + (tiles_in({first, end}) - 1) * tile_keys_ >= seen.end)
      end = first + (tiles_in({first, end}) - 1) * tile_keys_;
    if (is(Change::mask_window_skips_first_tile) && problem_.window_left >= 0 && seen.begin > first)
      first += tile_keys_;
    const std::int64_t tiles = tiles_in({first, end});
    for (std::int64_t i = 0; i < tiles; ++i) {
      tile_ = i;
      is_last_tile_ = i == tiles - 1;
      visit_tile({first + tile_in_order(i, tiles) * tile_keys_, end});
    }
  }

  // Computes m and l in a first pass, then P / l in a second.
  void visit_twice(Range keys) {
    pass_ = Pass::statistics;
    visit_tiles(keys);
    add_sinks();
    pass_ = Pass::weights;
    visit_tiles(keys);
    pass_ = Pass::both;
    for (std::int64_t r = 0; r < block_.rows; ++r) {
      if (t_.l[r] == 0) continue;
      t_.m[r] += static_cast<float>(cpu::log2(t_.l[r]));
      t_.l[r] = 1;
    }
  }

  std::int64_t tiles_in(Range keys) const { return (keys.size() + tile_keys_ - 1) / tile_keys_; }

  std::int64_t tile_in_order(std::int64_t i, std::int64_t tiles) const {
    if (is(Change::legal_reversed)) return tiles - 1 - i;
    if (is(Change::legal_interleaved))
      return i < (tiles + 1) / 2 ? 2 * i : 2 * (i - (tiles + 1) / 2) + 1;
    return i;
  }

  // ---- A tile of keys ----

  // Visits the tile that begins at keys.begin. keys.end is the end of the split.
  void visit_tile(Range keys) {
    if (is(Change::split_overlaps))
      keys.end = std::min(keys.begin + tile_keys_, sequence_.end_of_keys(block_.sample));
    keys.end = std::min(keys.end, keys.begin + tile_keys_);
    if (is(Change::mask_drops_tail) && keys.size() < tile_keys_) return;
    if (is(Change::mask_drops_full_last_tile) && keys.size() == tile_keys_ &&
        keys.end == sequence_.length_kv(block_.sample))
      return;
    // 1. S = Q K^T
    loads_.keys(block_, keys, tile_);
    for (std::int64_t r = 0; r < block_.rows; ++r) scores(r, keys);
    // 2. l, the factors that O is rescaled by, and P = 2^(c S - m) with c = within_exponent()
    if (is(Change::legal_maximum_shared) || is(Change::softmax_max_of_block))
      find_shared_maximum(keys);
    for (std::int64_t r = 0; r < block_.rows; ++r) softmax(r, keys);
    if (pass_ == Pass::statistics) return;
    // 3. O = O 2^(m - m') + P V
    if (!is(Change::race_missing_barrier) || !is_odd_call() || tile_ != 1)
      loads_.values(block_, keys, tile_);
    for (std::int64_t r = 0; r < block_.rows; ++r) accumulate(r);
  }

  float* scores_of(std::int64_t r) const { return t_.s + r * Scratch::max_tile_keys; }

  void scores(std::int64_t r, Range keys) {
    float* s = scores_of(r);
    const float* q = t_.q + r * t_.width_qk;
    std::int64_t depth = problem_.head_dim_qk;
    if (is(Change::head_depth_cut) && block_.head == 1) depth -= 8;
    if (is(Change::head_depth_of_values)) depth = std::min(depth, problem_.head_dim_vo);
    std::fill_n(s, tile_keys_, 0.0F);
    const std::int64_t step = is(Change::precision_scores_accumulate_in_16_bits) ? 16 : depth;
    for (std::int64_t d = 0; d < depth; d += step) {
      multiply_add(sum_, q + d, t_.k_t + d * Scratch::max_tile_keys, Scratch::max_tile_keys,
                   std::min(step, depth - d), tile_keys_, s);
      if (step < depth) round_row(narrow_, s, tile_keys_);
    }
    if (is(Change::precision_raw_scores_fp16)) round_row(PLUMBLINE_F16, s, tile_keys_);
    if (is(Change::precision_raw_scores_clamped))
      std::transform(s, s + tile_keys_, s,
                     [](float x) { return std::clamp(x, -65504.0F, 65504.0F); });
    logits_.apply(block_, r, keys, tile_keys_, s);
    if (is(Change::precision_scores_rounded)) round_row(narrow_, s, tile_keys_);
  }

  // Returns true if this key has a weight in the row, by the mask and the end of the tile.
  bool counts(std::int64_t r, Range seen, std::int64_t key, Range keys) const {
    const bool masked_at_all = problem_.mask != PLUMBLINE_MASK_NONE || problem_.window_left >= 0;
    if (is(Change::mask_tail_only_when_causal) && !masked_at_all && key >= keys.end) return true;
    if (is(Change::memory_relies_on_zero_keys) && key >= keys.end) return true;
    if (is(Change::memory_stale_key) && key == keys.end && keys.size() < tile_keys_ && tile_ > 0)
      return true;
    if (is(Change::mask_window_not_in_first_tile) && tile_ == 0 && key < seen.begin) return true;
    if (is(Change::head_key_dropped) && block_.head == 1 &&
        key == sequence_.length_kv(block_.sample) / 2)
      return false;
    return key >= seen.begin && key < std::min(seen.end, keys.end) &&
           sequence_.sees(block_.sample, token(r), key);
  }

  std::int64_t token(std::int64_t r) const { return block_.first + r; }
  bool sees_none(std::int64_t r, Range seen, Range keys) const {
    const std::int64_t end = std::min(seen.end, keys.end);
    std::int64_t key = std::max(seen.begin, keys.begin);
    while (key < end && !sequence_.sees(block_.sample, token(r), key)) ++key;
    return key >= end;
  }

  void softmax(std::int64_t r, Range keys) {
    float* s = scores_of(r);
    Range seen = visible(r);
    const bool averages = is(Change::mask_empty_row_averages) && seen.size() == 0;
    if (averages) {
      seen = {0, sequence_.end_of_keys(block_.sample)};
      std::fill_n(s, tile_keys_, -1e30F);
    }
    const bool skipped = is(Change::mask_bits_tile_of_first_row) && sequence_.has_bits() &&
                         sees_none(0, visible(0), keys);
    // nothing changes for this row
    if ((sees_none(r, seen, keys) && !is(Change::softmax_nan_from_masked_tile)) || skipped) {
      std::fill_n(s, tile_keys_, 0.0F);
      t_.rescale[r] = 1;
      return;
    }
    const float unmasked_max = *std::max_element(s, s + tile_keys_);
    for (std::int64_t j = 0; j < tile_keys_; ++j) {
      if (counts(r, seen, keys.begin + j, keys)) continue;
      const bool zero_score =
          is(Change::mask_tail_zero_score) && keys.begin + j >= keys.end && j >= tile_keys_ / 2;
      s[j] = zero_score ? 0.0F : logits_.masked_logit();
    }
    weights(r, is(Change::softmax_max_before_mask) ? unmasked_max : largest(s));
  }

  // Finds the maximum over all rows of the block in this tile.
  void find_shared_maximum(Range keys) {
    shared_maximum_ = minus_infinity;
    for (std::int64_t r = 0; r < block_.rows; ++r) {
      const Range seen = visible(r);
      for (std::int64_t j = 0; j < tile_keys_; ++j) {
        if (counts(r, seen, keys.begin + j, keys))
          shared_maximum_ = std::max(shared_maximum_, scores_of(r)[j]);
      }
    }
  }

  // Returns the largest score. Skips NaN, whose exp2 is NaN again.
  float largest(const float* s) const {
    float m = minus_infinity;
    for (std::int64_t j = 0; j < tile_keys_; ++j) m = s[j] > m ? s[j] : m;
    return m;
  }

  void weights(std::int64_t r, float tile_max) {
    float* p = scores_of(r);
    const float factor = logits_.within_exponent(block_);
    float m_old = t_.m[r];
    if (is(Change::memory_lse_gates_maximum) && problem_.lse_wanted == 0 && tile_ > 0) m_old = 0;
    if (pass_ == Pass::weights) return normalised_weights(r, factor);
    float m_new = std::max(m_old, held_maximum(change_, tile_max * factor, shared_maximum_));
    const float measured_from =
        is(Change::softmax_lazy_by_step) && t_.l[r] > 0 ? t_.step[r] : m_old;
    if (lazy_limit() > 0 && m_new - measured_from <= lazy_limit()) m_new = m_old;
    t_.step[r] = tile_max;
    if (factor == 1.0F) {
      for (std::int64_t j = 0; j < tile_keys_; ++j) p[j] -= m_new;
    } else {
      for (std::int64_t j = 0; j < tile_keys_; ++j) p[j] = std::fma(p[j], factor, -m_new);
    }
    logits_.cap_below_maximum(p, tile_keys_);
    exp2_row(change_, p, tile_keys_);

    float sum = sum_row(change_, p, tile_keys_);
    const auto prescale = static_cast<float>(p_prescale(mode_, change_));
    const float applied = is(Change::precision_prescale_missing) ? 1.0F : prescale;
    round_weights(change_, p_dtype_, applied, p, tile_keys_);
    if (is(Change::precision_sum_of_rounded_p)) sum = sum_row(change_, p, tile_keys_);
    if (is(Change::precision_prescale_in_sum)) sum *= prescale;
    update_sum(r, m_old, m_new, sum);
  }

  void normalised_weights(std::int64_t r, float factor) {
    float* p = scores_of(r);
    for (std::int64_t j = 0; j < tile_keys_; ++j) p[j] = std::fma(p[j], factor, -t_.m[r]);
    exp2_row(change_, p, tile_keys_);
    if (is(Change::precision_p_rounded_twice)) round_weights(change_, p_dtype_, 1, p, tile_keys_);
    const bool rounds = is(Change::precision_p_normalized_by_rounded_sum);
    const float l = rounds ? round_one(narrow_, t_.l[r]) : t_.l[r];
    for (std::int64_t j = 0; j < tile_keys_; ++j) p[j] /= l;
    round_weights(change_, p_dtype_, 1.0F, p, tile_keys_);
    t_.rescale[r] = 1;
  }

  void update_sum(std::int64_t r, float m_old, float m_new, float sum) {
    float rescale = exp2_of(change_, m_old - m_new);
    if (is(Change::softmax_rescale_in_fp16)) rescale = round_one(PLUMBLINE_F16, rescale);
    float& l = t_.l[r];
    t_.lse_before[r] = l > 0 ? m_old + static_cast<float>(cpu::log2(l)) : minus_infinity;
    const bool has_more = l > 0;
    if (is(Change::softmax_sum_misses_last_tile) && is_last_tile_ && has_more) sum = 0;
    const bool skips = is(Change::softmax_sum_not_rescaled) ||
                       (is(Change::softmax_sum_skips_last_rescale) && is_last_tile_);
    l = std::fma(l, skips && has_more ? 1.0F : rescale, sum);
    if (is(Change::precision_sum_in_16_bits)) l = round_one(narrow_, l);
    t_.m[r] = m_new;

    if (is(Change::softmax_output_not_rescaled) && has_more) rescale = 1;
    if (is(Change::softmax_output_rescaled_below_ninety_percent) && rescale >= 0.9F) rescale = 1;
    t_.rescale[r] = rescale;
  }

  void accumulate(std::int64_t r) {
    float* out = t_.out + r * t_.width_vo;
    std::copy_n(out, t_.width_vo, t_.before + r * t_.width_vo);
    if (!is(Change::softmax_output_rescaled_a_tile_late))
      scale_row(out, t_.width_vo, t_.rescale[r]);
    if (is(Change::stale_accumulator) && is_first_of_call() && tile_ == 0) {
      const float* stale = stale_accumulator(block_rows * t_.width_vo) + r * t_.width_vo;
      for (std::int64_t d = 0; d < t_.width_vo; ++d) out[d] += stale[d];
    }
    if (is(Change::legal_product_by_tile)) {
      std::fill_n(t_.product, t_.width_vo, 0.0F);
      multiply_add(sum_, scores_of(r), t_.v, t_.width_vo, tile_keys_, t_.width_vo, t_.product);
      for (std::int64_t d = 0; d < t_.width_vo; ++d) out[d] += t_.product[d];
    } else if (is(Change::precision_output_accumulates_in_fp16) && narrow_ == PLUMBLINE_F16) {
      multiply_add_in_fp16(scores_of(r), t_.v, t_.width_vo, tile_keys_, t_.width_vo, out);
    } else {
      const bool in_fp16 = is(Change::precision_product_in_fp16);
      const std::int64_t step = in_fp16 ? 16 : tile_keys_;
      for (std::int64_t j = 0; j < tile_keys_; j += step) {
        multiply_add(sum_, scores_of(r) + j, t_.v + j * t_.width_vo, t_.width_vo, step, t_.width_vo,
                     out);
        if (in_fp16) round_row(PLUMBLINE_F16, out, t_.width_vo);
      }
    }
    if (is(Change::softmax_output_rescaled_a_tile_late)) scale_row(out, t_.width_vo, t_.rescale[r]);
    for (std::int64_t d = 0; d < t_.width_vo; ++d) {
      if (is(Change::precision_output_in_16_bits)) out[d] = round_one(narrow_, out[d]);
      if (is(Change::precision_output_13_bits)) out[d] = keep_bits(out[d], 13);
    }
    if (is(Change::stale_accumulator) && is_first_of_call()) {
      std::copy_n(out, t_.width_vo, stale_accumulator(block_rows * t_.width_vo) + r * t_.width_vo);
    }
  }

  // If P is normalised before it is rounded, the keys are passed over twice.
  enum class Pass { both, statistics, weights };

  const Sequence& sequence_;
  const Schedule& schedule_;
  const plumbline_problem& problem_;
  const Scratch& t_;
  const Mode mode_;
  const Change change_;
  const std::int64_t tile_keys_;
  const std::uint32_t p_dtype_;
  const std::uint32_t narrow_;  // dtype of mutants that keep values in 16 bits
  const Loads loads_;
  const Logits logits_;
  const Sum sum_;
  const Results results_;
  Block block_;
  std::int64_t splits_ = 1, split_ = 0, tile_ = 0;
  bool is_last_tile_ = false;
  Pass pass_ = Pass::both;
  float shared_maximum_ = 0;
};

}  // namespace

std::uint64_t workspace_bytes(const plumbline_problem& problem) {
  return cpu::bytes_of<Scratch>(problem);
}

void run(const plumbline_problem& problem, const plumbline_tensors& tensors, Mode mode,
         Change change, int requested_splits) {
  count_call();
  cpu::Workspace workspace(static_cast<std::byte*>(tensors.workspace.data));
  const Scratch scratch(problem, workspace);
  const Sequence sequence(problem, tensors, change);
  const Schedule schedule(sequence, tensors, change, requested_splits);
  Kernel(sequence, schedule, scratch, mode, change).run();
}

}  // namespace plumbline::mutants
