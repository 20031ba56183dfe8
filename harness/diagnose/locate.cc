// Fits each hypothesis (a key, the scale, the denominator) to the errors and names the best one.
#include "harness/diagnose/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "harness/diagnose/error_parts.h"
#include "harness/diagnose/separating_dimension.h"
#include "harness/reference/row_replay.h"

namespace plumbline {
namespace {

constexpr double diagnosis_cost_limit = 2e8;  // multiply-adds spent on a diagnosis
// A scale or denominator that explains at least this share of the squared error is named at once.
// Otherwise heads, columns and rows are tried first: if a row holds the result of other keys or of
// another row, any direction along the output explains about half of the row's squared error.
constexpr double explains = 0.75;
// A dropped or repeated key, or an edge, must explain at least this share of the squared error
// beyond rounding, in the rows that it is about. The share is below 1, because one factor does not
// fit all rows: without a key of weight p, a row moves by p / (1 - p), not p.
constexpr double min_share_of_key = 0.25;
// Share of the outputs without a location that get one by chance.
constexpr double false_location_share = 1e-3;
constexpr std::size_t variance_rows = 16;  // rows that rho is estimated from (locate.h)

// <e, d> and <d, d> of one hypothesis in units of sigma, and the row with the largest <d, d>.
struct Fit {
  double ed = 0, dd = 0;
  double top = 0;
  std::size_t top_row = 0;
  double z() const { return dd > 0 ? ed / std::sqrt(dd) : 0; }
  void add(double ed_of_row, double dd_of_row, std::size_t row) {
    ed += ed_of_row, dd += dd_of_row;
    if (dd_of_row > top) top = dd_of_row, top_row = row;
  }
};

struct KeyId {
  std::int32_t sample, head_kv, key;
  std::int32_t head;  // query head; -1: all heads that read the key
  // clang-tidy 14 takes the 0 of a defaulted comparison for a pointer.
  auto operator<=>(const KeyId&) const = default;  // NOLINT(modernize-use-nullptr)
};

class Locator {
 public:
  explicit Locator(const LocateInputs& inputs)
      : in_(inputs),
        geometry_(*inputs.geometry),
        problem_(geometry_.problem()),
        context_(geometry_, inputs.inputs, *inputs.spec) {}

  Location run() {
    if (const std::string kept = output_keeps_its_limits(); !kept.empty()) return none(kept);
    choose_rows();
    fit_rows();
    Location location = strongest();
    const double by_chance = chance(location.z), share = share_of(location.z);
    location.share = share;
    const bool is_global =
        location.kind == LocationKind::scale || location.kind == LocationKind::denominator;
    const bool is_location =
        std::abs(location.z) > by_chance && (is_global || share >= min_share_of_key);
    if (!is_location || (is_global && location.z * location.z < explains * fitted_energy_)) {
      if (Location parted = separating_dimension(*in_.reference, *in_.comparison);
          parted.kind != LocationKind::none) {
        parted.z = location.z;
        const std::string more = concentration(*in_.reference, *in_.comparison);
        parted.description += more;
        parted.text += more;
        return parted;
      }
      if (!is_location) {
        return none(no_location_reason(location, by_chance, share));
      }
    }
    location.description += concentration(*in_.reference, *in_.comparison);
    return location;
  }

 private:
  // One fit for each key of a range; nullopt if no fitted row sees the key.
  using KeyFits = std::vector<std::optional<Fit>>;
  enum class Direction { scale, denominator, last, first, beyond_last, before_first, key };

  const RowId& row(std::size_t r) const { return in_.reference->selection.rows[r]; }
  std::int32_t key_head(std::size_t r) const {
    return static_cast<std::int32_t>(row(r).head / problem_.group());
  }

  static Location none(const std::string& why) { return {.description = "no location: " + why}; }

