// Benchmarks: each speed is a ratio to another computation timed in the same run. `ci/bench.sh`
// runs them.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <tbb/task_arena.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/contract/contract.h"
#include "harness/measure/measurement.h"
#include "harness/measure/measurer.h"
#include "harness/problem/inputs.h"
#include "harness/reference/reference.h"
#include "harness/store/prompt_commits.h"
#include "harness/store/store.h"
#include "harness/store/stored.h"
#include "tests/bench/repetitions.h"

namespace plumbline {
namespace {

Problem prefill(std::int64_t seq) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.heads_q = problem.heads_kv = 8;
  problem.seq_q = problem.seq_kv = seq;
  problem.head_dim_qk = problem.head_dim_vo = 128;
  return problem;
}

// The two fp64 products that any reference of this problem needs, on one thread: S = Q K^T and O =
// P V for every head.
void two_dgemms(benchmark::State& state) {
  const auto seq = static_cast<int>(state.range(0));
  const auto size = static_cast<std::size_t>(seq) * 128;
  const std::vector<double> q(size, 0.5), k(size, 0.25), v(size, 0.125);
  std::vector<double> s(static_cast<std::size_t>(seq) * static_cast<std::size_t>(seq)), o(size);
  openblas_set_num_threads(1);
  for (auto _ : state) {
    for (int head = 0; head < 8; ++head) {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, seq, seq, 128, 1, q.data(), 128,
                  k.data(), 128, 0, s.data(), seq);
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, seq, 128, seq, 1, s.data(), seq,
                  v.data(), 128, 0, o.data(), 128);
    }
    benchmark::DoNotOptimize(o.data());
  }
}
BENCHMARK(two_dgemms)
    ->Arg(1024)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(repetitions)
    ->ComputeStatistics("fastest", fastest);

// The reference with sigma, spre, LSE and bound, on one thread. The second argument is 1 with suite
// scores.
void reference(benchmark::State& state) {
  const Geometry geometry(prefill(state.range(0)));
  std::vector<std::byte> q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes());
  fill_inputs(geometry, q.data(), k.data(), v.data());
  const auto rows = select_rows(geometry, 1e15);
  tbb::task_arena one_thread(1);
  for (auto _ : state) {
    one_thread.execute([&] {
      auto result = compute_reference(geometry, {q.data(), k.data(), v.data()},
                                      strict_spec(geometry.problem()), rows, {state.range(1) != 0});
      benchmark::DoNotOptimize(result.sigma.data());
    });
  }
}
BENCHMARK(reference)
    ->ArgsProduct({{1024, 4096}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(repetitions)
    ->ComputeStatistics("fastest", fastest);

// A small case end to end: inputs, worker with three calls, reference, statistics, faults.
void small_case(benchmark::State& state) {
  MeasureOptions options;
  options.worker_executable = PLUMBLINE_BINARY_DIRECTORY "/bin/plumbline-worker";
  options.providers = {PLUMBLINE_BINARY_DIRECTORY "/lib/plumbline/plumbline_cpu.so"};
  const auto providers = discover(options);
  const auto contracts = Contracts::read(PLUMBLINE_SOURCE_DIRECTORY "/baselines/contracts.toml");
  if (!providers || !contracts) {
    state.SkipWithError("provider or contracts missing");
    return;
  }
  PlannedCase planned;
  planned.c.kernel = "cpu/flash";
  planned.c.problem.heads_q = planned.c.problem.heads_kv = 4;
  planned.c.problem.seq_q = planned.c.problem.seq_kv = 32;
  planned.case_id = case_id(planned.c);
  Measurer measurer(options, *providers, *contracts);
  for (auto _ : state) {
    measurer.measure({&planned},
                     [](Measurement m) { benchmark::DoNotOptimize(m.outcome.errors.peak); });
  }
}
BENCHMARK(small_case)->Unit(benchmark::kMicrosecond)->UseRealTime();

// An outcome as in a nightly run: many problems on a few kernels, with errors, a worst element and
// figures for each head.
StoredOutcome outcome_of_a_night(std::int64_t i) {
  StoredOutcome stored;
  Outcome& outcome = stored.outcome;
  outcome.suite = "bench";
  outcome.group = "prefill";
  outcome.tier = "nightly";
  outcome.c.kernel = "cpu/kernel_" + std::to_string(i % 10);
  outcome.c.problem = prefill(64);
  outcome.c.problem.seed = static_cast<std::uint64_t>(i);
  outcome.case_id = case_id(outcome.c);
  outcome.status = Status::ok;
  outcome.description.spec = strict_spec(outcome.c.problem);
  outcome.description.build_id = "0123456789abcdef";
  outcome.spec_judged = spec_text(outcome.description.spec);
  outcome.problem_digest = outcome.output_digest = std::string(32, 'd');
  outcome.worst = WorstElement{};
  outcome.worst_statistic = "peak";
  outcome.head_rms.assign(32, 0.8F);
  stored.judgement.verdict = Verdict::pass;
  stored.judgement.nearest_statistic = "peak";
  return stored;
}

enum Storing { in_batches, commit_promptly, commit_each_row };

// The second argument is in_batches, commit_promptly (each row committed within 20 ms), or
// commit_each_row (a commit for each row). Includes opening and closing the database.
void store_outcomes(benchmark::State& state) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("plumbline_bench_" + std::to_string(::getpid()) + ".db");
  std::vector<StoredOutcome> outcomes;
  for (std::int64_t i = 0; i < state.range(0); ++i) outcomes.push_back(outcome_of_a_night(i));
  for (auto _ : state) {
    std::filesystem::remove(path);
    auto store = Store::open(path);
    RunInfo run;
    run.run_id = "00000000-0000-4000-8000-000000000000";
    run.started_at = "2026-01-01T00:00:00Z";
    if (!store || !(*store)->begin_run(run)) return state.SkipWithError("cannot store");
    std::optional<PromptCommits> commits;
    if (state.range(1) == commit_promptly)
      commits.emplace(**store, [&](const Errors&) { state.SkipWithError("cannot store"); });
    for (const StoredOutcome& outcome : outcomes) {
      const auto lock = commits ? commits->lock() : std::unique_lock<std::mutex>();
      if (!(*store)->add(run.run_id, outcome)) return state.SkipWithError("cannot store");
      if (commits) commits->added();
      if (state.range(1) == commit_each_row && !(*store)->flush())
        return state.SkipWithError("cannot store");
    }
    commits.reset();
    if (!(*store)->finish_run(run.run_id, 0, true)) return state.SkipWithError("cannot store");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  std::filesystem::remove(path);
}
BENCHMARK(store_outcomes)
    ->ArgsProduct({{20'000}, {in_batches, commit_promptly, commit_each_row}})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Iterations(1);

}  // namespace
}  // namespace plumbline

BENCHMARK_MAIN();
