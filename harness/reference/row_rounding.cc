// Finds flat rows, finds octaves of P with few significands, and tries the maxima that a kernel may
// have used.
#include "harness/reference/row_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <span>

namespace plumbline {
namespace {

// An octave has few significands if the sum of (sum p_k^2)^2 over its cells exceeds this share of
// (sum p_k^2)^2 over all its keys. Log-uniform significands of 50 keys have a smaller share.
constexpr double few_significands = 1.0 / 8;
// Octaves with less than this share of sum p_k^2 are ignored.
constexpr double min_octave_share = 1.0 / 1024;

// The smallest tile of a guess. The other tiles are multiples of it.
constexpr std::int64_t smallest_guess = 16;

// Returns true if the logits of the row are nearly equal:
// sum p_k (c_k - mean c)^2 <= (2 u_P)^2, with c_k the logit without its bias, and the mean weighted
// by p_k.
bool is_flat(const Model& model, const RowBlock& block, std::int64_t row) {
  const auto [begin, end] = block.keys_of(row);
  const double *p = block.p_of(row), *c = block.shapes.empty()
                                              ? block.s_of(row)
                                              : block.capped.data() + row * block.stride;
  const double limit = square(2 * model.u_p);
  double sum = 0, first = 0, second = 0;
  const double origin = c[begin];
  // More keys only increase the sum of the formula, so the first keys decide most rows.
  for (std::int64_t k = begin, next = std::min(begin + 64, end); k < end;
       next = std::min(next + 4096, end)) {
#pragma omp simd reduction(+ : sum, first, second)
    for (std::int64_t i = k; i < next; ++i) {
      const double weight = p[i], x = c[i] - origin;
      sum += weight;
      first += weight * x;
      second += weight * x * x;
    }
    k = next;
    if (sum > 0 && second - square(first) / sum > limit) return false;
  }
  return sum > 0;
}

// Returns the largest logit of the keys, without the sink.
double largest_logit(const RowBlock& block, std::int64_t row) {
  if (block.sink(row) == nullptr) return block.row_max.data()[row];
  double m = -std::numeric_limits<double>::infinity();
  block.for_seen(row, [&](std::int64_t k) { m = std::max(m, block.s_of(row)[k]); });
  return m;
}

using OctaveSums = std::array<double, RowRounding::octaves>;

// Sets sum p_k^2 of each octave.
void sum_octaves(std::span<const double> p, double t_of_p, OctaveSums& sums) {
  sums.fill(0);
  for (const double of_key : p)
    sums[static_cast<std::size_t>(RowRounding::octave(of_key * t_of_p))] += square(of_key);
}

// A faster sum_octaves() for rows whose octaves after the first eight have less than
// min_octave_share of sum p_k^2 together. Sets the sums of these octaves to 0. Returns false for
// other rows. fp32 is precise enough for the decisions made from the sums.
bool sum_first_octaves(std::span<const double> p, double t_of_p, OctaveSums& sums) {
  constexpr std::size_t first = 8, lanes = 8;
  using Wide [[gnu::vector_size(lanes * sizeof(double))]] = double;
  using Lanes [[gnu::vector_size(lanes * sizeof(float))]] = float;
  std::array<Lanes, first> above{};  // sums over keys with t >= 2^-g
  std::array<float, first> least;    // below 2^-g, so that no power of two is excluded
  for (std::size_t g = 0; g < first; ++g)
    least[g] = static_cast<float>(std::ldexp(1 - 1e-6, -static_cast<int>(g)) / t_of_p);
  Lanes all{};
  const auto add = [&](const double* of_eight) {
    Wide wide;
    std::memcpy(&wide, of_eight, sizeof wide);
    const Lanes of_keys = __builtin_convertvector(wide, Lanes), squares = of_keys * of_keys;
    all += squares;
#pragma GCC unroll 8
    for (std::size_t g = 0; g < first; ++g) above[g] += of_keys >= least[g] ? squares : Lanes{};
  };
  std::size_t k = 0;
  for (; k + lanes <= p.size(); k += lanes) add(p.data() + k);
  std::array<double, lanes> rest{};
  std::copy(p.begin() + static_cast<std::ptrdiff_t>(k), p.end(), rest.begin());
  add(rest.data());

  const auto sum = [](Lanes of) {
    double total = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) total += double{of[lane]};
    return total;
  };
  sums.fill(0);
  double before = 0;
  for (std::size_t g = 0; g < first; ++g) {
    const double up_to = sum(above[g]);
    sums[g] = up_to - before;
    before = up_to;
  }
  return sum(all) - before < min_octave_share * sum(all);
}

}  // namespace