  // Returns why there is nothing to locate; "" if there may be something.
  std::string output_keeps_its_limits() const {
    ErrorStatistics outputs = in_.comparison->statistics;
    std::string_view failing;  // a row output
    for (const RowOutput output : all<RowOutput>()) {
      const RowStatistics& of = row_statistics[output];
      if (outputs.*of.measured && !within(outputs.*of.z, in_.limits.*of.limit) && failing.empty())
        failing = table_row(output).words;
      outputs.*of.measured = false;
    }
    const bool elsewhere_fails =
        outputs.has_elsewhere && !within(outputs.elsewhere, in_.limits.elsewhere);
    outputs.has_elsewhere = false;
    if (!within_limits(outputs, in_.limits)) return "";
    if (!failing.empty()) return fmt::format("only the {} is beyond its limit", failing);
    return elsewhere_fails ? "only a row that has no reference is beyond its limit" : "";
  }

  std::size_t hypotheses() const { return 6 + keys_.size(); }

  std::string no_location_reason(const Location& best, double by_chance, double share) const {
    if (!(std::abs(best.z) > by_chance)) {
      return fmt::format(
          "the best of {} hypotheses has z = {:.1f}, and errors without a location "
          "reach {:.1f}",
          hypotheses(), std::abs(best.z), by_chance);
    }
    return fmt::format(
        "the best of {} hypotheses, a {}, explains only {:.0f} % of the squared "
        "error beyond rounding",
        hypotheses(), name(best.kind), 100 * share);
  }

  bool is_about(const RowId& id) const {
    return best_ != Direction::key ||
           (id.sample == best_key_.sample && id.head / problem_.group() == best_key_.head_kv &&
            (best_key_.head < 0 || id.head == best_key_.head));
  }

  // Squared error of the rows that the best hypothesis is about.
  struct Energy {
    double squared = 0, elements = 0;
  };
  Energy energy_of_best() const {
    Energy sum;
    for (const auto& [of, energy] : energy_of_) {
      if (!is_about({of.first, of.second, 0})) continue;
      sum.squared += energy.squared, sum.elements += energy.elements;
    }
    return sum;
  }

  // Returns the share of energy_of_best(), beyond rounding, that a hypothesis with this z explains.
  double share_of(double z) const {
    const Energy energy = energy_of_best();
    const double left = energy.squared - z * z - std::pow(in_.limits.rms, 2) * energy.elements;
    return left <= 0 ? 1 : z * z / (z * z + left);
  }

  // Returns the |z| that the best hypothesis would reach by chance (locate.h). `z`: its actual z.
  double chance(double z) const {
    const Energy energy = energy_of_best();
    const double left = energy.elements > 0 ? (energy.squared - z * z) / energy.elements : 0;
    return std::sqrt(2 * std::log(static_cast<double>(hypotheses()) / false_location_share) *
                     variance_of_best() * std::max(1.0, left));
  }

  // Returns the rows in falling order of squared error, cut at the cost limit.
  std::vector<std::size_t> rows_by_error() const {
    const auto& rows = in_.reference->selection.rows;
    std::vector<double> energy(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) energy[r] = row_energy(r);
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return energy[a] != energy[b] ? energy[a] > energy[b] : a < b;
    });
    double cost = 0;
    for (std::size_t n = 0; n < order.size(); ++n) {
      cost += static_cast<double>(in_.reference->visible[order[n]] *
                                  (problem_.head_dim_qk + 4 * problem_.head_dim_vo));
      if (cost > diagnosis_cost_limit && n > 0) {
        order.resize(n);
        break;
      }
    }
    return order;
  }

  double row_energy(std::size_t r) const {
    return error_of_row(*in_.comparison, static_cast<std::size_t>(in_.reference->columns), r)
        .squared;
  }

  // Sets fitted_rows_ and their squared errors.
  void choose_rows() {
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    for (const std::size_t r : rows_by_error()) {
      const float* z = &in_.comparison->z[r * columns];
      if (in_.reference->visible[r] == 0 ||
          !std::all_of(z, z + columns, [](float value) { return std::isfinite(value); }))
        continue;
      const double energy = row_energy(r);
      fitted_energy_ += energy;
      Energy& of_head = energy_of_[{row(r).sample, row(r).head}];
      of_head.squared += energy, of_head.elements += static_cast<double>(columns);
      fitted_rows_.push_back(r);
    }
  }

