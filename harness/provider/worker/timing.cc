#include "harness/provider/worker/timing.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include "harness/provider/worker/sentinel.h"

namespace plumbline {

namespace {

constexpr double repetition_ns = 15e6;
constexpr double calibration_ns = 1e6;

using Calls = std::function<void(std::int64_t)>;

void run_sentinel_calls(std::int64_t calls) {
  for (std::int64_t i = 0; i < calls; ++i) run_sentinel();
}

// Calls that fill one repetition: doubles a batch until it is long enough to be timed by the clock.
std::int64_t calls_per_repetition(const Calls& run) {
  for (std::int64_t calls = 1;; calls *= 2) {
    const auto start = std::chrono::steady_clock::now();
    run(calls);
    const double elapsed_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    if (elapsed_ns < calibration_ns && calls < (std::int64_t{1} << 30)) continue;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(repetition_ns * static_cast<double>(calls) / std::max(elapsed_ns, 1.0)));
  }
}

// Keeps the times and prints nothing; the library's own reporters also crash when benchmarks are run twice (1.7.1).
class TimeReporter : public benchmark::BenchmarkReporter {
 public:
  TimesInTurn times;

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double ns = run.real_accumulated_time * 1e9 / static_cast<double>(run.iterations);
      (run.run_name.function_name == "kernel" ? times.kernel_ns : times.sentinel_ns).push_back(ns);
    }
  }
};

// Registers one repetition. An exception must not cross the library: it is kept in `failure`, and what follows is skipped.
void register_repetition(const std::string& name, const Calls& run, std::int64_t calls, std::exception_ptr& failure) {
  benchmark::RegisterBenchmark(name.c_str(), [run, calls, &failure](benchmark::State& state) {
    if (failure != nullptr) state.SkipWithError("skipped after a failure");
    while (state.KeepRunningBatch(calls)) {
      try {
        run(calls);
      } catch (...) {
        failure = std::current_exception();
        state.SkipWithError("failed");
      }
    }
  })->Iterations(calls);
}

void initialize_once() {
  static const bool done = [] {
    int count = 1;
    char program[] = "plumbline-worker";
    char* arguments[] = {program, nullptr};
    benchmark::Initialize(&count, arguments);
    return true;
  }();
  benchmark::DoNotOptimize(done);
}

}  // namespace

TimesInTurn time_in_turn(const Calls& run, int repetitions) {
  initialize_once();
  static const std::int64_t sentinel_calls = calls_per_repetition(run_sentinel_calls);
  const std::int64_t kernel_calls = calls_per_repetition(run);
  std::exception_ptr failure;
  benchmark::ClearRegisteredBenchmarks();
  for (int i = 0; i < repetitions; ++i) {
    register_repetition("kernel", run, kernel_calls, failure);
    register_repetition("sentinel", run_sentinel_calls, sentinel_calls, failure);
  }
  TimeReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (failure != nullptr) std::rethrow_exception(failure);
  return reporter.times;
}

}  // namespace plumbline