// Returns true if some octave has few significands.
bool RowRoundings::find_octaves(const Model& model, const RowBlock& block, std::int64_t row,
                                const Cells& cells, double m, const RowRounding& result) {
  const double* p = block.p_of(row);
  const auto [begin, end] = block.keys_of(row);
  // Cells of one key count only with a sink above m, or with a p_max other than running.
  const Sink* sink = block.sink(row);
  const bool of_all_cells = (sink != nullptr && sink->s > m) || model.p_max != MaximumOfP::running;
  few_.fill(false);
  if (!of_all_cells && cells.empty()) return false;
  octaves_.of_cells.fill(0);
  const auto octave_of = [p, t_of_p = result.t_of_p](std::int64_t k) {
    return static_cast<std::size_t>(RowRounding::octave(p[k] * t_of_p));
  };
  if (of_all_cells) {  // counts each key as a cell first
    for (std::int64_t key = begin; key < end; ++key)
      octaves_.of_cells[octave_of(key)] += square(square(p[key]));
  }
  for (std::int64_t c = 0; c < cells.count(); ++c) {
    const auto first = cells.offsets[static_cast<std::size_t>(c)],
               last = cells.offsets[static_cast<std::size_t>(c + 1)];
    const std::int32_t key = cells.keys[static_cast<std::size_t>(first)];
    if (of_all_cells) {
      for (std::int32_t i = first; i < last; ++i) {
        const std::int32_t of_cell = cells.keys[static_cast<std::size_t>(i)];
        octaves_.of_cells[octave_of(of_cell)] -= square(square(p[of_cell]));
      }
    }
    octaves_.of_cells[octave_of(key)] += square((last - first) * square(p[key]));
  }
  const std::span<const double> of_keys(p + begin, static_cast<std::size_t>(end - begin));
  // Returns true if octave g has few significands, taking its sum p_k^2 as at least `least`.
  const auto is_few = [this](std::size_t g, double least) {
    return octaves_.of_cells[g] > few_significands * square(std::max(octaves_.squares[g], least));
  };
  // Quick exit: if no octave has few significands by the sums over a quarter of the keys, none has
  // by the larger sums over all keys.
  if (of_keys.size() >= 256) {
    sum_first_octaves(of_keys.first(of_keys.size() / 4), result.t_of_p, octaves_.squares);
    const double least = min_octave_share * octaves_.total();
    std::size_t g = 0;
    while (g < few_.size() && !is_few(g, least)) ++g;
    if (g == few_.size()) return false;
  }
  if (!sum_first_octaves(of_keys, result.t_of_p, octaves_.squares))
    sum_octaves(of_keys, result.t_of_p, octaves_.squares);
  const double least = min_octave_share * octaves_.total();
  bool some = false;
  for (std::size_t g = 0; g < few_.size(); ++g) {
    few_[g] = octaves_.squares[g] >= least && is_few(g, least);
    some |= few_[g];
  }
  return some;
}

void RowRoundings::gather(const Model& model, const RowBlock& block, std::int64_t row,
                          const RowRounding& result) {
  for (auto* per_key : {&s_, &t_}) per_key->clear();
  key_.clear();
  const double *s = model.u_s > 0 ? block.held_of(row) : block.s_of(row), *p = block.p_of(row);
  block.for_seen(row, [&](std::int64_t k) {
    key_.push_back(k);
    s_.push_back(s[k]);
    t_.push_back(p[k] * result.t_of_p);
  });
  lag_.resize(key_.size());
}

// Returns the maxima to try: over all keys, and over the tiles so far, for usual tile sizes in
// either order; each also begun at the sink. In a flat row with a bias, tiles may repeat roundings,
// so `repeats` adds tile sizes and splits.
std::vector<RowRoundings::Guess> RowRoundings::guesses(const Model& model, bool has_sink,
                                                       bool repeats) const {
  using Order = Guess::Order;
  std::vector<Guess> all;
  for (const bool from_sink : {false, true}) {
    if (from_sink && (!has_sink || model.p_max == MaximumOfP::one)) break;
    all.push_back({Order::all_keys, 0, 1, from_sink});
    for (const Order order : {Order::forward, Order::backward}) {
      for (const std::int64_t tile : {16, 32, 64, 128}) all.push_back({order, tile, 1, from_sink});
    }
  }
  if (!repeats) return all;
  for (const Order order : {Order::forward, Order::backward}) {
    for (std::int64_t tile = 16; tile <= 192; tile += 16) all.push_back({order, tile, 1, false});
  }
  for (const std::int64_t tile : {16, 128}) {
    for (std::int64_t splits = 2; splits <= 8; ++splits)
      all.push_back({Order::splits, tile, splits, false});
  }
  return all;
}

