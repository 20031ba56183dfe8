// Fits each hypothesis (a key, the scale, the denominator) to the errors and names the best one.
#include "harness/measure/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "harness/reference/question.h"

namespace plumbline {
namespace {

constexpr double cost_limit = 2e8;  // multiply-adds spent on a diagnosis
// share of the squared error above which a head or column is named
constexpr double concentrated = 0.9;
// A scale or denominator that explains less of the squared error than this gives way to a dimension
// that parts right from wrong: an answer for other keys or another row correlates with any
// direction along the output by a half.
constexpr double explains = 0.75;
// mean of (e / sigma)^2 over a head, row or column
constexpr double right_below = 4, wrong_above = 25;

// <e, d> and <d, d> of one hypothesis, in units of sigma.
struct Fit {
  double ed = 0, dd = 0;
  double z() const { return dd > 0 ? ed / std::sqrt(dd) : 0; }
};

struct KeyId {
  std::int32_t sample, head_kv, key;
  // clang-tidy 14 takes the 0 that a defaulted comparison compares with for a pointer.
  auto operator<=>(const KeyId&) const = default;  // NOLINT(modernize-use-nullptr)
};

class Locator {
 public:
  explicit Locator(const LocateInputs& inputs)
      : in_(inputs),
        geometry_(*inputs.geometry),
        problem_(geometry_.problem()),
        side_(side_inputs(problem_)),
        key_values_(geometry_, inputs.inputs.k, inputs.inputs.v, inputs.spec->kv_dequantized_to) {}

  Location run() {
    for (const std::size_t r : rows_by_error()) fit_row(r);
    Location location = strongest();
    if (location.kind.empty()) return location;
    const bool is_global = location.kind == "scale" || location.kind == "denominator";
    if (is_global && location.z * location.z < explains * fitted_energy_) {
      if (Location parted = parting(location); !parted.kind.empty()) location = parted;
    }
    location.description += concentration();
    return location;
  }

 private:
  // Rows in falling order of squared error, cut where the cost limit is reached.
  std::vector<std::size_t> rows_by_error() const {
    const auto& rows = in_.reference->selection.rows;
    std::vector<double> energy(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) energy[r] = row_energy(r);
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return energy[a] != energy[b] ? energy[a] > energy[b] : a < b;
    });
    double cost = 0;
    for (std::size_t n = 0; n < order.size(); ++n) {
      cost += static_cast<double>(in_.reference->visible[order[n]] *
                                  (problem_.head_dim_qk + 4 * problem_.head_dim_vo));
      if (cost > cost_limit && n > 0) {
        order.resize(n);
        break;
      }
    }
    return order;
  }

