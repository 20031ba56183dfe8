// Rounds P again, relative to the maximum that a kernel knows at a tile of keys.
#include "harness/diagnose/tiled_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace plumbline {
namespace {

constexpr std::int64_t max_splits_of_p = 4;

class TiledWeights {
 public:
  TiledWeights(const FailingOutput& failing, ExplanationRanking& ranking)
      : failing_(failing),
        geometry_(*failing.geometry),
        ranking_(ranking),
        judged_(failing.spec->p_dtype) {}

  void add() {
    for (std::int64_t tile = 16; tile <= 128; tile *= 2) {
      for (std::int64_t splits = 1; splits <= max_splits_of_p; ++splits) {
        const std::int64_t tiles = (geometry_.problem().seq_kv + tile - 1) / tile;
        if (splits == 1 || splits < tiles) add_tiles({tile, (tiles + splits - 1) / splits});
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
    add("small P", "P below the smallest normal number is flushed to zero", tile,
        {.dtype = judged_, .flushes = true});
    add("small P", "P is too small: the maximum starts at 0 or at a large finite number", tile,
        {.dtype = judged_, .starts_at_zero = true});
    add("small P", "P is too small: the maximum is taken over hidden keys, too", tile,
        {.dtype = judged_, .sees_hidden = true});
  }

  struct Rule {
    DType dtype;
    bool flushes = false, starts_at_zero = false, sees_hidden = false;
  };
  // The largest logits of the tiles up to one, in which the row sees keys.
  struct Tile {
    double visible = -std::numeric_limits<double>::infinity(), all = visible;
    double maximum(const Rule& rule) const {
      return rule.sees_hidden ? all : rule.starts_at_zero ? std::max(visible, 0.0) : visible;
    }
  };

  void add(const std::string& kind, const std::string& sentence, const Tiles& tile,
           const Rule& rule) {
    ranking_.add(kind, sentence, [=, this](const RowId& id) {
      RowVariation variation = ranking_.answers().stated(id);
      variation.round_p = [=, tiles = tiles_of(id, tile)](std::span<const std::int64_t> keys,
                                                          std::span<double> p, double,
                                                          std::span<double> ties) {
        double largest = -std::numeric_limits<double>::infinity();
        for (const Tile& one : tiles) largest = std::max(largest, one.visible);
        for (std::size_t n = 0; n < keys.size(); ++n) {
          // p is relative to the row's maximum. A kernel rounds it relative to that of its tile.
          const Tile& at = tiles[static_cast<std::size_t>(keys[n] / tile.keys)];
          const double unit = std::exp(at.maximum(rule) - largest), x = p[n] / unit,
                       rounded = round_to(x, rule.dtype);
          ties[n] = unit * tie_of_p(x, rounded, rule.dtype);
          p[n] = rule.flushes && rounded < smallest_normal(rule.dtype) ? 0 : rounded * unit;
        }
      };
      return variation;
    });
  }

  // Returns the spacing at x if the fp32 error of an exponential may round x the other way,
  // otherwise 0.
  static double tie_of_p(double x, double rounded, DType dtype) {
    const double spacing = ulp(x, dtype), from_tie = spacing / 2 - std::abs(x - rounded),
                 error = 0x1p-20 * x * std::max(1.0, std::abs(std::log(x)));
    return x > 0 && from_tie <= error ? spacing : 0;
  }
  static double smallest_normal(DType dtype) {
    return 2 * half_smallest_subnormal(dtype) * std::ldexp(1.0, significand_bits(dtype) - 1);
  }

  std::vector<Tile> tiles_of(const RowId& id, const Tiles& tile) const {
    const auto logit_of = ranking_.answers().stated_logit(id);
    std::vector<Tile> tiles;
    Tile running;
    const std::int64_t count = geometry_.length_kv(id.sample);
    for (std::int64_t begin = 0; begin < count; begin += tile.keys) {
      if (begin % (tile.keys * tile.of_split) == 0) running = {};
      Tile with = running;
      bool sees_any = false;
      for (std::int64_t key = begin; key < std::min(begin + tile.keys, count); ++key) {
        const double logit = logit_of(key);
        with.all = std::max(with.all, logit);
        if (!geometry_.sees(id.sample, id.row, key, id.head)) continue;
        sees_any = true;
        with.visible = std::max(with.visible, logit);
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