// Returns m as a kernel holds it.
double held_maximum(const Model& model, double m) {
  if (model.p_max == MaximumOfP::ceil2)
    return std::ceil(m * std::numbers::log2e) * std::numbers::ln2;
  return model.p_max == MaximumOfP::bf16 ? round_to(m, DType::bf16) : m;
}

// Calls visit(begin, end, lag) for tiles of keys (indices into key_). lag = exp(m - m_i), with m
// the largest logit of all keys, and m_i the maximum that `guess` gives the tile's keys.
template <class Visit>
void RowRoundings::for_tiles(const Model& model, const Guess& guess, double m, const Sink* sink,
                             Visit visit) const {
  const auto n = static_cast<std::int64_t>(key_.size());
  const double floor = guess.from_sink ? sink->s : minus_infinity;
  if (guess.order == Guess::Order::all_keys) {
    visit(std::int64_t{0}, n, std::exp(m - held_maximum(model, std::max(m, floor))));
    return;
  }
  const std::int64_t per_split = (n + guess.splits - 1) / guess.splits;
  for (std::int64_t first = 0; first < n; first += per_split) {
    const std::int64_t last = std::min(first + per_split, n), keys = last - first,
                       tiles = (keys + guess.tile - 1) / guess.tile;
    double running = floor;
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t tile = guess.order == Guess::Order::backward ? tiles - 1 - i : i,
                         begin = first + tile * guess.tile,
                         end = std::min(begin + guess.tile, last);
      double largest = minus_infinity;
#pragma omp simd reduction(max : largest)
      for (std::int64_t k = begin; k < end; ++k) largest = std::max(largest, s_.data()[k]);
      running = std::max(running, largest);
      visit(begin, end, std::exp(m - held_maximum(model, running)));
    }
  }
}

// Sets lag_[i] to the lag of key i.
void RowRoundings::find_lag(const Model& model, const Guess& guess, double m, const Sink* sink) {
  // A normalised P depends on no maximum.
  if (model.p_divided) {
    std::ranges::fill(lag_, 1.0);
    return;
  }
  for_tiles(model, guess, m, sink, [this](std::int64_t begin, std::int64_t end, double lag) {
    std::fill(lag_.begin() + begin, lag_.begin() + end, lag);
  });
}

double RowRoundings::error_of(const Model& model, std::size_t i) const {
  // A P that is a power of two except for fp64 noise must not be truncated below it.
  const double p = t_[i] * lag_[i] * (1 + 1e-12);
  if (p == 0) return 0;
  return (model.p_stochastic ? model.random_error(p) : model.rounded_p(p) - p) / p;
}

// Computes delta_k = rnd(p_k) - p_k. If S is rounded, the p_k are computed from rounded logits.
void RowRoundings::find_normalized(const Model& model, const RowBlock& block, std::int64_t row,
                                   const Cells& cells, RowRounding& result) {
  const double* p = block.p_of(row);
  result.errors.assign(static_cast<std::size_t>(block.stride), 0);
  std::vector<double> of_rounded;  // p_k of the rounded logits
  if (model.u_s > 0) {
    const Sink* sink = block.sink(row);
    const double *held = block.held_of(row), m = block.held_max.data()[row];
    of_rounded.assign(static_cast<std::size_t>(block.stride), minus_infinity);
    block.for_seen(row, [&](std::int64_t k) { of_rounded.data()[k] = held[k]; });
    const double of_keys = exp_and_sum(of_rounded.data(), m, of_rounded.data(), block.stride),
                 total = of_keys + (sink != nullptr ? std::exp(held_sink(model, *sink) - m) : 0);
    for (double& of_key : of_rounded) of_key /= total;
    p = of_rounded.data();
  }
  // Hidden keys have P = 0 and no error.
  const auto [begin, end] = block.keys_of(row);
  const double* exact = block.p_of(row);
  float* errors_of_keys = result.errors.data();
  double independent = 0, error_sum = 0;
#pragma omp simd reduction(+ : independent, error_sum)
  for (std::int64_t k = begin; k < end; ++k) {
    const double error = model.rounded_p(p[k] * (1 + 1e-12)) - p[k];
    errors_of_keys[k] = static_cast<float>(error);
    error_sum += error;
    independent += normalized_variance(model, exact[k], error);
  }
  result.error_sum = error_sum;
  const std::vector<double> errors(result.errors.begin(), result.errors.end());
  result.sum_variance = normalized_sum_variance(result.error_sum, independent,
                                                cell_sums(cells, errors.data()).excess());
}