  double row_energy(std::size_t r) const {
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double z = in_.comparison->z[r * columns + j];
      if (std::isfinite(z)) sum += z * z;
    }
    return sum;
  }

  void fit_row(std::size_t r) {
    const auto& id = in_.reference->selection.rows[r];
    if (in_.reference->visible[r] == 0) return;
    const RowDetail detail = reference_row(geometry_, in_.inputs, *in_.spec, id);
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    const float* z = &in_.comparison->z[r * columns];
    if (!std::all_of(z, z + columns, [](float value) { return std::isfinite(value); })) return;
    fitted_energy_ += row_energy(r);
    std::vector<double> inverse_sigma(columns), gradient(columns, 0.0), value(columns);
    for (std::size_t j = 0; j < columns; ++j)
      inverse_sigma[j] = 1.0 / in_.reference->sigma[r * columns + j];
    double mean_logit = 0;
    for (std::size_t n = 0; n < detail.p.size(); ++n)
      mean_logit += detail.p[n] > 0 ? detail.p[n] * detail.s[n] : 0;
    const auto kv = static_cast<std::int32_t>(id.head / problem_.group());
    for (std::int64_t key = detail.keys.begin; key < detail.keys.end; ++key) {
      const auto n = static_cast<std::size_t>(key - detail.keys.begin);
      if (!geometry_.sees(id.sample, id.row, key)) continue;
      load_value(id.sample, key, kv, value);
      Fit fit;
      for (std::size_t j = 0; j < columns; ++j) {
        const double d = detail.p[n] * (value[j] - detail.o[j]) * inverse_sigma[j];
        fit.ed += z[j] * d;
        fit.dd += d * d;
        gradient[j] += detail.p[n] * (detail.s[n] - mean_logit) * value[j];
      }
      add(keys_[{id.sample, kv, static_cast<std::int32_t>(key)}], fit);
      if (key == detail.keys.end - 1) add(last_visible_, fit);
      if (key == detail.keys.begin) add(first_visible_, fit);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      add(scale_,
          {z[j] * gradient[j] * inverse_sigma[j], std::pow(gradient[j] * inverse_sigma[j], 2)});
      add(denominator_,
          {z[j] * detail.o[j] * inverse_sigma[j], std::pow(detail.o[j] * inverse_sigma[j], 2)});
    }
    fit_outside(id, kv, detail, detail.keys.end, z, inverse_sigma, beyond_last_);
    fit_outside(id, kv, detail, detail.keys.begin - 1, z, inverse_sigma, before_first_);
  }

  // A key that must not be seen: if it were, the row would move along p' (v - o), p' its weight
  // among the visible ones.
  void fit_outside(const RowId& id, std::int32_t kv, const RowDetail& detail, std::int64_t key,
                   const float* z, const std::vector<double>& inverse_sigma, Fit& fit) {
    if (key < 0 || key >= geometry_.length_kv(id.sample)) return;
    const double weight = std::exp(std::min(logit(id, key, kv) - detail.lse, 700.0));
    const double share = weight / (1 + weight);
    std::vector<double> value(inverse_sigma.size());
    load_value(id.sample, key, kv, value);
    for (std::size_t j = 0; j < value.size(); ++j) {
      const double d = share * (value[j] - detail.o[j]) * inverse_sigma[j];
      add(fit, {z[j] * d, d * d});
    }
  }

  double logit(const RowId& id, std::int64_t key, std::int32_t kv) const {
    std::vector<double> q(static_cast<std::size_t>(problem_.head_dim_qk)), k(q.size());
    decode(geometry_.q.dtype,
           at(in_.inputs.q, geometry_.q.dtype, geometry_.q_offset(id.sample, id.row, id.head)), q);
    key_values_.key(id.sample, key, kv, k);
    const double x =
        problem_.softmax_scale() * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    return logit_shape(geometry_, side_, id).logit(x, key);
  }

  void load_value(std::int32_t sample, std::int64_t key, std::int32_t kv,
                  std::vector<double>& value) const {
    key_values_.value(sample, key, kv, value);
  }

  static const void* at(const void* base, DType dtype, std::int64_t offset) {
    return static_cast<const std::byte*>(base) +
           static_cast<std::size_t>(offset) * size_in_bytes(dtype);
  }

  static void add(Fit& fit, const Fit& part) {
    fit.ed += part.ed;
    fit.dd += part.dd;
  }

  Location strongest() const {
    Location best;
    const auto consider = [&best](const char* kind, double z, std::string text) {
      if (std::abs(z) > std::abs(best.z))
        best = {kind, fmt::format("{}: {} (z = {:.1f})", kind, text, z), z};
    };
    const auto more = [](double z) { return z > 0 ? "too much" : "too little"; };
    consider("scale", scale_.z(),
             fmt::format("the logits are {} (softmax scale, softcap or exp2)",
                         scale_.z() > 0 ? "too large" : "too small"));
    consider("denominator", denominator_.z(),
             fmt::format("the outputs are {} (denominator, rescale or truncation)",
                         denominator_.z() > 0 ? "too large" : "too small"));
    consider("edge", last_visible_.z(),
             fmt::format("the last visible key weighs {}", more(last_visible_.z())));
    consider("edge", first_visible_.z(),
             fmt::format("the first visible key weighs {}", more(first_visible_.z())));
    if (beyond_last_.z() > 0)
      consider("edge", beyond_last_.z(), "the key behind the last visible one is seen");
    if (before_first_.z() > 0)
      consider("edge", before_first_.z(), "the key before the first visible one is seen");
    for (const auto& [id, fit] : keys_) {
      // One key among many must beat the global hypotheses clearly: the largest of n chance fits
      // grows like sqrt(2 ln n).
      if (std::abs(fit.z()) < 1.1 * std::abs(best.z)) continue;
      const char* last =
          id.key + 1 == geometry_.length_kv(id.sample) ? ", the sample's last key," : "";
      consider("key", fit.z(),
               fmt::format("key {}{} of key head {} in sample {} weighs {}", id.key, last,
                           id.head_kv, id.sample, more(fit.z())));
    }
    if (std::abs(best.z) < 4) return {};
    return best;
  }

  // Mean of (e / sigma)^2 by one dimension.
  struct Part {
    double energy = 0, elements = 0;
    double mean() const { return elements > 0 ? energy / elements : 0; }
  };
  // "heads 1, 3 of 4" where some parts are wrong, the others right, and none between; "" otherwise.
  static std::string wrong_parts(const char* what, const std::map<std::int64_t, Part>& parts) {
    std::string wrong;
    std::size_t count = 0;
    for (const auto& [index, part] : parts) {
      if (part.mean() > right_below && part.mean() < wrong_above) return "";
      if (part.mean() <= right_below) continue;
      if (++count <= 8) wrong += fmt::format("{}{}", wrong.empty() ? "" : ", ", index);
    }
    if (count == 0 || count == parts.size()) return "";
    return fmt::format("{}s {}{} of {} are wrong, the others right", what, wrong,
                       count > 8 ? ", …" : "", parts.size());
  }
  Location parting(const Location& otherwise) const {
    const auto& rows = in_.reference->selection.rows;
    const auto columns = static_cast<std::size_t>(in_.reference->columns);
    std::map<std::int64_t, Part> heads, columns_of, positions;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (in_.reference->visible[r] == 0) continue;
      for (std::size_t j = 0; j < columns; ++j) {
        const double z = in_.comparison->z[r * columns + j];
        if (!std::isfinite(z)) continue;
        for (Part* part : {&heads[rows[r].head], &columns_of[static_cast<std::int64_t>(j)],
                           &positions[rows[r].row]}) {
          part->energy += z * z;
          part->elements += 1;
        }
      }
    }
    for (const auto& [kind, parts] :
         {std::pair{"head", &heads}, {"column", &columns_of}, {"row", &positions}}) {
      if (const std::string text = wrong_parts(kind, *parts); !text.empty())
        return {kind, fmt::format("{}: {}", kind, text), otherwise.z};
    }
    return {};
  }

  // ", 98 % of the squared error in head 3 of sample 0" where it is concentrated.
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
    const auto head =
        std::max_element(heads.begin(), heads.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (heads.size() > 1 && head->second > concentrated * total) {
      text += fmt::format(", {:.0f} % of the squared error in head {} of sample {}",
                          100 * head->second / total, head->first.second, head->first.first);
    }
    const auto column = std::max_element(column_energy.begin(), column_energy.end());
    if (columns > 1 && *column > concentrated * total) {
      text += fmt::format(", {:.0f} % of the squared error in column {}", 100 * *column / total,
                          column - column_energy.begin());
    }
    return text;
  }

  const LocateInputs& in_;
  const Geometry& geometry_;
  const Problem& problem_;
  const SideInputs side_;
  const KeyValues key_values_;
  double fitted_energy_ = 0;
  Fit scale_, denominator_, last_visible_, first_visible_, beyond_last_, before_first_;
  std::map<KeyId, Fit> keys_;
};

}  // namespace

Location locate(const LocateInputs& inputs) { return Locator(inputs).run(); }

}  // namespace plumbline
