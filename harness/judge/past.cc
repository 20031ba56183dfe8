#include "harness/judge/past.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace plumbline {
namespace {

// Largest drift between two legal variants of one kernel, with room: measured maxima 1.36 (1e4 elements and more), 1.60 (fewer), 2.16
// (fp32 output). docs/judging.md.
constexpr std::int64_t few_elements = 2500;
double drift_limit(const Outcome& outcome) {
  if (outcome.c.problem.out() == DType::f32) return 2.5;
  return outcome.errors.elements < few_elements ? 1.7 : 1.5;
}

constexpr std::size_t least_times = 5;
constexpr double least_slowdown = 1.25;
constexpr double deviations = 5;

void judge_drift(const Outcome& outcome, const Baseline& baseline, Finder& finder) {
  if (outcome.errors.elements == 0 || baseline.elements == 0) return;
  const double ratio = drift_ratio(outcome.errors.rms, baseline.rms), limit = drift_limit(outcome);
  const auto sentence = [&](std::string_view direction) {
    return fmt::format("the rms error is {:.3g} of the legal one where run {} had {:.3g}: {} by {:.3g}, {:.3g} is within noise",
                       outcome.errors.rms, baseline.run_id, baseline.rms, direction, direction == "better" ? 1 / ratio : ratio, limit);
  };
  if (!within(ratio, limit)) {
    finder.find(Verdict::regressed, {"drift", ratio, limit, sentence("worse")});
  } else if (ratio < 1 / limit) {
    finder.find(Verdict::improved, {"drift", ratio, 1 / limit, sentence("better")});
  }
}

}  // namespace

double drift_ratio(double rms, double baseline_rms) {
  constexpr double floor = 0.3;
  const auto floored = [](double value) { return value < floor ? floor : value; };  // std::max could drop a NaN
  return floored(rms) / floored(baseline_rms);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void judge_past(const Outcome& outcome, const Baseline& baseline, bool determinism_promised, Finder& finder) {
  if (outcome.output_digest.empty() || baseline.output_digest.empty()) {
    finder.note("not compared with the past: an output digest is missing");
    return;
  }
  if (outcome.output_digest == baseline.output_digest) return;
  const bool confirmed = baseline.deterministic || (outcome.repeat_checked && outcome.repeat_equal);
  const bool same_build = !outcome.description.build_id.empty() && outcome.description.build_id == baseline.build_id;
  if (determinism_promised && confirmed && same_build) {
    finder.find(Verdict::fail, {"digest", 0, 0,
                                fmt::format("the same build ({}) gave other bits than in run {}: nondeterminism or hardware",
                                            baseline.build_id, baseline.run_id)});
  } else if (determinism_promised && confirmed) {
    finder.find(Verdict::changed, {"digest", 0, 0, fmt::format("other bits than in run {}, by another build", baseline.run_id)});
  }
  judge_drift(outcome, baseline, finder);
}

void judge_time(const Outcome& outcome, const TimeHistory& times, Finder& finder) {
  if (times.ratios.size() < least_times) {
    finder.note(fmt::format("time is not judged: {} of {} runs that it takes", times.ratios.size(), least_times));
    return;
  }
  const double usual = median(times.ratios);
  std::vector<double> distances;
  for (const double ratio : times.ratios) distances.push_back(std::abs(ratio - usual));
  const double limit = std::max(least_slowdown * usual, usual + deviations * median(std::move(distances)));
  if (within(outcome.time_ratio, limit)) return;
  finder.find(Verdict::regressed,
              {"time", outcome.time_ratio, limit,
               fmt::format("takes {:.3g} times the sentinel's time, usually {:.3g} (median of {} runs); slower than {:.3g} is no noise",
                           outcome.time_ratio, usual, times.ratios.size(), limit)});
}

}  // namespace plumbline
