// Rounds P again, relative to the maximum that a kernel knows at a tile of keys.
#include "harness/diagnose/tiled_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
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
      : failing_(failing), geometry_(*failing.geometry), ranking_(ranking) {
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
  // The number of keys of a tile, and of tiles of a split. Each split has a maximum of its own.
  struct Tiles {
    std::int64_t keys, of_split;
  };

  void add_tiles(const Tiles& tile) {
    for (const DType dtype : coarser_dtypes) {
      if (!may_be_p(failing_, dtype)) continue;
      // The looser spec with this rounding has the same kind (other_roundings.cc, add_scales).
      add(kind_of("P", dtype), fmt::format("P is rounded to {}", name(dtype)), tile,
          {.dtype = dtype});
    }
    if (!can_replay_judged()) return;
    // Competes with rules that may change nothing in these rows.
    add("P as judged", "", tile, {.is_judged = true});
    add("small P", "P below the smallest normal number is flushed to zero", tile,
        {.is_judged = true, .flushes = true});
    if (model().p_divided) return;  // the maximum has no effect
    add("small P", "P is too small: the maximum starts at 0 or at a large finite number", tile,
        {.is_judged = true, .starts_at_zero = true});
    if (!knows_hidden_) return;
    add("small P", "P is too small: the maximum is taken over hidden keys, too", tile,
        {.is_judged = true, .sees_hidden = true});
  }

  const Model& model() const { return ranking_.answers().model(); }
  // Returns true if the judged rounding of P follows from the logits.
  bool can_replay_judged() const {
    return model().p_rounded != DType::none && !model().p_stochastic &&
           (model().p_max != MaximumOfP::free || model().p_divided);
  }

  // How a kernel rounds P: to `dtype`, or as the judged spec says.
  struct Rule {
    DType dtype = DType::none;
    bool is_judged = false;
    bool flushes = false, starts_at_zero = false, sees_hidden = false;
  };
  // The largest logits from the start of a split to the end of a tile. Tiles in which the row sees
  // no key do not count.
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
                                                                 std::span<double> p, double sum,
                                                                 std::span<double> ties) {
        // p is relative to the row's maximum. A kernel rounds it relative to that of its tile.
        const double largest = std::accumulate(
            tiles.begin(), tiles.end(), sink,
            [](double most, const Tile& one) { return std::max(most, one.visible); });
        double lost = 0;
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const Tile& at = tiles[static_cast<std::size_t>((keys[i] - row.first) / tile.keys)];
          const double unit = rule.is_judged && model().p_divided
                                  ? sum
                                  : std::exp(held_maximum(at.maximum(rule)) - largest);
          const HeldWeight held = held_weight(p[i] / unit, rule);
          lost += p[i] - unit * held.p;
          ties[i] = unit * held.tie;
          p[i] = unit * held.p;
        }
        if (!rule.is_judged || !model().denominator_from_rounded_p) return;
        for (double& x : p) x *= sum / (sum - lost);
      };
      return answers.answer(id, variation);
    });
  }

  double held_maximum(double maximum) const {
    switch (model().p_max) {
      case MaximumOfP::ceil2:
        return std::ceil(maximum * std::numbers::log2e) * std::numbers::ln2;
      case MaximumOfP::bf16:
        return round_to(maximum, DType::bf16);
      case MaximumOfP::running:
      case MaximumOfP::one:
      case MaximumOfP::free:
        break;
    }
    return maximum;
  }

  // P as a kernel holds it, and the spacing if an fp32 error may round it the other way.
  struct HeldWeight {
    double p = 0, tie = 0;
  };
  HeldWeight held_weight(double x, const Rule& rule) const {
    const DType dtype = rule.is_judged ? model().p_rounded : rule.dtype;
    const double factor = rule.is_judged ? model().p_prescale : 1,
                 rounded = rule.is_judged ? model().rounded_p(x) : round_to(x, dtype);
    const bool is_flushed = rule.flushes && rounded * factor < smallest_normal(dtype);
    const bool toward_zero = rule.is_judged && model().truncates_p();
    return {is_flushed ? 0 : rounded,
            tie_of_p(x * factor, rounded * factor, dtype, toward_zero) / factor};
  }

  // Returns the spacing at x if the fp32 error of an exponential may round x the other way,
  // otherwise 0.
  static double tie_of_p(double x, double rounded, DType dtype, bool toward_zero) {
    if (!(x > 0)) return 0;
    const double error = fp32_error * x * std::max(1.0, std::abs(std::log(x)));
    if (!toward_zero) return tie_at(x, rounded, dtype, error);
    const double spacing = ulp(x, dtype), above = x - rounded;
    return std::min(above, spacing - above) <= error ? spacing : 0;
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
