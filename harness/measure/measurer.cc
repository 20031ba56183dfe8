// Measures a case: fills its inputs, runs the kernel and compares the outputs with the reference.
// The verdict is made later, by harness/judge.
#include "harness/measure/measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "harness/base/floating_point_state.h"
#include "harness/base/harness_failure.h"
#include "harness/compare/faults.h"
#include "harness/compare/unreferenced_rows.h"
#include "harness/contract/contract.h"
#include "harness/diagnose/causes.h"
#include "harness/diagnose/locate.h"
#include "harness/measure/call_outputs.h"
#include "harness/measure/calls.h"
#include "harness/measure/measurement.h"
#include "harness/measure/reuse.h"
#include "harness/measure/save_failure.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/problem/inputs.h"
#include "harness/provider/client/launch.h"
#include "harness/reference/cache.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {
namespace {

using Clock = std::chrono::steady_clock;

// Discards the comparison if the inputs were overwritten: the reference was computed from other
// inputs than the kernel got.
void note_changed_input(const Worker& worker, Measurement& measurement) {
  const std::string changed = worker.changed_input();
  measurement.inputs_changed = !changed.empty();
  Outcome& outcome = measurement.outcome;
  if (changed.empty() || outcome.status != Status::ok) return;
  ComparedOutput failed;
  failed.reason = reason_of_changed_input(changed);
  static_cast<ComparedOutput&>(outcome) = std::move(failed);
  outcome.output_digest.clear();
}

// Waits while a thread of an idle worker still works, at most two seconds: some libraries' threads
// never sleep. On a busy machine, code that a call left running may get a processor late.
void wait_while_running(const Worker& worker) {
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  while (worker.has_running_threads() && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

// Shared by all cases of one problem.
struct Measurer::ProblemState {
  std::shared_ptr<const Geometry> geometry;
  std::optional<RowSelection> rows;
  std::map<InputRounding, ValueRange> ranges;
  std::map<std::string, std::shared_ptr<const Reference>> references;  // by spec and options
  std::map<Worker*, RunRequest> requests;  // workers whose arena holds this problem's inputs
};

Measurer::Measurer(const MeasureOptions& options, const std::vector<ProviderInfo>& providers,
                   const Contracts& contracts)
    : options_(options), providers_(providers), contracts_(contracts) {}

Result<Worker*> Measurer::worker_for(const std::string& kernel) {
  auto& worker = workers_[provider_of(kernel)];
  if (worker == nullptr) {
    const ProviderInfo* provider = find_provider(providers_, kernel);
    if (provider == nullptr) {
      return fail(fmt::format("no loaded provider is called \"{}\"", provider_of(kernel)),
                  "name its library with --provider");
    }
    auto created = Worker::create(worker_options(options_, provider->library));
    if (!created) return tl::unexpected(created.error());
    worker = std::move(*created);
  }
  return worker.get();
}

void Measurer::restart_worker(const std::string& kernel, ProblemState& state) {
  const auto worker = workers_.find(provider_of(kernel));
  if (worker == workers_.end()) return;
  state.requests.erase(worker->second.get());
  workers_.erase(worker);
  served_.erase(provider_of(kernel));
}

void Measurer::measure(const std::vector<const PlannedCase*>& cases,
                       const std::function<void(Measurement)>& done) {
  if (cases.empty()) return;
  const UsualFloatingPoint usual;
  ProblemState state;
  ArchReuse reuse(contracts_);
  for (const PlannedCase* planned : cases) {
    if (auto reused = reuse.reused(*planned)) {
      done({std::move(*reused), state.geometry, nullptr, {}});
      continue;
    }
    Measurement measurement = measure_case(*planned, state);
    reuse.add(*planned, measurement.outcome);
    if (measurement.outcome.status != Status::ok) measurement.reference = nullptr;
    done(std::move(measurement));
  }
}

DiffOutcome Measurer::measure(const PlannedDiff& diff,
                              const std::function<void(Measurement)>& done) {
  std::array<Measurement, 2> sides;
  const auto keep = [&](int side) {
    return [&sides, side](Measurement m) { sides[static_cast<std::size_t>(side)] = std::move(m); };
  };
  measure({&diff.a}, keep(0));
  measure({&diff.b}, keep(1));
  DiffOutcome outcome = compare_measurements(diff, sides[0], sides[1]);
  for (auto& side : sides) done(std::move(side));
  return outcome;
}

Measurement Measurer::measure_case(const PlannedCase& planned, ProblemState& state) {
  const std::string& kernel = planned.c.kernel;
  std::optional<LateCrash> late = crash_since_last_case(kernel, state);
  Measurement measurement = measure_once(planned, state);
  const auto is_suspicious = [](const Measurement& m) {
    return m.outcome.status == Status::crashed || m.inputs_changed;
  };
  const ServedCases before =
      is_suspicious(measurement) ? std::exchange(served_[provider_of(kernel)], {}) : ServedCases();
  if (!before.empty()) {
    restart_worker(kernel, state);
    Measurement again = measure_once(planned, state);
    restart_worker(kernel, state);
    // A pass here does not clear the case: leftovers of its first call may have caused the crash.
    const bool passes = again.outcome.status == Status::ok && !again.inputs_changed;
    if (passes && !crashes_alone(planned)) {
      late = find_suspects({measurement.outcome.reason, planned.case_id, {}}, before, state);
      // Without proof the crash stays: the case may crash at random.
      if (late->is_proven) measurement = std::move(again);
    }
  }
  // The code that overwrote the inputs may still be running.
  if (measurement.inputs_changed) restart_worker(kernel, state);
  measurement.late = std::move(late);
  record_served(planned, measurement.outcome.status);
  return measurement;
}

void Measurer::record_served(const PlannedCase& planned, Status status) {
  const auto at = workers_.find(provider_of(planned.c.kernel));
  if (at != workers_.end()) served_[at->first].add(*at->second, status, planned);
}

std::optional<LateCrash> Measurer::crash_since_last_case(const std::string& kernel,
                                                         ProblemState& state) {
  const auto at = workers_.find(provider_of(kernel));
  if (at == workers_.end()) return std::nullopt;
  LateCrash late;
  late.what = at->second->crash_between_requests();
  if (const std::string changed = at->second->changed_input(); !changed.empty())
    late.what = reason_of_changed_input(changed);
  ServedCases& served = served_[provider_of(kernel)];
  if (late.what.empty() && served.process() == at->second->process()) return std::nullopt;
  const ServedCases before = std::exchange(served, {});
  if (late.what.empty()) return std::nullopt;
  restart_worker(kernel, state);
  return find_suspects(std::move(late), before, state);
}

std::vector<LateCrash> Measurer::finish() {
  std::vector<LateCrash> all = std::exchange(round_crashes_, {});
  std::vector<std::string> kernels;  // one for each provider
  for (const auto& [provider, served] : served_) {
    if (!served.empty()) kernels.push_back(served.recent().back().c.kernel);
  }
  if (!kernels.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (const std::string& kernel : kernels) {
    const auto worker = workers_.find(provider_of(kernel));
    if (worker != workers_.end()) wait_while_running(*worker->second);
    ProblemState none;
    if (auto late = crash_since_last_case(kernel, none)) all.push_back(std::move(*late));
  }
  return all;
}

LateCrash Measurer::find_suspects(LateCrash late, const ServedCases& served, ProblemState& state) {
  late.suspects = served.names();
  for (auto at = served.recent().rbegin(); at != served.recent().rend(); ++at) {
    restart_worker(at->c.kernel, state);
    if (!crashes_alone(*at)) continue;
    late.suspects = {{at->suite, at->case_id}};
    late.is_proven = true;
    break;
  }
  return late;
}

bool Measurer::crashes_alone(const PlannedCase& suspect) try {
  // Leftover work ran for less than this in all bug reports that we know.
  constexpr std::chrono::milliseconds patience{300};
  ProblemState alone;
  alone.geometry = std::make_shared<const Geometry>(suspect.c.problem);
  const auto worker = worker_for(suspect.c.kernel);
  const auto placed =
      worker ? place_inputs(suspect.c.kernel, alone, **worker) : tl::unexpected(worker.error());
  if (!placed) return false;
  PlannedCase untimed = suspect;
  untimed.timed = false;
  RunRequest request = request_for(untimed, *placed);
  request.keep_plan = true;
  RunReply reply = (*worker)->run(request);
  request.keep_plan = false;
  if (reply.status == Status::ok) reply = (*worker)->run_again(request);
  if (reply.status == Status::ok) reply = (*worker)->run(request);
  if (reply.status == Status::ok) {
    std::this_thread::sleep_for(patience);
    wait_while_running(**worker);
  }
  const bool crashed = reply.status == Status::crashed ||
                       !(*worker)->crash_between_requests().empty() ||
                       !(*worker)->changed_input().empty();
  restart_worker(suspect.c.kernel, alone);
  return crashed;
} catch (const HarnessFailure&) {
  throw;
} catch (const std::exception&) {  // the case cannot be run again
  return false;
}

Measurement Measurer::measure_once(const PlannedCase& planned, ProblemState& state) {
  const auto start = Clock::now();
  Measurement measurement;
  Outcome& outcome = measurement.outcome;
  copy_identity(planned, outcome);
  if (const ProviderInfo* provider = find_provider(providers_, planned.c.kernel))
    outcome.provider_options = split_provider(provider->library).second;
  try {
    outcome.problem_digest = problem_digest(planned.c.problem);
    if (state.geometry == nullptr)
      state.geometry = std::make_shared<const Geometry>(planned.c.problem);
    measurement.geometry = state.geometry;
    if (planned.timed) restart_worker(planned.c.kernel, state);
    if (auto worker = worker_for(planned.c.kernel)) {
      run_kernel(planned, state, **worker, outcome, measurement);
      note_changed_input(**worker, measurement);
    } else {
      outcome.reason = to_string(worker.error());
    }
  } catch (const HarnessFailure&) {
    throw;
  } catch (const std::bad_alloc&) {
    end_for_memory("plumbline has no memory for the reference and statistics of " +
                   planned.case_id);
  } catch (const std::exception& e) {  // for example, recorded inputs were deleted or changed
    outcome.status = Status::error;
    outcome.reason = e.what();
  }
  outcome.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return measurement;
}

Result<RunRequest> Measurer::place_inputs(const std::string& kernel, ProblemState& state,
                                          Worker& worker) const {
  const auto at = state.requests.find(&worker);
  if (at != state.requests.end()) return at->second;
  const ProviderInfo* provider = find_provider(providers_, kernel);
  auto request = place_tensors(worker.arena(), *state.geometry, further_outputs(provider));
  if (!request) return request;
  Arena& arena = worker.arena();
  const Geometry& g = *state.geometry;
  fill_inputs(g, arena.data(request->q, g.q), arena.data(request->k, g.k),
              arena.data(request->v, g.v));
  state.requests.emplace(&worker, *request);
  return request;
}

RunRequest Measurer::request_for(const PlannedCase& planned, RunRequest placed) const {
  placed.kernel = planned.c.kernel;
  placed.device = planned.c.device;
  placed.timed_repetitions =
      planned.timed ? repetitions_of_round(options_.time_repetitions, time_rounds_of(planned.c))
                    : 0;
  placed.timeout = timeout_of(options_, planned.c, placed.timed_repetitions);
  const ProviderInfo* provider = find_provider(providers_, planned.c.kernel);
  const auto further = further_outputs(provider, planned.c.kernel);
  for (const RowOutput output : further_row_outputs) {
    if (!further[output]) placed.slot_of(output) = -1;
  }
  return placed;
}

RoundResult Measurer::measure_round(const PlannedCase& planned, double pace_ns) {
  RoundResult alone;
  try {
    ProblemState state;
    if (auto late = crash_since_last_case(planned.c.kernel, state))
      round_crashes_.push_back(std::move(*late));
    restart_worker(planned.c.kernel, state);
    state.geometry = std::make_shared<const Geometry>(planned.c.problem);
    const auto worker = worker_for(planned.c.kernel);
    const auto placed =
        worker ? place_inputs(planned.c.kernel, state, **worker) : tl::unexpected(worker.error());
    if (!placed) {
      alone.status = worker ? Status::out_of_memory : Status::error;
      alone.reason = to_string(placed.error());
      return alone;
    }
    RunRequest request = request_for(planned, *placed);
    request.quiet_ns = max_sentinel_slowdown * pace_ns;
    for (const std::size_t slot : request.output_slots()) (*worker)->arena().poison(slot);
    const double load = load_average();
    RunReply reply = (*worker)->run(request);
    alone.status = reply.status;
    alone.reason = std::move(reply.reason);
    record_served(planned, reply.status);
    if (reply.status != Status::ok) return alone;
    if (!reply.lse_returned) request.lse = -1;
    alone.output_digest = output_digest((*worker)->arena(), request);
    alone.round = round_of(std::move(reply.timing), load);
  } catch (const HarnessFailure&) {
    throw;
  } catch (const std::bad_alloc&) {
    end_for_memory("plumbline has no memory for the inputs of " + planned.case_id);
  } catch (const std::exception& e) {  // for example, recorded inputs were deleted or changed
    alone.status = Status::error;
    alone.reason = e.what();
  }
  return alone;
}

void Measurer::run_kernel(const PlannedCase& planned, ProblemState& state, Worker& worker,
                          Outcome& outcome, Measurement& measurement) {
  const auto placed = place_inputs(planned.c.kernel, state, worker);
  if (!placed) {
    outcome.status = Status::out_of_memory;
    outcome.reason = to_string(placed.error());
    return;
  }
  CaseCalls calls;
  calls.request = request_for(planned, *placed);
  calls.timed_repetitions = std::exchange(calls.request.timed_repetitions, 0);
  calls.timed_timeout = std::exchange(calls.request.timeout, timeout_of(options_, planned.c, 0));
  calls.load = load_average();
  calls.judge = [&](const RunRequest& request, Measurement& judged) {
    compare_outputs(state, worker, request, judged);
  };
  make_calls(calls, worker, measurement);
}

std::shared_ptr<const Reference> Measurer::reference(ProblemState& state, const RoundingSpec& spec,
                                                     const InputView& inputs, bool suite_scores,
                                                     bool further_rows) {
  auto& entry = state.references[spec_text(spec) + (suite_scores ? "+scores" : "") +
                                 (further_rows ? "+rows" : "")];
  if (entry == nullptr) {
    if (options_.references_computed != nullptr) ++*options_.references_computed;
    const ReferenceOptions options{suite_scores, options_.reference_library.get(), further_rows};
    entry = std::make_shared<const Reference>(
        // References with rotating rows are not cached: the rows are different every night.
        options_.reference_cache.empty() || !state.rows->rotating.empty()
            ? compute_reference(*state.geometry, inputs, spec, *state.rows, options)
            : cached_reference(options_.reference_cache, *state.geometry, inputs, spec, *state.rows,
                               options));
  }
  return entry;
}

void Measurer::compare_outputs(ProblemState& state, Worker& worker, const RunRequest& request,
                               Measurement& measurement) {
  Outcome& outcome = measurement.outcome;
  const Geometry& geometry = *state.geometry;
  const Problem& problem = geometry.problem();
  Arena& arena = worker.arena();
  const InputView inputs{arena.data(request.q, geometry.q), arena.data(request.k, geometry.k),
                         arena.data(request.v, geometry.v)};
  const RunTarget place = target_of(outcome);
  const RoundingSpec spec = contracts_.pinned_spec(outcome.c.kernel, problem, place);
  const OutputView outputs = view_of(arena, request, spec.lse_base);
  outcome.spec_judged = spec_text(spec);

  if (!state.rows)
    state.rows = select_rows(geometry, options_.reference_cost_limit, options_.row_seed);
  const InputRounding rounded(spec);
  if (!state.ranges.contains(rounded))
    state.ranges.emplace(rounded, value_range(geometry, inputs.v, rounded));
  const bool suite_scores = contracts_.limits(outcome.c.kernel, problem, 0, place).suite_judged &&
                            state.rows->rows_total <= suite_score_rows &&
                            !excludes_suite_scores(problem);
  const auto ref = reference(state, spec, inputs, suite_scores, has_further_rows(outputs));
  measurement.reference = ref;
  outcome.reference_rows = static_cast<std::int64_t>(ref->selection.rows.size());
  outcome.rows_total = ref->selection.rows_total;
  if (!ref->selection.rotating.empty()) outcome.row_seed = options_.row_seed;

  if (!is_finite(*ref)) {
    outcome.status = Status::error;
    outcome.reason =
        "the reference is not finite: inputs or logits overflow; choose smaller k_scale, v_scale "
        "or scale";
    return;
  }
  Comparison comparison = compare(geometry, outputs, *ref);
  const auto elsewhere =
      check_unreferenced_rows(geometry, inputs, outputs, spec, *ref, comparison.statistics);
  outcome.errors = comparison.statistics;
  outcome.head_rms = comparison.head_rms;
  outcome.head_rms.resize(std::min<std::size_t>(outcome.head_rms.size(), 4096));
  outcome.picture = std::move(comparison.picture);
  measurement.rows = rows_of(geometry, outputs, *ref);

  const Contract* contract = contracts_.find(outcome.c.kernel, place, problem.dtype);
  const PaddingPolicy policy = contract != nullptr && contract->padding_policy
                                   ? *contract->padding_policy
                                   : outcome.description.padding_policy;
  const Faults before = outcome.faults;
  outcome.faults =
      find_faults({&geometry, outputs, &state.ranges.at(rounded), &spec, policy, ref.get()});
  outcome.faults.fence_bytes = before.fence_bytes;
  if (!before.detail.empty()) outcome.faults.detail = before.detail;
  for (const std::size_t slot : request.output_slots()) {
    const auto broken = arena.broken_fence_bytes(slot);
    if (broken.empty()) continue;
    if (outcome.faults.fence_bytes == 0) {
      outcome.faults.detail = fmt::format(
          "{} bytes written outside {}, first at offset {} {} it", broken.size(),
          arena.slot(slot).name, std::abs(broken.front()), broken.front() < 0 ? "before" : "after");
    }
    outcome.faults.fence_bytes += static_cast<std::int64_t>(broken.size());
  }

  const Limits limits =
      contracts_.limits(outcome.c.kernel, problem, outcome.errors.elements, place);
  const Statistic& nearest = nearest_to_limit(comparison, limits);
  if (const Maximum& maximum = comparison.worst[nearest]; maximum.row >= 0) {
    outcome.worst_statistic = nearest.name;
    outcome.worst = describe_worst(geometry, inputs, outputs, spec, *ref, nearest, maximum);
  } else if (nearest.worst == WorstAt::elsewhere) {
    outcome.worst_statistic = nearest.name;
    outcome.worst = elsewhere;
  }
  const auto save_to = [&](const std::filesystem::path& directory) {
    auto saved = save_failure(directory, outcome, geometry, inputs, outputs);
    outcome.saved_to = saved ? *saved : "not saved: " + to_string(saved.error());
  };
  const bool is_first = !outcome.repeat_checked;  // the first call of the case
  if (!options_.save_outputs.empty() && is_first) save_to(options_.save_outputs);
  if (within_limits(outcome.errors, limits) && outcome.faults.total() == 0) return;

  const auto strict = reference(state, strict_spec(problem, place.arch), inputs, false, false);
  outcome.widening = rms_of(strict->sigma) > 0 ? rms_of(ref->sigma) / rms_of(strict->sigma) : 1;
  outcome.location = locate({&geometry, inputs, &spec, ref.get(), &comparison, limits});
  if (options_.causes != nullptr) {
    const FirstCause cause = first_cause({&geometry, inputs, outputs, &spec, ref.get(), &comparison,
                                          limits, &outcome.faults, &outcome.location},
                                         outcome.c.kernel, *options_.causes);
    outcome.cause = cause.sentence;
    outcome.looser_rung = cause.looser_rung;
    measurement.cause_explains = cause.explains;
  }
  if (!options_.save_failures.empty()) save_to(options_.save_failures);
}

}  // namespace plumbline
