// Judges a dump by one rounding spec and, if it fails, locates the error.
#include "harness/check/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/compare/unreferenced_rows.h"
#include "harness/contract/contract.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/locate.h"
#include "harness/diagnose/looser_rung.h"
#include "harness/judge/judge.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

constexpr double second_look_cost = 5e7;  // see select_rows

// Returns contracts that give every kernel this spec, so that a dump is judged like a kernel with
// that contract.
Contracts pinning(const RoundingSpec& spec) {
  Contract contract;
  contract.kernels = {"*"};
  const std::string text = spec_text(spec);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size()), equals = text.find('=', at);
    const std::string field = text.substr(at, equals - at);
    if (field != "out_dtype")
      contract.spec_fields.emplace_back(field, text.substr(equals + 1, end - equals - 1));
    at = end + 1;
  }
  Contracts contracts;
  contracts.contracts.push_back(std::move(contract));
  return contracts;
}

std::optional<PaddingPolicy> policy_of(const Dump& dump) {
  if (dump.padded_rows == "zeros") return PaddingPolicy::zeros;
  if (dump.padded_rows == "attended") return PaddingPolicy::attended;
  return std::nullopt;
}

// Describes the first number of an input that is not finite, for an error message.
std::string first_non_finite(const Dump& dump) {
  const auto& geometry = *dump.geometry;
  struct Named {
    const char* name;
    const TensorShape& shape;
    const std::vector<std::byte>& data;
  };
  for (const auto& [name, shape, data] :
       {Named{"q", geometry.q, dump.q}, Named{"k", geometry.k, dump.k},
        Named{"v", geometry.v, dump.v}}) {
    for (std::int64_t i = 0; i < shape.elements; ++i) {
      const double value = decode_at(shape.dtype, data.data(), static_cast<std::size_t>(i));
      if (!std::isfinite(value)) return fmt::format("{} holds {} at element {}", name, value, i);
    }
  }
  return "the logits overflow";
}

}  // namespace

double RungTrial::percent_of_limit() const {
  double percent = judgement.percent_of_limit;
  for (const ScaleTest* test : {&scale.shrink, &scale.temperature, &scale.lse}) {
    if (test->judged && exceeds(test->percent_of_limit(), percent))
      percent = test->percent_of_limit();
  }
  return percent;
}

Examiner::Examiner(const Dump& dump, const CheckOptions& options)
    : dump_(dump), rows_(select_rows(*dump.geometry, options.reference_cost_limit)) {}

Faults Examiner::faults(const RoundingSpec& spec, const Reference& reference) const {
  const InputRounding rounding(spec);
  auto range = ranges_.find(rounding);
  if (range == ranges_.end()) {
    range = ranges_.emplace(rounding, value_range(*dump_.geometry, dump_.v.data(), rounding)).first;
  }
  return find_faults(
      {dump_.geometry.get(), dump_.outputs(), &range->second, &spec, policy_of(dump_), &reference});
}

Outcome outcome_of(const Dump& dump, const RungTrial& trial) {
  Outcome outcome;
  static_cast<ComparedOutput&>(outcome) = trial.outcome;
  outcome.suite = "check";
  outcome.c.kernel = trial.rung.name;
  outcome.c.problem = dump.problem();
  outcome.case_id = dump.name;
  outcome.description.spec = trial.rung.spec;
  return outcome;
}

void Examiner::judge_trial(RungTrial& trial) const {
  const Contracts contracts = pinning(trial.rung.spec);
  const Outcome outcome = outcome_of(dump_, trial);
  trial.judgement = judge({.outcome = &outcome, .contracts = &contracts});
}

