// Makes visible ranges with another first or last key, and masks without some keys.
#include "harness/diagnose/alternative_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/diagnose/alternative_list.h"

namespace plumbline {
namespace {

class AlternativeRanges : public AlternativeList {
 public:
  explicit AlternativeRanges(AlternativeVisits& visits) : AlternativeList(visits) {}

  void visit_ends() {
    add_causal_ends();
    add_ends_of_masks();
    add_ranges(
        "if each sample's last key were not seen: off by one in a length",
        [this](std::int64_t sample, std::int64_t, const KeyRange& stated) {
          return KeyRange{stated.begin, std::min(stated.end, geometry_.length_kv(sample) - 1)};
        });
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

  void visit_tiles() {
    add_tiled_windows();
    add_packed_window();
    add_tiled_extents();
    add_lost_tails();
    if (problem_.is_paged())
      add_full_tile("if a sample's last page were not seen where it is full", problem_.page_size);
    for (std::int64_t size = 16; size <= 128; size *= 2) {
      add_full_tile(
          fmt::format("if a sample's last tile of {} keys were not seen where it is full", size),
          size);
    }
  }

  // Adds masks that also hide one key of each tile.
  void visit_dropped() {
    if (!allows_bits(1)) return;
    for (std::int64_t tile = 2; tile <= 64 && 2 * tile <= problem_.seq_kv; tile *= 2) {
      for (const std::int64_t first : {tile - 1, std::int64_t{0}}) {
        add_hidden(fmt::format("if every {}{} key, from key {} on, were not seen", tile,
                               tile % 10 == 2 ? "nd" : "th", first),  // 2nd, 4th, … 32nd, 64th
                   1, [=](std::int64_t, std::int64_t, std::int64_t, std::int64_t key) {
                     return key % tile != first;
                   });
      }
    }
  }

 private:
  void add_causal_ends() {
    if (!problem_.is_causal()) return;
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

  void add_ends_of_masks() {
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
  }

  // Adds ranges without the last keys of a sample, or without those after its last full tile.
  void add_lost_tails() {
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
  }

  // Adds ranges without a sample's last tile of `size` keys, if it is full.
  void add_full_tile(std::string sentence, std::int64_t size) {
    add_ranges(std::move(sentence), [this, size](std::int64_t sample, std::int64_t,
                                                 const KeyRange& stated) {
      const std::int64_t length = geometry_.length_kv(sample), lost = length % size == 0 ? size : 0;
      return KeyRange{stated.begin, std::min(stated.end, length - lost)};
    });
  }

  // Returns true if a mask of bits can replace the stated one, at a moderate cost.
  bool allows_bits(std::int64_t heads) const {
    constexpr double max_bits = 1e7;
    const bool needs_corner =
        problem_.alibi != Alibi::none && problem_.mask == Mask::causal_top_left;
    const double bits =
        static_cast<double>(heads * geometry_.total_q()) * static_cast<double>(problem_.seq_kv);
    return !needs_corner && geometry_.bias == nullptr && bits <= max_bits;
  }

  // Adds a window whose left side counts rows of packed heads: token * group + head in its group.
  void add_packed_window() {
    const std::int64_t group = problem_.group(), heads = problem_.heads_q;
    if (problem_.window_left < 0 || group == 1 || !allows_bits(heads)) return;
    add_hidden(
        "if the window's left side counted packed rows (query heads of a key head) as queries",
        heads, [&](std::int64_t head, std::int64_t sample, std::int64_t row, std::int64_t key) {
          const std::int64_t packed = row * group + head % group;
          return key >= diagonal(sample, row) + packed - row - problem_.window_left;
        });
  }

  // Adds a mask of bits for each of `heads`: the stated one without the keys for which
  // keeps(head, sample, row, key) returns false.
  template <class Keeps>
  void add_hidden(std::string sentence, std::int64_t heads, const Keeps& keeps) {
    if (is_over()) return;
    Problem problem = problem_;
    problem.mask = Mask::custom;
    problem.window_left = problem.window_right = -1;
    StatedLayout layout = layout_;
    layout.visible.clear();
    layout.mask_heads = heads;
    layout.mask_bits =
        mask_bits(heads, [&](std::int64_t head, std::int64_t sample, std::int64_t row) {
          const KeyRange keys =
              row < geometry_.length_q(sample) ? geometry_.visible_keys(sample, row) : KeyRange{};
          return [&keeps, keys, head, sample, row](std::int64_t key) {
            return key >= keys.begin && key < keys.end && keeps(head, sample, row, key);
          };
        });
    visit({std::move(sentence), problem, std::move(layout), lse_base_});
  }

  // Adds ranges in which the first query of each tile chooses the tiles of keys that its other
  // queries see.
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
};

}  // namespace

void visit_other_ends(AlternativeVisits& visits) { AlternativeRanges(visits).visit_ends(); }

void visit_other_tiles(AlternativeVisits& visits) { AlternativeRanges(visits).visit_tiles(); }

void visit_dropped_keys(AlternativeVisits& visits) { AlternativeRanges(visits).visit_dropped(); }

}  // namespace plumbline
