// Rounds P again, relative to the maximum that a kernel knows at a tile of keys.
#include "harness/diagnose/tiled_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace plumbline {
namespace {

constexpr std::int64_t max_splits_of_p = 4;
constexpr std::int64_t min_tile_of_p = 16, max_tile_of_p = 128;  // keys, powers of two
constexpr double hidden_cost_limit = 2e6;  // multiply-adds of the logits of hidden keys
constexpr double no_logit = -std::numeric_limits<double>::infinity();

struct KeyState {
  double logit = no_logit;
  bool is_seen = false;
};

// The keys of all tiles in which a row sees keys.
struct RowStates {
  std::int64_t first = 0;  // key of states[0], a multiple of each size of tile
  std::vector<KeyState> states;
};

class TiledWeights {
 public:
  TiledWeights(const FailingOutput& failing, ExplanationRanking& ranking)
      : failing_(failing),
        geometry_(*failing.geometry),
        ranking_(ranking),
        judged_(failing.spec->p_dtype) {
    double hidden = 0;
    for (const std::size_t r : ranking_.rows()) {
      rows_.push_back(seen_keys(ranking_.answers().row(r)));
      hidden +=
          static_cast<double>(std::ranges::count(rows_.back().states, false, &KeyState::is_seen));
    }
    knows_hidden_ = hidden > 0 && hidden * static_cast<double>(geometry_.problem().head_dim_qk) <=
                                      hidden_cost_limit;
    if (knows_hidden_) add_hidden_keys();
  }

  void add() {
    for (std::int64_t tile = min_tile_of_p; tile <= max_tile_of_p; tile *= 2) {
      const std::int64_t tiles = (geometry_.problem().seq_kv + tile - 1) / tile;
      std::set<std::int64_t> tried;  // numbers of tiles of a split
      for (std::int64_t splits = 1; splits <= max_splits_of_p; ++splits) {
        const std::int64_t of_split = (tiles + splits - 1) / splits;
        if ((splits == 1 || splits < tiles) && tried.insert(of_split).second)
          add_tiles({tile, of_split});
      }
    }
  }

 private:
  // The keys of a tile, and the tiles of a split, each of which has a maximum of its own.
  struct Tiles {
    std::int64_t keys, of_split;
  };

  void add_tiles(const Tiles& tile) {
    for (const DType dtype : coarser_dtypes) {
      if (!may_be_p(failing_, dtype)) continue;
      // The kind is that of the sigma of the same rounding.
      add(kind_of("P", dtype), fmt::format("P is rounded to {}", name(dtype)), tile,
          {.dtype = dtype});
    }
    if (judged_ == DType::f32 || judged_ == DType::none) return;
    // Goes before rules that may change nothing in these rows.
    add("P as judged", "", tile, {.dtype = judged_});
    add("small P", "P below the smallest normal number is flushed to zero", tile,
        {.dtype = judged_, .flushes = true});
    add("small P", "P is too small: the maximum starts at 0 or at a large finite number", tile,
        {.dtype = judged_, .starts_at_zero = true});
    if (!knows_hidden_) return;
    add("small P", "P is too small: the maximum is taken over hidden keys, too", tile,
        {.dtype = judged_, .sees_hidden = true});
  }

  struct Rule {
    DType dtype;
    bool flushes = false, starts_at_zero = false, sees_hidden = false;
  };
  // The largest logits of the tiles up to one, in which the row sees keys.
  struct Tile {
    double visible = no_logit, all = no_logit;
    double maximum(const Rule& rule) const {
      return rule.sees_hidden ? all : rule.starts_at_zero ? std::max(visible, 0.0) : visible;
    }
  };