  // Fits all hypotheses, key head by key head, so that K and V are gathered once for each.
  void fit_rows() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::size_t>> by_key_head;
    for (const std::size_t r : fitted_rows_) by_key_head[{row(r).sample, key_head(r)}].push_back(r);
    for (const auto& [of, rows] : by_key_head) {
      KeyRange keys = no_keys;
      for (const std::size_t r : rows)
        keys = joined(keys, geometry_.visible_keys(of.first, row(r).row, row(r).head));
      // fit_outside() also reads the keys directly before and after those of a row.
      keys = {std::max<std::int64_t>(keys.begin - 1, 0),
              std::min(keys.end + 1, geometry_.length_kv(of.first))};
      RowReplay replay(context_, of.first, of.second, keys);
      KeyFits fits(static_cast<std::size_t>(keys.size()));
      std::map<std::int32_t, KeyFits> fits_by_head;
      for (const std::size_t r : rows) {
        // If only one query head reads the key head, its fits are those of all heads.
        KeyFits* of_head = nullptr;
        if (problem_.group() > 1) {
          of_head = &fits_by_head[row(r).head];
          of_head->resize(fits.size());
        }
        fit_row(r, replay, keys.begin, fits, of_head);
      }
      add_fits(of, -1, keys.begin, fits);
      for (const auto& [head, of_head] : fits_by_head) add_fits(of, head, keys.begin, of_head);
    }
  }

  // Keeps the fits of the keys that a row sees.
  void add_fits(const std::pair<std::int32_t, std::int32_t>& of, std::int32_t head,
                std::int64_t first_key, const KeyFits& fits) {
    for (std::size_t n = 0; n < fits.size(); ++n) {
      if (!fits[n]) continue;
      const auto key = static_cast<std::int32_t>(first_key + static_cast<std::int64_t>(n));
      keys_[{of.first, of.second, key, head}] = *fits[n];
    }
  }

  void fit_row(std::size_t r, RowReplay& replay, std::int64_t first_key, KeyFits& fits,
               KeyFits* of_head) {
    const RowId& id = row(r);
    const RowDetail detail = replay.row(id);
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    const float* z = &in_.comparison->z[r * columns];
    std::vector<double> inverse_sigma(columns);
    for (std::size_t j = 0; j < columns; ++j)
      inverse_sigma[j] = 1.0 / in_.reference->sigma[r * columns + j];
    for (std::int64_t key = detail.keys.begin; key < detail.keys.end; ++key) {
      const auto n = static_cast<std::size_t>(key - detail.keys.begin);
      if (!geometry_.sees(id.sample, id.row, key, id.head)) continue;
      const auto [ed, dd] = replay.project(key, detail.p[n], detail.o, inverse_sigma, {z, columns});
      const auto at = static_cast<std::size_t>(key - first_key);
      for (KeyFits* of : {&fits, of_head}) {
        if (of == nullptr) continue;
        std::optional<Fit>& fit = (*of)[at];
        if (!fit) fit.emplace();
        fit->add(ed, dd, r);
      }
      if (key == detail.keys.end - 1) last_visible_.add(ed, dd, r);
      if (key == detail.keys.begin) first_visible_.add(ed, dd, r);
    }
    add_along(replay.gradient(detail), z, inverse_sigma, r, scale_);
    add_along(detail.o, z, inverse_sigma, r, denominator_);
    fit_outside(r, replay, detail, detail.keys.end, z, inverse_sigma, beyond_last_);
    fit_outside(r, replay, detail, detail.keys.begin - 1, z, inverse_sigma, before_first_);
  }

  static void add_along(const std::vector<double>& direction, const float* z,
                        const std::vector<double>& inverse_sigma, std::size_t r, Fit& fit) {
    double ed = 0, dd = 0;
    for (std::size_t j = 0; j < direction.size(); ++j) {
      const double d = direction[j] * inverse_sigma[j];
      ed += z[j] * d;
      dd += d * d;
    }
    fit.add(ed, dd, r);
  }

  // Fits a key that must not be seen. If the kernel saw it, the row would move by p' (v - o), where
  // p' is the weight that the key would then have.
  void fit_outside(std::size_t r, const RowReplay& replay, const RowDetail& detail,
                   std::int64_t key, const float* z, const std::vector<double>& inverse_sigma,
                   Fit& fit) {
    const RowId& id = row(r);
    if (key < 0 || key >= geometry_.length_kv(id.sample)) return;
    const double share = share_outside(id, key_head(r), detail, key);
    const std::span<const double> of_key = replay.value(key);
    std::vector<double> value(of_key.begin(), of_key.end());
    for (std::size_t j = 0; j < value.size(); ++j) value[j] = share * (value[j] - detail.o[j]);
    add_along(value, z, inverse_sigma, r, fit);
  }

  // Returns the weight that a key would have if the kernel saw it in addition.
  double share_outside(const RowId& id, std::int32_t kv, const RowDetail& detail,
                       std::int64_t key) const {
    const double weight = std::exp(std::min(logit(id, key, kv) - detail.lse, 700.0));
    return weight / (1 + weight);
  }

  double logit(const RowId& id, std::int64_t key, std::int32_t kv) const {
    std::vector<double> q(static_cast<std::size_t>(problem_.head_dim_qk)), k(q.size());
    const double scale = load_query(geometry_, in_.inputs, context_.model, id, q);
    context_.key_values.key(id.sample, key, kv, k);
    const double x = scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    return logit_shape(geometry_, context_.side, id).logit(x, key);
  }

  Location strongest() {
    Location best;
    const auto consider = [&](LocationKind kind, Direction direction, const Fit& fit,
                              std::string text) {
      const double z = fit.z();
      if (!(std::abs(z) > std::abs(best.z))) return;
      best = {kind, fmt::format("{}: {} (z = {:.1f})", name(kind), text, z), z, std::move(text)};
      best_ = direction;
      best_fit_ = fit;
    };
    const auto more = [](double z) { return z > 0 ? "too much" : "too little"; };
    consider(LocationKind::scale, Direction::scale, scale_,
             fmt::format("the logits are {} (softmax scale, softcap or exp2)",
                         scale_.z() > 0 ? "too large" : "too small"));
    consider(LocationKind::denominator, Direction::denominator, denominator_,
             fmt::format("the outputs are {} (denominator, rescale or truncation)",
                         denominator_.z() > 0 ? "too large" : "too small"));
    consider(LocationKind::edge, Direction::last, last_visible_,
             fmt::format("the last visible key weighs {}", more(last_visible_.z())));
    consider(LocationKind::edge, Direction::first, first_visible_,
             fmt::format("the first visible key weighs {}", more(first_visible_.z())));
    if (beyond_last_.z() > 0)
      consider(LocationKind::edge, Direction::beyond_last, beyond_last_,
               "the key after the last visible one is seen");
    if (before_first_.z() > 0)
      consider(LocationKind::edge, Direction::before_first, before_first_,
               "the key before the first visible one is seen");
    for (const auto& [id, fit] : keys_) {
      // One key among many must clearly beat the global hypotheses, because the largest of n chance
      // fits grows like sqrt(2 ln n).
      if (!(std::abs(fit.z()) >= 1.1 * std::abs(best.z))) continue;
      const char* last =
          id.key + 1 == geometry_.length_kv(id.sample) ? ", the sample's last key," : "";
      consider(LocationKind::key, Direction::key, fit,
               fmt::format("key {}{} of key head {} in sample {} weighs {}", id.key, last,
                           id.head_kv, id.sample, more(fit.z())));
      best_key_ = id;
    }
    return best;
  }

  // Returns the best hypothesis' direction in a row, in units of the output; empty if the
  // hypothesis is not about this row.
  std::vector<double> direction(const RowId& id, const RowReplay& replay,
                                const RowDetail& detail) const {
    if (best_ == Direction::denominator) return detail.o;
    if (best_ == Direction::scale) return replay.gradient(detail);
    const auto kv = static_cast<std::int32_t>(id.head / problem_.group());
    std::vector<double> along(detail.o.size()), value(detail.o.size());
    const std::int64_t key = best_ == Direction::key           ? std::int64_t{best_key_.key}
                             : best_ == Direction::last        ? detail.keys.end - 1
                             : best_ == Direction::first       ? detail.keys.begin
                             : best_ == Direction::beyond_last ? detail.keys.end
                                                               : detail.keys.begin - 1;
    if (key < 0 || key >= geometry_.length_kv(id.sample)) return {};
    if (!is_about(id)) return {};
    const bool inside = key >= detail.keys.begin && key < detail.keys.end;
    if (inside && !geometry_.sees(id.sample, id.row, key, id.head)) return {};
    const double p = inside ? detail.p[static_cast<std::size_t>(key - detail.keys.begin)]
                            : share_outside(id, kv, detail, key);
    context_.key_values.value(id.sample, key, kv, value);
    for (std::size_t j = 0; j < along.size(); ++j) along[j] = p * (value[j] - detail.o[j]);
    return along;
  }

  // Returns rho of locate.h, from the row with the largest <d, d> and a few of the others.
  double variance_of_best() const {
    if (!(best_fit_.dd > 0)) return 1;
    double variance = 0, squared = 0;
    add_variance(best_fit_.top_row, variance, squared);
    double of_others = 0, squared_of_others = 0;
    std::size_t rows = 0;
    for (const std::size_t r : fitted_rows_) {
      const RowId& id = in_.reference->selection.rows[r];
      if (!is_about(id)) continue;
      if (r != best_fit_.top_row && ++rows <= variance_rows)
        add_variance(r, of_others, squared_of_others);
    }
    if (squared_of_others > 0) variance += of_others / squared_of_others * (best_fit_.dd - squared);
    return variance / (squared_of_others > 0 ? best_fit_.dd : squared);
  }

  void add_variance(std::size_t r, double& variance, double& squared) const {
    const RowId& id = in_.reference->selection.rows[r];
    RowReplay replay(context_, id);
    const RowDetail detail = replay.row(id);
    const std::vector<double> along = direction(id, replay, detail);
    if (along.empty()) return;
    const std::size_t columns = along.size();
    std::vector<double> weighted(columns);
    double spre2 = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double sigma = in_.reference->sigma[r * columns + j],
                   spre = in_.reference->spre[r * columns + j];
      weighted[j] = along[j] / (sigma * sigma);
      squared += along[j] * weighted[j];
      variance += std::max(0.0, sigma * sigma - spre * spre) * weighted[j] * weighted[j];
      spre2 += spre * spre;
    }
    double of_keys = 0, values2 = 0;
    for (std::size_t n = 0; n < detail.p.size(); ++n) {
      if (!(detail.p[n] > 0)) continue;
      const auto value = replay.value(detail.keys.begin + static_cast<std::int64_t>(n));
      const double p2 = detail.p[n] * detail.p[n];
      of_keys +=
          p2 * std::pow(std::inner_product(value.begin(), value.end(), weighted.begin(), 0.0), 2);
      values2 += p2 * std::inner_product(value.begin(), value.end(), value.begin(), 0.0);
    }
    if (values2 > 0) variance += spre2 / values2 * of_keys;
  }

  const LocateInputs& in_;
  const Geometry& geometry_;
  const Problem& problem_;
  const ReferenceContext context_;
  double fitted_energy_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, Energy> energy_of_;  // by sample and head
  std::vector<std::size_t> fitted_rows_;                               // by falling error
  Direction best_ = Direction::scale;                                  // set by strongest()
  KeyId best_key_{};
  Fit best_fit_;
  Fit scale_, denominator_, last_visible_, first_visible_, beyond_last_, before_first_;
  std::map<KeyId, Fit> keys_;
};

}  // namespace

Location locate(const LocateInputs& inputs) { return Locator(inputs).run(); }

}  // namespace plumbline
