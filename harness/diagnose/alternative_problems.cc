// Makes problems with other masks, windows, lengths, features, biases and scales.
#include "harness/diagnose/alternative_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "harness/diagnose/alternative_list.h"
#include "harness/diagnose/alternative_ranges.h"

namespace plumbline {
namespace {

class AlternativeProblems : public AlternativeList {
 public:
  explicit AlternativeProblems(AlternativeVisits& visits) : AlternativeList(visits) {}

  void visit_all() {
    if (problem_.is_merge()) {
      add_of_merge();
      return;
    }
    const bool has_ranges = !failing_.keys_stated && !problem_.has_hidden_keys();
    add_pages();  // first: with many keys, all other alternatives may exceed the time
    if (failing_.keys_stated) {
      add_mask_tensors();
    } else {
      add_masks();
      add_windows();
    }
    if (has_ranges) visit_other_ends(visits_);
    if (!failing_.keys_stated) add_padding();
    add_features();
    add_biases();
    add_scales();
    if (!failing_.keys_stated) add_padding_from_bounds();
    if (has_ranges) {
      visit_other_tiles(visits_);
      visit_dropped_keys(visits_);
    }
  }

 private:
  // Adds another base of the LSEs, and one part left out.
  void add_of_merge() {
    Problem problem = problem_;
    const bool is_natural = problem_.merge == Merge::natural;
    problem.merge = is_natural ? Merge::base_2 : Merge::natural;
    visit({is_natural ? "if the parts' LSEs were of base 2, not natural"
                      : "if the parts' LSEs were natural logarithms, not base 2",
           problem, layout_, is_natural ? 2 : 0});
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
        if (problem_.mask == Mask::custom) {
          add_transposed_bits();
          add_wrapped_offsets();
        }
        break;
    }
    add(problem_.is_causal() ? "without the causal mask" : "without the mask", with(Mask::none));
  }

  // Adds changes to a mask that was stated key by key: no mask or a causal one, or the mask of head
  // 0 for all heads, or that of sample 0 for all samples.
  void add_mask_tensors() {
    const bool same = layout_.seqlens_q == layout_.seqlens_kv;  // both corners then agree
    add_other_mask("if the mask were not applied", Mask::none);
    add_other_mask(same ? "if the mask were causal" : "if the mask were causal, bottom-right",
                   Mask::causal_bottom_right);
    if (!same) add_other_mask("if the mask were causal, top-left", Mask::causal_top_left);
    if (!geometry_.has_hidden_keys()) return;
    add_transposed_bits();
    add_wrapped_offsets();
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

  // Adds a mask in place of the stated keys, unless rows see the same keys by it.
  void add_other_mask(std::string sentence, Mask mask) {
    if (is_over()) return;
    Problem problem = problem_;
    problem.mask = mask;
    problem.window_left = problem.window_right = -1;
    StatedLayout layout = layout_;
    layout.visible.clear();
    layout.mask_bits.clear();
    layout.mask_heads = 1;
    if (differs_from_stated(Geometry(problem, layout)))
      visit({std::move(sentence), problem, std::move(layout), lse_base_});
  }

  // `other` has no hidden keys.
  bool differs_from_stated(const Geometry& other) const {
    for (std::int64_t sample = 0; sample < problem_.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row) {
        for (std::int64_t head = 0; head < geometry_.mask_heads; ++head) {
          const KeyRange keys = other.visible_keys(sample, row);
          if (!(geometry_.visible_keys(sample, row, head) == keys) ||
              geometry_.visible_count(sample, row, head) != keys.size())
            return true;
        }
      }
    }
    return false;
  }

  // Adds the transposed mask: bit (query i, key j) is the stated bit (query j, key i).
  void add_transposed_bits() {
    if (problem_.seq_q != problem_.seq_kv || layout_.seqlens_q != layout_.seqlens_kv || is_over())
      return;
    constexpr std::int64_t bits = 32;
    StatedLayout layout = layout_;
    layout.mask_heads = geometry_.mask_heads;
    layout.mask_bits = mask_bits(
        geometry_.mask_heads, [this](std::int64_t head, std::int64_t sample, std::int64_t row) {
          const std::int64_t first = (head * problem_.batch + sample) * problem_.seq_q;
          return [this, first, row](std::int64_t key) {
            const std::int64_t word = (first + key) * geometry_.mask_words + row / bits;
            return (geometry_.mask_bits[static_cast<std::size_t>(word)] >> (row % bits) & 1U) != 0;
          };
        });
    if (layout.mask_bits != geometry_.mask_bits)
      visit({"if the mask were transposed", problem_, std::move(layout), lse_base_});
  }