  void add(const std::string& kind, const std::string& sentence, const Tiles& tile,
           const Rule& rule) {
    ranking_.add_answers(kind, sentence, [&](std::size_t n) {
      const RowCalculator& answers = ranking_.answers();
      const RowId& id = answers.row(ranking_.rows()[n]);
      const RowStates& row = rows_[n];
      RowVariation variation = answers.stated(id);
      const double sink = answers.side().sinks.empty() ? no_logit : variation.sink;
      variation.round_p = [&, sink, tiles = tiles_of(row, tile)](std::span<const std::int64_t> keys,
                                                                 std::span<double> p, double,
                                                                 std::span<double> ties) {
        // p is relative to the row's maximum. A kernel rounds it relative to that of its tile.
        const double largest = std::accumulate(
            tiles.begin(), tiles.end(), sink,
            [](double most, const Tile& one) { return std::max(most, one.visible); });
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const Tile& at = tiles[static_cast<std::size_t>((keys[i] - row.first) / tile.keys)];
          const double unit = std::exp(at.maximum(rule) - largest), x = p[i] / unit,
                       rounded = round_to(x, rule.dtype);
          ties[i] = unit * tie_of_p(x, rounded, rule.dtype);
          p[i] = rule.flushes && rounded < smallest_normal(rule.dtype) ? 0 : rounded * unit;
        }
      };
      return answers.answer(id, variation);
    });
  }

  // Returns the spacing at x if the fp32 error of an exponential may round x the other way,
  // otherwise 0.
  static double tie_of_p(double x, double rounded, DType dtype) {
    if (!(x > 0)) return 0;
    return tie_at(x, rounded, dtype, fp32_error * x * std::max(1.0, std::abs(std::log(x))));
  }
  static double smallest_normal(DType dtype) {
    return 2 * half_smallest_subnormal(dtype) * std::ldexp(1.0, significand_bits(dtype) - 1);
  }

  // Returns the keys of the row's tiles, with the logits of those that it sees.
  RowStates seen_keys(const RowId& id) const {
    const KeyRange keys = geometry_.visible_keys(id.sample, id.row, id.head);
    RowStates row;
    row.first = keys.begin / max_tile_of_p * max_tile_of_p;
    const std::int64_t end = (keys.end + max_tile_of_p - 1) / max_tile_of_p * max_tile_of_p;
    row.states.resize(
        static_cast<std::size_t>(std::min(end, geometry_.length_kv(id.sample)) - row.first));
    for (const auto& [key, logit] : ranking_.answers().seen_logits(id))
      row.states[static_cast<std::size_t>(key - row.first)] = {logit, true};
    return row;
  }

  void add_hidden_keys() {
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      const auto logit =
          ranking_.answers().stated_logit(ranking_.answers().row(ranking_.rows()[n]));
      std::int64_t key = rows_[n].first;
      for (KeyState& state : rows_[n].states) {
        if (!state.is_seen) state.logit = logit(key);
        ++key;
      }
    }
  }

  static std::vector<Tile> tiles_of(const RowStates& row, const Tiles& tile) {
    std::vector<Tile> tiles;
    Tile running;
    const auto count = static_cast<std::int64_t>(row.states.size());
    for (std::int64_t begin = 0; begin < count; begin += tile.keys) {
      if ((row.first + begin) % (tile.keys * tile.of_split) == 0) running = {};
      Tile with = running;
      bool sees_any = false;
      for (std::int64_t at = begin; at < std::min(begin + tile.keys, count); ++at) {
        const KeyState& state = row.states[static_cast<std::size_t>(at)];
        with.all = std::max(with.all, state.logit);
        if (!state.is_seen) continue;
        sees_any = true;
        with.visible = std::max(with.visible, state.logit);
      }
      if (sees_any) running = with;
      tiles.push_back(running);
    }
    return tiles;
  }

  const FailingOutput& failing_;
  const Geometry& geometry_;
  ExplanationRanking& ranking_;
  const DType judged_;
  std::vector<RowStates> rows_;  // as ranking_.rows()
  bool knows_hidden_ = false;    // some rows' tiles have hidden keys, and their logits are known
};

}  // namespace

std::string kind_of(std::string_view what, DType dtype) {
  return fmt::format("{} to {} bits", what, significand_bits(dtype));
}

bool may_be_p(const FailingOutput& failing, DType dtype) {
  const Problem& problem = failing.geometry->problem();
  const bool is_excluded = dtype == DType::e4m3 && problem.has_fp8_kv() && !problem.has_fp8_q();
  return !is_excluded && unit_roundoff(dtype) > unit_roundoff(failing.spec->p_dtype);
}

void add_tiled_weights(const FailingOutput& failing, ExplanationRanking& ranking) {
  TiledWeights(failing, ranking).add();
}

}  // namespace plumbline