// If m may be any number, all keys with one significand may have the largest error. Finds the
// largest share of each octave's sum p_k^2 in one cell. These cells are eight times as wide as P's,
// so that keys in neighbouring cells of P count together.
void RowRoundings::find_shares(const Model& model) {
  std::map<std::pair<std::size_t, std::uint64_t>, double> of_cells;
  std::array<double, RowRounding::octaves> all{};
  for (const double t : t_) {
    const auto g = static_cast<std::size_t>(RowRounding::octave(t));
    of_cells[{g, normal_p_cell(t, 53 - model.p_cell_bits + 3)}] += square(t);
    all[g] += square(t);
  }
  shares_.fill(0);
  for (const auto& [cell, squares] : of_cells) {
    double& share = shares_[cell.first];
    share = std::max(share, all[cell.first] > 0 ? squares / all[cell.first] : 0);
  }
}

void RowRoundings::set_plain(const Model& model, const RowBlock& block, std::int64_t row,
                             RowRounding& result) const {
  result.is_local = result.is_flat = false;
  result.errors.clear();
  result.error_sum = result.sum_variance = 0;
  if (model.p_rounded == DType::none) return;
  result.t_of_p = model.p_divided ? 1
                                  : block.total.data()[row] * std::exp(block.row_max.data()[row] -
                                                                       largest_logit(block, row));
}

void RowRoundings::find(const Model& model, const RowBlock& block, std::int64_t row,
                        const Cells& cells, RowRounding& result) {
  set_plain(model, block, row, result);
  if (model.p_rounded == DType::none) return;
  if (model.p_normalized) {
    result.t_of_p = 1;
    result.is_flat = is_flat(model, block, row);
    find_normalized(model, block, row, cells, result);
    return;
  }
  const Sink* sink = block.sink(row);
  const double* p = block.p_of(row);
  double m = largest_logit(block, row);
  // Rows do not share random errors.
  result.is_flat = !model.p_stochastic && is_flat(model, block, row);
  const bool some_are_few = find_octaves(model, block, row, cells, m, result);
  const bool any_maximum = model.p_max == MaximumOfP::free;
  if (!some_are_few && !result.is_flat && !any_maximum) return;

  gather(model, block, row, result);
  if (model.u_s > 0) m = *std::ranges::max_element(s_);
  const bool repeats = result.is_flat && !block.shapes.empty() &&
                       block.shapes[static_cast<std::size_t>(row)].has_bias();
  const std::vector<Guess> all = guesses(model, sink != nullptr, repeats);
  std::array<double, RowRounding::octaves> largest{};
  const Guess* flat_guess = nullptr;
  double flat_sum = 0;
  for (const Guess& guess : all) {
    find_lag(model, guess, m, sink);
    std::array<double, RowRounding::octaves> squares{};
    double sum = 0;
    for (std::size_t i = 0; i < key_.size(); ++i) {
      const double of_key = p[key_[i]], error = error_of(model, i) * of_key;
      sum += error;
      squares[static_cast<std::size_t>(RowRounding::octave(of_key * result.t_of_p))] +=
          square(error);
    }
    for (std::size_t g = 0; g < largest.size(); ++g) largest[g] = std::max(largest[g], squares[g]);
    if (result.is_flat && (flat_guess == nullptr || std::abs(sum) > std::abs(flat_sum)))
      flat_guess = &guess, flat_sum = sum;
  }
  result.is_local = some_are_few || any_maximum;
  if (any_maximum) find_shares(model);
  for (std::size_t g = 0; g < largest.size(); ++g) {
    double of_octave = few_[g] ? std::min(largest[g] / (octaves_.squares[g] * square(model.u_p)),
                                          model.max_kappa) /
                                     shared_slack
                               : 0;
    if (any_maximum && shares_[g] > 0.35) {
      of_octave =
          std::max(of_octave, (shares_[g] * model.max_kappa + (1 - shares_[g]) * model.kappa_p) /
                                  shared_slack);
    }
    result.kappas[g] = std::max(model.kappa_p, of_octave);
  }
  if (flat_guess == nullptr) return;
  find_lag(model, *flat_guess, m, sink);
  result.error_sum = flat_sum;
  result.errors.assign(static_cast<std::size_t>(block.stride), 0);
  for (std::size_t i = 0; i < key_.size(); ++i)
    result.errors.data()[key_[i]] = static_cast<float>(error_of(model, i) * p[key_[i]]);
}