  // Adds masks whose offset within a sample's bits overflows at 16 bits, in bits or in bytes.
  void add_wrapped_offsets() {
    constexpr std::int64_t bits = 32, limit = 1 << 16;
    const std::int64_t words = problem_.seq_q * geometry_.mask_words;
    for (const auto& [unit, wraps_at] : {std::pair{"bits", limit / bits}, {"bytes", limit / 4}}) {
      if (words <= wraps_at || is_over()) continue;
      StatedLayout layout = layout_;
      layout.mask_heads = geometry_.mask_heads;
      layout.mask_bits = geometry_.mask_bits;
      for (std::size_t at = 0; at < layout.mask_bits.size(); ++at) {
        const auto word = static_cast<std::int64_t>(at) % words;
        layout.mask_bits[at] =
            geometry_.mask_bits[at - static_cast<std::size_t>(word - word % wraps_at)];
      }
      const std::string sentence = fmt::format(
          "if the mask's offset in {} had 16 bits, so that later rows had the mask of another row",
          unit);
      // A copied word may have bits of keys that the sample does not have.
      for (std::size_t at = 0; at < layout.mask_bits.size(); ++at)
        layout.mask_bits[at] &= bits_of_keys(static_cast<std::int64_t>(at));
      visit({sentence, problem_, std::move(layout), lse_base_});
    }
  }

  // Returns the bits of a word of the mask whose keys exist.
  std::uint32_t bits_of_keys(std::int64_t word) const {
    constexpr std::int64_t bits = 32;
    const std::int64_t matrix = word / (problem_.seq_q * geometry_.mask_words),
                       first = word % geometry_.mask_words * bits,
                       count = geometry_.length_kv(matrix % problem_.batch) - first;
    if (count >= bits) return ~std::uint32_t{0};
    return count <= 0 ? 0 : (std::uint32_t{1} << count) - 1;
  }

  // Adds a mask in which each (head, sample) has the bits of another.
  template <class Other>
  void add_bits(std::string sentence, const Other& other) {
    if (is_over()) return;
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
      visit({std::move(sentence), problem_, std::move(layout), lse_base_});
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

  // Adds pages that the page table does not name.
  void add_pages() {
    if (!problem_.is_paged()) return;
    const auto with = [&](std::string sentence, const auto& page) {
      if (is_over()) return;
      StatedLayout layout = layout_;
      for (std::size_t entry = 0; entry < layout.page_table.size(); ++entry) {
        if (layout.page_table[entry] < 0) continue;
        const std::int64_t other =
            page(static_cast<std::int64_t>(entry), std::int64_t{layout.page_table[entry]});
        if (other >= geometry_.page_count()) return;
        layout.page_table[entry] = static_cast<std::int32_t>(other);
      }
      if (layout.page_table != layout_.page_table)
        visit({std::move(sentence), problem_, std::move(layout), lse_base_});
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
      visit({std::move(sentence), problem_, std::move(layout), lse_base_});
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

  // Returns true if padded keys are at the end of the samples, hidden only by the padding mask.
  bool may_see_padding() const {
    return problem_.is_padded() && problem_.mask == Mask::none && problem_.padding != Padding::left;
  }
  // Returns the layout in which padded keys are valid.
  StatedLayout without_padding() const {
    StatedLayout layout = layout_;
    std::ranges::fill(layout.seqlens_kv, static_cast<std::int32_t>(problem_.seq_kv));
    return layout;
  }

  // Adds the alternative that padded keys are seen as if they were valid.
  void add_padding() {
    if (!may_see_padding() || is_over()) return;
    StatedLayout layout = without_padding();
    if (layout.seqlens_kv == layout_.seqlens_kv) return;
    visit({"if padded keys were visible: the padding mask is not applied", problem_,
           std::move(layout), lse_base_});
  }

  // Adds alternatives in which padded keys from a bound on are seen.
  void add_padding_from_bounds() {
    if (!may_see_padding() || problem_.window_left >= 0 || problem_.window_right >= 0) return;
    StatedLayout layout = without_padding();
    if (layout.seqlens_kv == layout_.seqlens_kv) return;
    Problem problem = problem_;
    problem.mask = Mask::custom;
    for (std::int64_t bound = 16; bound < problem_.seq_kv && !is_over(); bound *= 2) {
      layout.mask_bits = mask_bits(1, [&](std::int64_t, std::int64_t sample, std::int64_t) {
        const std::int64_t length = geometry_.length_kv(sample);
        return [=](std::int64_t key) { return key < length || key >= bound; };
      });
      visit(
          {fmt::format("if padded keys from key {} on were visible: the padding mask ends", bound),
           problem, layout, lse_base_});
    }
  }
};

}  // namespace

void visit_alternatives(const FailingOutput& failing, const VisitAlternative& visit) {
  AlternativeVisits visits(failing, visit);
  AlternativeProblems(visits).visit_all();
}

}  // namespace plumbline
