// Fits each hypothesis (a key, the scale, the denominator) to the errors and names the best one.
#include "harness/diagnose/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "harness/base/text.h"
#include "harness/diagnose/error_parts.h"
#include "harness/reference/row_block.h"

namespace plumbline {
namespace {

constexpr double diagnosis_cost_limit = 2e8;  // multiply-adds spent on a diagnosis
// share of the squared error above which a head or column is named
constexpr double concentrated = 0.9;
// A scale or denominator that explains a smaller share of the squared error is named only if no
// dimension separates right from wrong. If a row holds the result of other keys or of another row,
// any direction along the output explains about half of its squared error.
constexpr double explains = 0.75;
// A dropped or repeated key, or an edge, must explain at least this share of the squared error
// beyond rounding, in the rows that it is about. The share is below 1, because one factor does not
// fit all rows. Without a key of weight p, a row moves by p / (1 - p), not p.
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
        side_(geometry_.side),
        model_(*inputs.spec, problem_.softmax_scale()),
        key_values_(geometry_, inputs.inputs.k, inputs.inputs.v, InputRounding(*inputs.spec)) {}

  Location run() {
    if (const std::string kept = output_keeps_its_limits(); !kept.empty()) return none(kept);
    for (const std::size_t r : rows_by_error()) fit_row(r);
    Location location = strongest();
    const double by_chance = chance(location.z), share = share_of(location.z);
    location.share = share;
    const bool is_global =
        location.kind == LocationKind::scale || location.kind == LocationKind::denominator;
    const bool is_location =
        std::abs(location.z) > by_chance && (is_global || share >= min_share_of_key);
    if (!is_location || (is_global && location.z * location.z < explains * fitted_energy_)) {
      if (Location parted = separating_dimension(location); parted.kind != LocationKind::none) {
        const std::string more = concentration();
        parted.description += more;
        parted.text += more;
        return parted;
      }
      if (!is_location) {
        return none(no_location_reason(location, by_chance, share));
      }
    }
    location.description += concentration();
    return location;
  }

 private:
  enum class Direction { scale, denominator, last, first, beyond_last, before_first, key };

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

  // Returns the |z| that the best hypothesis, whose own is `z`, would reach by chance (locate.h).
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

  void fit_row(std::size_t r) {
    const auto& id = in_.reference->selection.rows[r];
    if (in_.reference->visible[r] == 0) return;
    const RowDetail detail = reference_row(geometry_, in_.inputs, *in_.spec, id);
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    const float* z = &in_.comparison->z[r * columns];
    if (!std::all_of(z, z + columns, [](float value) { return std::isfinite(value); })) return;
    const double energy = row_energy(r);
    fitted_energy_ += energy;
    Energy& of_head = energy_of_[{id.sample, id.head}];
    of_head.squared += energy, of_head.elements += static_cast<double>(columns);
    fitted_rows_.push_back(r);
    std::vector<double> inverse_sigma(columns), gradient(columns, 0.0), value(columns);
    for (std::size_t j = 0; j < columns; ++j)
      inverse_sigma[j] = 1.0 / in_.reference->sigma[r * columns + j];
    double mean_logit = 0;
    for (std::size_t n = 0; n < detail.p.size(); ++n)
      mean_logit += detail.p[n] > 0 ? detail.p[n] * detail.s[n] : 0;
    const auto kv = static_cast<std::int32_t>(id.head / problem_.group());
    for (std::int64_t key = detail.keys.begin; key < detail.keys.end; ++key) {
      const auto n = static_cast<std::size_t>(key - detail.keys.begin);
      if (!geometry_.sees(id.sample, id.row, key, id.head)) continue;
      load_value(id.sample, key, kv, value);
      double ed = 0, dd = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const double d = detail.p[n] * (value[j] - detail.o[j]) * inverse_sigma[j];
        ed += z[j] * d;
        dd += d * d;
        gradient[j] += detail.p[n] * (detail.s[n] - mean_logit) * value[j];
      }
      for (const std::int32_t head : {-1, id.head}) {
        if (head >= 0 && problem_.group() == 1) continue;  // same as -1
        keys_[{id.sample, kv, static_cast<std::int32_t>(key), head}].add(ed, dd, r);
      }
      if (key == detail.keys.end - 1) last_visible_.add(ed, dd, r);
      if (key == detail.keys.begin) first_visible_.add(ed, dd, r);
    }
    add_along(gradient, z, inverse_sigma, r, scale_);
    add_along(detail.o, z, inverse_sigma, r, denominator_);
    fit_outside(r, kv, detail, detail.keys.end, z, inverse_sigma, beyond_last_);
    fit_outside(r, kv, detail, detail.keys.begin - 1, z, inverse_sigma, before_first_);
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
  void fit_outside(std::size_t r, std::int32_t kv, const RowDetail& detail, std::int64_t key,
                   const float* z, const std::vector<double>& inverse_sigma, Fit& fit) {
    const RowId& id = in_.reference->selection.rows[r];
    if (key < 0 || key >= geometry_.length_kv(id.sample)) return;
    const double share = share_outside(id, kv, detail, key);
    std::vector<double> value(inverse_sigma.size());
    load_value(id.sample, key, kv, value);
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
    const double scale = load_query(geometry_, in_.inputs, model_, id, q);
    key_values_.key(id.sample, key, kv, k);
    const double x = scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    return logit_shape(geometry_, side_, id).logit(x, key);
  }

