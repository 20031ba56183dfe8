// Lists other masks, windows, lengths, features, biases and scales that a kernel may have applied.
#include "harness/diagnose/alternative_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "harness/diagnose/alternative_search.h"

namespace plumbline {
namespace {

class AlternativeProblems {
 public:
  explicit AlternativeProblems(const FailingOutput& failing)
      : geometry_(*failing.geometry),
        problem_(geometry_.problem()),
        layout_(layout_of(geometry_, failing.keys_stated)),
        lse_base_(failing.outputs.lse_base) {
    if (problem_.is_merge()) {
      add_of_merge();
      return;
    }
    const bool has_ranges = !failing.keys_stated && !problem_.has_hidden_keys();
    add_pages();  // first: with many keys, all other alternatives may exceed the time
    if (failing.keys_stated) {
      add_mask_tensors();
    } else {
      add_masks();
      add_windows();
    }
    if (has_ranges) add_ends();
    if (!failing.keys_stated) add_padding();
    add_features();
    add_biases();
    add_scales();
  }
  std::vector<AlternativeProblem> found;

 private:
  void add(std::string sentence, const Problem& problem) {
    found.push_back({std::move(sentence), problem, layout_, lse_base_});
  }

  // Adds another base of the LSEs, and one part left out.
  void add_of_merge() {
    Problem problem = problem_;
    const bool is_natural = problem_.merge == Merge::natural;
    problem.merge = is_natural ? Merge::base_2 : Merge::natural;
    add(is_natural ? "if the parts' LSEs were of base 2, not natural"
                   : "if the parts' LSEs were natural logarithms, not base 2",
        problem);
    found.back().lse_base = is_natural ? 2 : 0;
    if (geometry_.has_hidden_keys()) return;
    add_ranges("if each token's last part were left out",
               [](std::int64_t, std::int64_t, const KeyRange& stated) {
                 return KeyRange{stated.begin, stated.end - 1};
               });
    add_ranges("if each token's first part were left out",
               [](std::int64_t, std::int64_t, const KeyRange& stated) {
                 return KeyRange{stated.begin + 1, stated.end};
               });
  }

  void add_masks() {
    const auto with = [&](Mask mask) {
      Problem problem = problem_;
      problem.mask = mask;
      return problem;
    };
    const bool same = layout_.seqlens_q == layout_.seqlens_kv;  // both corners then agree
    switch (problem_.mask) {
      case Mask::none:
        add(same ? "if the mask were causal" : "if the mask were causal, bottom-right",
            with(Mask::causal_bottom_right));
        if (!same) add("if the mask were causal, top-left", with(Mask::causal_top_left));
        return;
      case Mask::causal_top_left:
        if (!same)
          add("if causal were bottom-right (the last query sees all keys) instead of top-left",
              with(Mask::causal_bottom_right));
        break;
      case Mask::causal_bottom_right:
        if (!same)
          add("if causal were top-left (query i sees keys j <= i: PyTorch is_causal) instead of "
              "bottom-right",
              with(Mask::causal_top_left));
        break;
      case Mask::prefix_lm:
      case Mask::block_diagonal:
      case Mask::custom:
        add(same ? "if the mask were causal" : "if the mask were causal, bottom-right",
            with(Mask::causal_bottom_right));
        if (!same) add("if the mask were causal, top-left", with(Mask::causal_top_left));
        if (problem_.mask == Mask::custom) add_transposed_bits();
        break;
    }
    add(problem_.is_causal() ? "without the causal mask" : "without the mask", with(Mask::none));
  }

  // Adds changes to a mask that was stated key by key: no mask, or the mask of head 0 for all
  // heads, or that of sample 0 for all samples.
  void add_mask_tensors() {
    Problem problem = problem_;
    problem.mask = Mask::none;
    problem.window_left = problem.window_right = -1;
    StatedLayout layout = layout_;
    layout.visible.clear();
    layout.mask_bits.clear();
    layout.mask_heads = 1;
    found.push_back({"if the mask were not applied", problem, std::move(layout), lse_base_});
    if (!geometry_.has_hidden_keys()) return;
    add_transposed_bits();
    const std::int64_t heads = geometry_.mask_heads, batch = problem_.batch;
    if (heads > 1) {
      add_bits("if all heads had the mask of head 0", [](std::int64_t, std::int64_t sample) {
        return std::pair(std::int64_t{0}, sample);
      });
    }
    if (batch > 1) {
      add_bits("if all samples had the mask of sample 0",
               [](std::int64_t head, std::int64_t) { return std::pair(head, std::int64_t{0}); });
    }
  }

