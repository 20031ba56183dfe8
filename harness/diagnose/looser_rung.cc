// Tries each looser rounding model on few rows, then on many, and keeps the likeliest.
#include "harness/diagnose/looser_rung.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/diagnose/alternative_search.h"
#include "harness/reference/scale_test.h"

namespace plumbline {
namespace {

constexpr double scale_test_cost = 5e7;  // multiply-adds

}  // namespace

std::vector<Rung> rungs_of(const FailingOutput& failing) {
  std::vector<Rung> rungs = ladder(failing.geometry->problem());
  for (Rung& rung : rungs) {
    rung.spec.lse_base = failing.spec->lse_base;
    rung.spec.lse_includes_sink = failing.spec->lse_includes_sink;
    rung.spec.lse_without_row_bias = failing.spec->lse_without_row_bias;
  }
  return rungs;
}

std::string sentence_of(const Rung& rung, const RoundingSpec& judged) {
  if (rung.spec.s_rounded != DType::none && judged.s_rounded == DType::none) {
    return fmt::format("would be explained if S were rounded to {}, as MLX and eager do",
                       name(rung.spec.s_rounded));
  }
  return fmt::format("would be explained by what {} rounds: {}", rung.name, rung.rounds);
}

double log_likelihood(const Reference& reference, const Comparison& comparison,
                      const std::vector<double>& lse_errors) {
  double sum = 0;
  const auto add = [&sum](double z, double sigma) {
    if (sigma > 0) sum -= z * z / 2 + std::log(sigma);
  };
  for (std::size_t i = 0; i < comparison.z.size(); ++i) add(comparison.z[i], reference.sigma[i]);
  for (std::size_t r = 0; r < lse_errors.size(); ++r)
    add(lse_errors[r] / reference.lse_sigma[r], reference.lse_sigma[r]);
  return sum;
}

std::optional<double> likelihood_by(const FailingOutput& failing, const RoundingSpec& spec,
                                    const RowSelection& rows, Comparison* made) {
  const Geometry& geometry = *failing.geometry;
  const Reference reference = compute_reference(geometry, failing.inputs, spec, rows);
  if (!is_finite(reference)) return std::nullopt;
  const Limits limits =
      default_limits(spec, geometry.problem(), failing.comparison->statistics.elements);
  Comparison comparison = compare(geometry, failing.outputs, reference);
  ErrorStatistics statistics = comparison.statistics;
  const ErrorStatistics& judged = failing.comparison->statistics;
  statistics.has_elsewhere = judged.has_elsewhere;
  // `elsewhere` is in sigmas of the judged spec. Convert it to sigmas of this spec.
  statistics.elsewhere =
      judged.elsewhere * rms_of(failing.reference->sigma) / rms_of(reference.sigma);
  if (statistics.elements == 0 || !within_limits(statistics, limits)) return std::nullopt;
  const std::vector<double> of_lse = lse_errors(geometry, failing.outputs, reference);
  const ScaleTests scale =
      test_scale(geometry, failing.inputs, spec, reference, comparison.z, of_lse, scale_test_cost);
  for (const ScaleTest* test : {&scale.shrink, &scale.temperature, &scale.lse}) {
    if (!within(test->percent_of_limit(), 100)) return std::nullopt;
  }
  const double sum = log_likelihood(reference, comparison, of_lse);
  if (made != nullptr) *made = std::move(comparison);
  return sum;
}

std::optional<Rung> looser_rung(const FailingOutput& failing) {
  if (failing.faults->total() > 0 || failing.comparison->statistics.elements == 0)
    return std::nullopt;
  const Problem& problem = failing.geometry->problem();
  const RowSelection many = second_look(failing), few = first_look(failing);
  std::optional<Rung> best;
  double best_likelihood = 0;
  for (Rung& rung : rungs_of(failing)) {
    if (looser_fields(rung.spec, *failing.spec).empty()) continue;
    if (failing.late()) return std::nullopt;  // the others may be likelier
    const Limits loose = limits_of_first_look(
        default_limits(rung.spec, problem, failing.comparison->statistics.elements));
    if (!would_explain(*failing.geometry, failing.inputs, failing.outputs, rung.spec, few, loose))
      continue;
    const auto found = likelihood_by(failing, rung.spec, many);
    if (!found || (best && *found <= best_likelihood)) continue;
    best_likelihood = *found;
    best = std::move(rung);
  }
  return best;
}

}  // namespace plumbline
