// Calibrates the calls of a repetition, and runs kernel and sentinel in turn without printing.
#include "harness/provider/child/timing.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include "harness/provider/child/device_clock.h"
#include "harness/provider/child/sentinel.h"

namespace plumbline {

namespace {

constexpr double repetition_ns = 15e6;
constexpr double calibration_ns = 1e6;

// What is timed: makes that many calls, waits for them, and says how many nanoseconds all of them
// took.
struct Work {
  std::string name;
  std::function<double(std::int64_t calls)> run;
  std::vector<double>* times_ns;          // per call, an entry for each repetition
  std::int64_t calls = 0;                 // of one repetition
  std::vector<double>* cpu_ns = nullptr;  // likewise, processor time of the process
};

double host_ns(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// Calls that fill one repetition: doubles a batch until it is long enough to be timed by the host's
// clock, which counts what is not part of the measurement, too.
std::int64_t calls_per_repetition(const Work& work) {
  for (std::int64_t calls = 1;; calls *= 2) {
    const double elapsed_ns = host_ns([&] { work.run(calls); });
    if (elapsed_ns < calibration_ns && calls < (std::int64_t{1} << 30)) continue;
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(repetition_ns * static_cast<double>(calls) /
                                     std::max(elapsed_ns, 1.0)));
  }
}

// Keeps the times and prints nothing; the library's own reporters also crash when benchmarks are
// run twice (1.7.1).
class TimeReporter : public benchmark::BenchmarkReporter {
 public:
  explicit TimeReporter(const std::vector<Work>& works) : works_(works) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double ns = run.real_accumulated_time * 1e9 / static_cast<double>(run.iterations);
      const auto work = std::find_if(works_.begin(), works_.end(), [&](const Work& w) {
        return w.name == run.run_name.function_name;
      });
      work->times_ns->push_back(ns);
      if (work->cpu_ns != nullptr)
        work->cpu_ns->push_back(run.cpu_accumulated_time * 1e9 /
                                static_cast<double>(run.iterations));
    }
  }

 private:
  const std::vector<Work>& works_;
};

// Registers one repetition. An exception must not cross the library: it is kept in `failure`, and
// what follows is skipped.
void register_repetition(const Work& work, std::exception_ptr& failure) {
  benchmark::RegisterBenchmark(work.name.c_str(),
                               [&work, &failure](benchmark::State& state) {
                                 if (failure != nullptr)
                                   state.SkipWithError("skipped after a failure");
                                 while (state.KeepRunningBatch(work.calls)) {
                                   try {
                                     state.SetIterationTime(work.run(work.calls) * 1e-9);
                                   } catch (...) {
                                     failure = std::current_exception();
                                     state.SkipWithError("failed");
                                   }
                                 }
                               })
      ->Iterations(work.calls)
      ->MeasureProcessCPUTime()
      ->UseManualTime();
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

void repeat_in_turn(std::vector<Work> works, int repetitions) {
  initialize_once();
  for (Work& work : works) {
    if (work.calls == 0) work.calls = calls_per_repetition(work);
  }
  std::exception_ptr failure;
  benchmark::ClearRegisteredBenchmarks();
  for (int i = 0; i < repetitions; ++i) {
    for (const Work& work : works) register_repetition(work, failure);
  }
  TimeReporter reporter(works);
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (failure != nullptr) std::rethrow_exception(failure);
}

double time_sentinel(std::int64_t calls) {
  return host_ns([calls] {
    for (std::int64_t i = 0; i < calls; ++i) run_sentinel();
  });
}

}  // namespace

TimesInTurn time_in_turn(const std::function<void(std::int64_t calls)>& run, int repetitions) {
  TimesInTurn times;
  static const std::int64_t sentinel_calls =
      calls_per_repetition({"sentinel", time_sentinel, nullptr});
  const auto time_kernel = [&run](std::int64_t calls) { return host_ns([&] { run(calls); }); };
  repeat_in_turn(
      {{"kernel", time_kernel, &times.kernel_ns, 0, &times.kernel_cpu_ns},
       {"sentinel", time_sentinel, &times.sentinel_ns, sentinel_calls, &times.sentinel_cpu_ns}},
      repetitions);
  return times;
}

TimesInTurn time_on_device(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes,
                           const std::function<void()>& call, int repetitions) {
  TimesInTurn times;
  DeviceClock clock(memory, stream, l2_bytes);
  const auto cold = [&](std::int64_t calls) { return clock.cold_ns(call, calls); };
  const auto hot = [&](std::int64_t calls) { return clock.hot_ns(call, calls); };
  const auto sentinel = [&](std::int64_t calls) { return clock.sentinel_ns(calls); };
  repeat_in_turn({{"cold", cold, &times.kernel_ns},
                  {"hot", hot, &times.hot_ns},
                  {"sentinel", sentinel, &times.sentinel_ns}},
                 repetitions);
  return times;
}

}  // namespace plumbline