  // Adds the mask whose bit for a query and a key is the stated one for that key and query.
  void add_transposed_bits() {
    if (problem_.seq_q != problem_.seq_kv || layout_.seqlens_q != layout_.seqlens_kv) return;
    constexpr std::int64_t bits = 32;
    StatedLayout layout = layout_;
    layout.mask_heads = geometry_.mask_heads;
    layout.mask_bits.assign(geometry_.mask_bits.size(), 0);
    const std::int64_t rows = problem_.seq_q, words = geometry_.mask_words,
                       matrices = geometry_.mask_heads * problem_.batch;
    for (std::int64_t at = 0; at < matrices * rows; ++at) {
      const std::int64_t first = at / rows * rows, row = at % rows;
      for (std::int64_t key = 0; key < rows; ++key) {
        const auto from = static_cast<std::size_t>(at * words + key / bits),
                   to = static_cast<std::size_t>((first + key) * words + row / bits);
        const std::uint32_t bit = geometry_.mask_bits[from] >> (key % bits) & 1U;
        layout.mask_bits[to] |= bit << (row % bits);
      }
    }
    if (layout.mask_bits != geometry_.mask_bits)
      found.push_back({"if the mask were transposed", problem_, std::move(layout), lse_base_});
  }

  // Adds a mask in which each (head, sample) has the bits of another.
  template <class Other>
  void add_bits(std::string sentence, const Other& other) {
    StatedLayout layout = layout_;
    const auto words = static_cast<std::ptrdiff_t>(problem_.seq_q * geometry_.mask_words);
    for (std::int64_t head = 0; head < geometry_.mask_heads; ++head) {
      for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
        const auto [of_head, of_sample] = other(head, sample);
        std::copy_n(geometry_.mask_bits.begin() + (of_head * problem_.batch + of_sample) * words,
                    words, layout.mask_bits.begin() + (head * problem_.batch + sample) * words);
      }
    }
    if (layout.mask_bits != layout_.mask_bits)
      found.push_back({std::move(sentence), problem_, std::move(layout), lse_base_});
  }

  void add_windows() {
    if (problem_.window_left < 0 && problem_.window_right < 0) return;
    Problem problem = problem_;
    problem.window_left = problem.window_right = -1;
    add("without the window", problem);
    if (problem_.mask == Mask::none && problem_.window_left != problem_.window_right) {
      problem = problem_;
      std::swap(problem.window_left, problem.window_right);
      add("if the window's sides were exchanged", problem);
    }
    for (const std::int64_t change : {-1, 1}) {
      problem = problem_;
      if (problem_.window_left > 0 || (problem_.window_left == 0 && change > 0)) {
        problem.window_left += change;
        add(fmt::format("if the window's left side were {} instead of {}: off by one",
                        problem.window_left, problem_.window_left),
            problem);
      }
      problem = problem_;
      if (!problem_.is_causal() && problem_.window_right + change >= 0 &&
          problem_.window_right >= 0) {
        problem.window_right += change;
        add(fmt::format("if the window's right side were {} instead of {}: off by one",
                        problem.window_right, problem_.window_right),
            problem);
      }
    }
  }