namespace {

// Returns the sums of (error of p_k) x_k over keys [begin, end) whose P lags by `lag`, for both x.
// `t` and `x` begin at key 0, and `t_of_p` is t / p_k.
std::array<double, 2> chunk_sums(const Model& model, const double* t, double t_of_p, double lag,
                                 const std::array<const double*, 2>& x, std::int64_t begin,
                                 std::int64_t end) {
  // See error_of() for 1 + 1e-12. A tile without a logit above -infinity has P = 0.
  const double factor = lag * (1 + 1e-12);
  if (!std::isfinite(factor)) return {};
  double first = 0, second = 0;
  const double *of_first = x[0], *of_second = x[1];
#pragma omp simd reduction(+ : first, second)
  for (std::int64_t k = begin; k < end; ++k) {
    const double p = t[k] * factor, error = model.rounded_p(p) - p;
    first += error * of_first[k];
    second += error * of_second[k];
  }
  const double unit = 1 / (factor * t_of_p);
  return {first * unit, second * unit};
}

}  // namespace

void RowRoundings::project_errors(const Model& model, const RowBlock& block, std::int64_t row,
                                  const RowRounding& of_row, std::array<const double*, 2> x,
                                  std::array<std::vector<double>*, 2> sums) {
  if (model.p_rounded == DType::none || model.p_stochastic) return;
  const auto add = [&](std::size_t guess, const std::array<double, 2>& of_guess) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i]->resize(std::max(sums[i]->size(), guess + 1));
      (*sums[i])[guess] += of_guess[i];
    }
  };
  const auto [begin, end] = block.keys_of(row);
  if (model.p_normalized) {
    std::array<double, 2> of_errors{};
    for (std::int64_t k = begin; k < end; ++k) {
      const double error = of_row.errors.data()[k];
      for (std::size_t i = 0; i < x.size(); ++i) of_errors[i] += error * x[i][k];
    }
    add(0, of_errors);
    return;
  }
  gather(model, block, row, of_row);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (block.seen.empty()) {
      x[i] += begin;
      continue;
    }
    x_[i].clear();
    for (const std::int64_t k : key_) x_[i].push_back(x[i][k]);
    x[i] = x_[i].data();
  }
  const Sink* sink = block.sink(row);
  double m = largest_logit(block, row);
  if (model.u_s > 0) m = *std::ranges::max_element(s_);
  // Most guesses give most chunks the same lag, so each chunk keeps its sums by lag.
  const auto n = static_cast<std::int64_t>(key_.size());
  chunks_.resize(static_cast<std::size_t>((n + smallest_guess - 1) / smallest_guess));
  for (auto& chunk : chunks_) chunk.clear();
  const std::vector<Guess> all = guesses(model, sink != nullptr, false);
  for (std::size_t guess = 0; guess < all.size(); ++guess) {
    std::array<double, 2> of_guess{};
    for_tiles(model, all[guess], m, sink, [&](std::int64_t first, std::int64_t last, double lag) {
      for (std::int64_t k = first; k < last; k += smallest_guess) {
        auto& chunk = chunks_[static_cast<std::size_t>(k / smallest_guess)];
        auto found = std::ranges::find(chunk, lag, &ChunkSums::lag);
        if (found == chunk.end()) {
          chunk.push_back({lag, chunk_sums(model, t_.data(), of_row.t_of_p, lag, x, k,
                                           std::min(k + smallest_guess, n))});
          found = chunk.end() - 1;
        }
        for (std::size_t i = 0; i < x.size(); ++i) of_guess[i] += found->sums[i];
      }
    });
    add(guess, of_guess);
  }
}

}  // namespace plumbline