  void load_value(std::int32_t sample, std::int64_t key, std::int32_t kv,
                  std::vector<double>& value) const {
    key_values_.value(sample, key, kv, value);
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

  // Returns the best hypothesis' direction in a row, in units of the output; empty if it has none.
  std::vector<double> direction(const RowId& id, const RowDetail& detail) const {
    const auto kv = static_cast<std::int32_t>(id.head / problem_.group());
    std::vector<double> along(detail.o.size(), 0.0), value(detail.o.size());
    if (best_ == Direction::denominator) return detail.o;
    if (best_ == Direction::scale) {
      double mean = 0;
      for (std::size_t n = 0; n < detail.p.size(); ++n)
        mean += detail.p[n] > 0 ? detail.p[n] * detail.s[n] : 0;
      for (std::size_t n = 0; n < detail.p.size(); ++n) {
        if (!(detail.p[n] > 0)) continue;
        load_value(id.sample, detail.keys.begin + static_cast<std::int64_t>(n), kv, value);
        for (std::size_t j = 0; j < along.size(); ++j)
          along[j] += detail.p[n] * (detail.s[n] - mean) * value[j];
      }
      return along;
    }
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
    load_value(id.sample, key, kv, value);
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
    const RowDetail detail = reference_row(geometry_, in_.inputs, *in_.spec, id);
    const std::vector<double> along = direction(id, detail);
    if (along.empty()) return;
    const auto kv = static_cast<std::int32_t>(id.head / problem_.group());
    const std::size_t columns = along.size();
    std::vector<double> weighted(columns), value(columns);
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
      load_value(id.sample, detail.keys.begin + static_cast<std::int64_t>(n), kv, value);
      const double p2 = detail.p[n] * detail.p[n];
      of_keys +=
          p2 * std::pow(std::inner_product(value.begin(), value.end(), weighted.begin(), 0.0), 2);
      values2 += p2 * std::inner_product(value.begin(), value.end(), value.begin(), 0.0);
    }
    if (values2 > 0) variance += spre2 / values2 * of_keys;
  }

  // Returns "heads 1, 3 of 4 are wrong, the others right" if every part is clearly right or wrong;
  // otherwise "".
  std::string separated(LocationKind kind, const std::map<std::int64_t, ErrorPart>& parts) const {
    const auto wrong = wrong_parts(parts);
    if (!wrong || wrong->empty() || wrong->size() == parts.size()) return "";
    const bool is_one = wrong->size() == 1;
    // A sample has rows of every head, but not every row.
    const bool is_sample = kind == LocationKind::row && in_.reference->selection.sampled;
    return fmt::format("{}{} {} of {}{} {} wrong, the others right", name(kind), is_one ? "" : "s",
                       in_ranges(*wrong), parts.size(), is_sample ? " compared" : "",
                       is_one ? "is" : "are");
  }
  Location separating_dimension(const Location& otherwise) const {
    const Reference& reference = *in_.reference;
    const auto heads = error_by(reference, *in_.comparison,
                                [](const RowId&id) { return std::int64_t{id.head}; }),
               columns = error_by_column(reference, *in_.comparison),
               positions = error_by(reference, *in_.comparison,
                                    [](const RowId&id) { return std::int64_t{id.row}; });
    for (const auto& [kind, parts] : {std::pair{LocationKind::head, &heads},
                                      {LocationKind::column, &columns},
                                      {LocationKind::row, &positions}}) {
      if (const std::string text = separated(kind, *parts); !text.empty())
        return {kind, fmt::format("{}: {}", name(kind), text), otherwise.z, text};
    }
    return {};
  }

  // Returns ", 98 % of the squared error in head 3 of sample 0" if it is concentrated.
  std::string concentration() const {
    const auto& rows = in_.reference->selection.rows;
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    std::map<std::pair<std::int32_t, std::int32_t>, double> heads;
    std::vector<double> column_energy(columns, 0.0);
    double total = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double energy = row_energy(r);
      total += energy;
      heads[{rows[r].sample, rows[r].head}] += energy;
      for (std::size_t j = 0; j < columns; ++j) {
        const double z = in_.comparison->z[r * columns + j];
        if (std::isfinite(z)) column_energy[j] += z * z;
      }
    }
    std::string text;
    const auto head = std::ranges::max_element(
        heads, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (heads.size() > 1 && head->second > concentrated * total) {
      text += fmt::format(", {:.0f} % of the squared error in head {} of sample {}",
                          100 * head->second / total, head->first.second, head->first.first);
    }
    const auto column = std::ranges::max_element(column_energy);
    if (columns > 1 && *column > concentrated * total) {
      text += fmt::format(", {:.0f} % of the squared error in column {}", 100 * *column / total,
                          column - column_energy.begin());
    }
    return text;
  }

  const LocateInputs& in_;
  const Geometry& geometry_;
  const Problem& problem_;
  const SideInputs& side_;
  const Model model_;
  const KeyValues key_values_;
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