  // Adds an alternative in which each row sees the keys that `keys` returns for its stated range.
  template <class Keys>
  void add_ranges(std::string sentence, const Keys& keys) {
    StatedLayout layout = layout_;
    layout.visible.clear();
    bool differs = false;
    for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row) {
        const KeyRange stated = geometry_.visible_keys(sample, row);
        KeyRange range = keys(sample, row, stated);
        range.begin = std::max<std::int64_t>(range.begin, 0);
        range.end = std::min(range.end, geometry_.length_kv(sample));
        if (range.size() == 0) range = {0, 0};
        differs = differs || !(range == stated);
        layout.visible.push_back(range);
      }
    }
    if (differs) found.push_back({std::move(sentence), problem_, std::move(layout), lse_base_});
  }

  // Adds masks that also hide one key of each tile.
  void add_dropped_keys() {
    constexpr double max_bits = 1e7;
    const bool needs_corner =
        problem_.alibi != Alibi::none && problem_.mask == Mask::causal_top_left;
    const double bits =
        static_cast<double>(geometry_.total_q()) * static_cast<double>(problem_.seq_kv);
    if (needs_corner || geometry_.bias != nullptr || !(bits <= max_bits)) return;
    for (std::int64_t tile = 2; tile <= 64 && 2 * tile <= problem_.seq_kv; tile *= 2) {
      for (const std::int64_t first : {tile - 1, std::int64_t{0}}) {
        add_visible(fmt::format("if every {} key, from key {} on, were not seen",
                                tile == 2 ? "2nd" : fmt::format("{}th", tile), first),
                    [&](std::int64_t key) { return key % tile != first; });
      }
    }
  }

  // Adds the stated mask without the keys for which `keeps` returns false.
  template <class Keeps>
  void add_visible(std::string sentence, const Keeps& keeps) {
    constexpr std::int64_t bits = 32;
    const std::int64_t words = (problem_.seq_kv + bits - 1) / bits;
    Problem problem = problem_;
    problem.mask = Mask::custom;
    problem.window_left = problem.window_right = -1;
    StatedLayout layout = layout_;
    layout.visible.clear();
    layout.mask_heads = 1;
    layout.mask_bits.assign(static_cast<std::size_t>(problem_.batch * problem_.seq_q * words), 0);
    for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row) {
        const KeyRange keys = geometry_.visible_keys(sample, row);
        for (std::int64_t key = keys.begin; key < keys.end; ++key) {
          if (!keeps(key)) continue;
          const auto word =
              static_cast<std::size_t>((sample * problem_.seq_q + row) * words + key / bits);
          layout.mask_bits[word] |= std::uint32_t{1} << (key % bits);
        }
      }
    }
    found.push_back({std::move(sentence), problem, std::move(layout), lse_base_});
  }

  // Adds tiles of keys that a tile of queries leaves out, because they are chosen by its first query.
  void add_tiled_extents() {
    const bool has_window = problem_.window_left >= 0;
    if (!problem_.is_causal() && !has_window) return;
    for (std::int64_t rows = 16; rows <= 64; rows *= 2) {
      for (std::int64_t keys = 16; keys <= 128; keys *= 2) {
        const auto of_first = [this, rows](std::int64_t sample, std::int64_t row) {
          return geometry_.visible_keys(sample, row / rows * rows);
        };
        if (problem_.is_causal()) {
          add_ranges(
              fmt::format("if each tile of {} queries saw only the tiles of {} keys that its first "
                          "query sees: the edge of the visible keys is that of another query",
                          rows, keys),
              [=](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
                const std::int64_t end = of_first(sample, row).end;
                return KeyRange{stated.begin, std::min(stated.end, (end + keys - 1) / keys * keys)};
              });
        }
        if (!has_window) continue;
        add_ranges(fmt::format(
                       "if each tile of {} queries skipped the first tile of {} keys in its window",
                       rows, keys),
                   [=](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
                     const std::int64_t begin = of_first(sample, row).begin;
                     const std::int64_t skipped =
                         begin % keys == 0 ? 0 : begin / keys * keys + keys;
                     return KeyRange{std::max(stated.begin, skipped), stated.end};
                   });
      }
    }
  }

  // Adds windows whose left side is that of the first query of a tile.
  void add_tiled_windows() {
    if (problem_.window_left < 0) return;
    for (std::int64_t tile = 16; tile <= 256; tile *= 2) {
      const std::string sentence = fmt::format(
          "if the window began where it does for the first query of each tile of {}", tile);
      add_ranges(sentence, [&](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
        return KeyRange{diagonal(sample, row) / tile * tile - problem_.window_left, stated.end};
      });
      add_ranges(sentence, [&](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
        return KeyRange{diagonal(sample, row / tile * tile) - problem_.window_left, stated.end};
      });
    }
  }

  // Adds pages that the page table does not name.
  void add_pages() {
    if (!problem_.is_paged()) return;
    const auto with = [&](std::string sentence, const auto& page) {
      StatedLayout layout = layout_;
      for (std::size_t entry = 0; entry < layout.page_table.size(); ++entry) {
        if (layout.page_table[entry] < 0) continue;
        const std::int64_t other =
            page(static_cast<std::int64_t>(entry), std::int64_t{layout.page_table[entry]});
        if (other >= geometry_.page_count()) return;
        layout.page_table[entry] = static_cast<std::int32_t>(other);
      }
      if (layout.page_table != layout_.page_table)
        found.push_back({std::move(sentence), problem_, std::move(layout), lse_base_});
    };
    const std::int64_t per_sample = geometry_.pages_per_sample;
    with("if the page table were not applied: page n of a sample is page n of the pool",
         [=](std::int64_t entry, std::int64_t) { return entry % per_sample; });
    // 16 bits first: with many pages, the time ends before the smallest modulus.
    for (std::int64_t modulus = 1 << 16; modulus >= 8; modulus /= 2) {
      if (modulus >= geometry_.page_count()) continue;
      with(fmt::format("if page numbers were taken modulo {}", modulus),
           [=](std::int64_t, std::int64_t stated) { return stated % modulus; });
    }
  }

  std::int64_t diagonal(std::int64_t sample, std::int64_t row) const {
    return problem_.mask == Mask::causal_top_left
               ? row
               : row + geometry_.length_kv(sample) - geometry_.length_q(sample);
  }

  // Adds visible ranges with another first or last key.
  void add_ends() {
    add_tiled_windows();
    add_tiled_extents();
    add_dropped_keys();
    if (problem_.is_causal()) {
      const auto moved = [&](std::int64_t by) {
        return [this, by](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
          const std::int64_t at = diagonal(sample, row);
          const std::int64_t begin = problem_.window_left < 0 ? 0 : at - problem_.window_left;
          return at + 1 + by <= 0 ? KeyRange{}
                                  : KeyRange{stated.size() > 0 ? stated.begin : begin, at + 1 + by};
        };
      };
      add_ranges("if each query saw one key after its last one: the mask is off by one", moved(1));
      add_ranges("if no query saw its own key: the mask is off by one", moved(-1));
    }
    if (problem_.mask == Mask::prefix_lm) {
      add_ranges("if the prefix were one key shorter: off by one",
                 [this](std::int64_t sample, std::int64_t row, const KeyRange& stated) {
                   return KeyRange{
                       stated.begin,
                       std::max(stated.end - 1, std::min(stated.end, diagonal(sample, row) + 1))};
                 });
    }
    if (problem_.mask == Mask::block_diagonal) {
      add_ranges("if each document began one key early: off by one",
                 [](std::int64_t, std::int64_t, const KeyRange& stated) {
                   return KeyRange{stated.begin - 1, stated.end};
                 });
    }
    add_ranges(
        "if each sample's last key were not seen: off by one in a length",
        [this](std::int64_t sample, std::int64_t, const KeyRange& stated) {
          return KeyRange{stated.begin, std::min(stated.end, geometry_.length_kv(sample) - 1)};
        });
    for (std::int64_t count = 2; count < std::min<std::int64_t>(problem_.seq_kv, 256); count *= 2) {
      add_ranges(fmt::format("if each sample's last {} keys were not seen", count),
                 [this, count](std::int64_t sample, std::int64_t, const KeyRange& stated) {
                   return KeyRange{stated.begin,
                                   std::min(stated.end, geometry_.length_kv(sample) - count)};
                 });
      add_ranges(
          fmt::format("if keys after each sample's last full tile of {} were not seen", count),
          [this, count](std::int64_t sample, std::int64_t, const KeyRange& stated) {
            return KeyRange{stated.begin,
                            std::min(stated.end, geometry_.length_kv(sample) / count * count)};
          });
    }
    const auto add_full_tile = [this](std::string sentence, std::int64_t size) {
      add_ranges(std::move(sentence),
                 [this, size](std::int64_t sample, std::int64_t, const KeyRange& stated) {
                   const std::int64_t length = geometry_.length_kv(sample),
                                      lost = length % size == 0 ? size : 0;
                   return KeyRange{stated.begin, std::min(stated.end, length - lost)};
                 });
    };
    if (problem_.is_paged())
      add_full_tile("if a sample's last page were not seen where it is full", problem_.page_size);
    for (std::int64_t size = 16; size <= 128; size *= 2) {
      add_full_tile(
          fmt::format("if a sample's last tile of {} keys were not seen where it is full", size),
          size);
    }
    add_ranges("if each sample's first key were not seen",
               [](std::int64_t, std::int64_t, const KeyRange& stated) {
                 return KeyRange{std::max<std::int64_t>(stated.begin, 1), stated.end};
               });
    if (problem_.is_paged()) {
      add_ranges("if the length were the length before this call's tokens were appended",
                 [this](std::int64_t sample, std::int64_t, const KeyRange& stated) {
                   return KeyRange{stated.begin,
                                   std::min(stated.end, geometry_.length_kv(sample) -
                                                            geometry_.length_q(sample))};
                 });
    }
  }

  void add_features() {
    const auto with = [&](auto Problem::*field, auto value, std::string sentence) {
      Problem problem = problem_;
      problem.*field = value;
      add(std::move(sentence), problem);
    };
    if (problem_.softcap != 0) {
      with(&Problem::softcap, 0.0, "if the softcap were not applied");
      with(&Problem::softcap, problem_.softcap * std::numbers::ln2,
           "if the softcap were applied to base-2 logits, after the factor log2(e)");
      with(&Problem::softcap, problem_.softcap * problem_.softmax_scale(),
           "if the softcap were applied before the softmax scale");
    }
    if (problem_.alibi != Alibi::none)
      with(&Problem::alibi, Alibi::none, "if ALiBi were not applied");
    if (problem_.sinks != Sinks::none)
      with(&Problem::sinks, Sinks::none, "if the attention sinks were left out");
  }

  // Adds changes to a bias that the dump states.
  void add_biases() {
    if (geometry_.bias == nullptr) return;
    const auto with = [&](std::shared_ptr<const LogitBias> bias, std::string sentence) {
      StatedLayout layout = layout_;
      layout.bias = std::move(bias);
      found.push_back({std::move(sentence), problem_, std::move(layout), lse_base_});
    };
    with(nullptr, "if the bias were not added");
    const auto changed = [&](const auto& change) {
      auto bias = std::make_shared<LogitBias>(*geometry_.bias);
      change(*bias);
      return bias;
    };
    with(changed([&](LogitBias& bias) {
           for (float& value : bias.values) value *= static_cast<float>(problem_.softmax_scale());
         }),
         "if the softmax scale also multiplied the bias");
    if (geometry_.bias->stride[1] != 0)
      with(changed([](LogitBias& bias) { bias.stride[1] = 0; }),
           "if all heads had the bias of head 0");
    if (geometry_.bias->stride[0] != 0)
      with(changed([](LogitBias& bias) { bias.stride[0] = 0; }),
           "if all samples had the bias of sample 0");
  }

  void add_scales() {
    const double scale = problem_.softmax_scale(), dim = static_cast<double>(problem_.head_dim_qk);
    struct Scale {
      double value;
      std::string_view meaning;
    };
    const std::array scales{
        Scale{1 / std::sqrt(dim), "1/sqrt(head dim)"},
        Scale{1, "the softmax scale is not applied"},
        Scale{1 / dim, "1/head dim"},
        Scale{scale * scale, "the stated one squared: applied twice"},
        Scale{scale * std::numbers::log2e,
              "the stated one times log2(e): exp instead of exp2, or log2(e) applied twice"},
        Scale{scale * std::numbers::ln2, "the stated one times ln 2: exp2 instead of exp"},
    };
    for (const auto& [value, meaning] : scales) {
      if (std::abs(value - scale) < 1e-6 * scale) continue;
      Problem problem = problem_;
      problem.scale = value;
      add(fmt::format("if the scale were {:.6g} ({})", value, meaning), problem);
    }
  }

  // Adds the alternative that padded keys are seen as if they were valid.
  void add_padding() {
    if (!problem_.is_padded() || problem_.mask != Mask::none || problem_.padding == Padding::left)
      return;
    StatedLayout layout = layout_;
    std::ranges::fill(layout.seqlens_kv, static_cast<std::int32_t>(problem_.seq_kv));
    if (layout.seqlens_kv == layout_.seqlens_kv) return;
    found.push_back({"if padded keys were visible: the padding mask is not applied", problem_,
                     layout, lse_base_});
    if (problem_.window_left >= 0 || problem_.window_right >= 0) return;
    for (std::int64_t bound = 16; bound < problem_.seq_kv; bound *= 2)
      add_padding_from(bound, layout);
  }

  // Adds the alternative that padded keys from a bound on are seen. `full` has all keys as valid.
  void add_padding_from(std::int64_t bound, StatedLayout full) {
    constexpr std::int64_t bits = 32;
    const std::int64_t words = (problem_.seq_kv + bits - 1) / bits;
    Problem problem = problem_;
    problem.mask = Mask::custom;
    full.mask_bits.assign(static_cast<std::size_t>(problem.batch * problem.seq_q * words), 0);
    for (std::int64_t at = 0; at < problem.batch * problem.seq_q; ++at) {
      for (std::int64_t key = 0; key < problem.seq_kv; ++key) {
        if (key < geometry_.length_kv(at / problem.seq_q) || key >= bound)
          full.mask_bits[static_cast<std::size_t>(at * words + key / bits)] |= 1U << (key % bits);
      }
    }
    found.push_back(
        {fmt::format("if padded keys from key {} on were visible: the padding mask ends", bound),
         problem, std::move(full), lse_base_});
  }

  const Geometry& geometry_;
  const Problem& problem_;
  const StatedLayout layout_;
  const int lse_base_;
};

}  // namespace

std::vector<AlternativeProblem> alternative_problems(const FailingOutput& failing) {
  return AlternativeProblems(failing).found;
}

}  // namespace plumbline