Result<Examination> Examiner::examine(const Rung& rung) const {
  Examination result;
  RungTrial& trial = result.trial;
  trial.rung = rung;
  trial.rung.spec.lse_base = dump_.lse_base;
  const RoundingSpec& spec = trial.rung.spec;
  const Geometry& geometry = *dump_.geometry;
  result.reference = compute_reference(geometry, dump_.inputs(), spec, rows_);
  if (!is_finite(result.reference)) {
    return fail(
        Error{dump_.name, 0,
              fmt::format("there is no finite answer to compare with: {}", first_non_finite(dump_)),
              "dump a call whose visible inputs are finite; padding may hold anything if lengths "
              "are stated"});
  }
  result.comparison = compare(geometry, dump_.outputs(), result.reference);
  trial.sigma_rms = rms_of(result.reference.sigma);

  ComparedOutput& outcome = trial.outcome;
  outcome.status = Status::ok;
  outcome.spec_judged = spec_text(spec);
  const auto elsewhere = check_unreferenced_rows(geometry, dump_.inputs(), dump_.outputs(), spec,
                                                 result.reference, result.comparison.statistics);
  outcome.errors = result.comparison.statistics;
  outcome.head_rms = result.comparison.head_rms;
  outcome.head_rms.resize(std::min<std::size_t>(outcome.head_rms.size(), 4096));
  outcome.picture = result.comparison.picture;
  outcome.faults = faults(spec, result.reference);
  outcome.reference_rows = static_cast<std::int64_t>(result.reference.selection.rows.size());
  outcome.rows_total = result.reference.selection.rows_total;
  const Statistic& nearest = nearest_to_limit(
      result.comparison, default_limits(spec, geometry.problem(), outcome.errors.elements));
  if (const Maximum& maximum = result.comparison.worst[nearest]; maximum.row >= 0) {
    outcome.worst_statistic = nearest.name;
    outcome.worst = describe_worst(geometry, dump_.inputs(), dump_.outputs(), spec,
                                   result.reference, nearest, maximum);
  } else if (nearest.worst == WorstAt::elsewhere) {
    outcome.worst_statistic = nearest.name;
    outcome.worst = elsewhere;
  }
  judge_trial(trial);
  const std::vector<double> of_lse = lse_errors(geometry, dump_.outputs(), result.reference);
  trial.fit = log_likelihood(result.reference, result.comparison, of_lse);
  trial.scale =
      test_scale(geometry, dump_.inputs(), spec, result.reference, result.comparison.z, of_lse);
  trial.explains = outcome.errors.elements > 0 && !is_failure(trial.judgement.verdict) &&
                   within(trial.percent_of_limit(), 100);
  return result;
}

void Examiner::explain_failure(Examination& examination, double strict_rms) const {
  RungTrial& trial = examination.trial;
  if (strict_rms > 0) trial.outcome.widening = trial.sigma_rms / strict_rms;
  if (trial.outcome.errors.elements > 0) {
    trial.outcome.location =
        locate({dump_.geometry.get(), dump_.inputs(), &trial.rung.spec, &examination.reference,
                &examination.comparison,
                default_limits(trial.rung.spec, dump_.problem(), trial.outcome.errors.elements)});
    judge_trial(trial);
  }
}

std::vector<WorstElement> Examiner::worst_elements(const Examination& examination,
                                                   std::size_t count) const {
  const auto columns = static_cast<std::size_t>(examination.reference.columns);
  struct Row {
    double z = -1;
    Maximum at;
  };
  std::vector<Row> rows(examination.reference.selection.rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (examination.reference.visible[r] == 0) continue;
    for (std::size_t j = 0; j < columns; ++j) {
      const double z = std::abs(examination.comparison.z[r * columns + j]);
      if (exceeds(z, rows[r].z))
        rows[r] = {z, {static_cast<std::int64_t>(r), static_cast<std::int64_t>(j)}};
    }
  }
  std::erase_if(rows, [](const Row& row) { return row.at.row < 0; });
  const auto worse = [](const Row& a, const Row& b) {
    return exceeds(a.z, b.z) || (!exceeds(b.z, a.z) && a.at.row < b.at.row);
  };
  const std::size_t n = std::min(count, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n), rows.end(), worse);
  std::vector<WorstElement> worst;
  for (std::size_t i = 0; i < n; ++i) {
    worst.push_back(describe_worst(*dump_.geometry, dump_.inputs(), dump_.outputs(),
                                   examination.trial.rung.spec, examination.reference,
                                   deciding_statistics.front(), rows[i].at));
  }
  return worst;
}

StatedLayout layout_of(const Dump& dump) { return layout_of(*dump.geometry, dump.mask_tensor); }

bool would_explain(const Dump& dump, const Problem& problem, StatedLayout layout,
                   const RoundingSpec& spec) {
  const Geometry geometry(problem, std::move(layout));
  const RowSelection rows = select_rows(geometry, second_look_cost);
  const auto elements = static_cast<std::int64_t>(rows.rows.size()) * problem.head_dim_vo;
  return would_explain(geometry, dump.inputs(), dump.outputs(), spec, rows,
                       default_limits(spec, problem, elements));
}

}  // namespace plumbline
