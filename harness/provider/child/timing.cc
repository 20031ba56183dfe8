// Chooses the calls per repetition, and runs kernel and sentinel in turn without printing.
#include "harness/provider/child/timing.h"

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <string>
#include <thread>

#include "harness/provider/child/device_clock.h"
#include "harness/provider/child/sentinel.h"

namespace plumbline {

namespace {

// Short, because a short repetition is more often undisturbed, and the minimum of many short ones
// is more repeatable than the minimum of few long ones.
constexpr double repetition_ns = 2e6;
constexpr double max_sentinel_ns = 15e6;
constexpr double device_repetition_ns = 5e6;
constexpr double calibration_ns = 1e6;
// Limit on the total time of a kernel's repetitions; the first few always run.
constexpr double all_repetitions_ns = 100e6;
constexpr int min_repetitions = 4;
// Waiting for a quiet core: total limit for a measurement, and the interval between checks.
constexpr std::chrono::milliseconds longest_wait{500}, wait_step{2};

// A timed workload. `run` makes `calls` calls, waits for them, and returns their total nanoseconds.
struct Work {
  std::string name;
  std::function<double(std::int64_t calls)> run;
  std::vector<double>* times_ns;           // per call, one entry per repetition
  std::int64_t calls = 0;                  // per repetition
  std::vector<double>* cpu_ns = nullptr;   // the same, processor time of the process
  std::function<void()> before = nullptr;  // untimed, before each repetition
};

double process_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double host_ns(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// Returns the nanoseconds of one call. Doubles a batch until the overhead of the host's clocks is
// small beside its time. Uses processor time, because wall time is several times too long on a busy
// machine, but at least 1/8 of wall time, for calls that mostly wait.
double ns_per_call(const Work& work) {
  for (std::int64_t calls = 1;; calls *= 2) {
    const double start_ns = process_ns();
    const double wall_ns = host_ns([&] { work.run(calls); });
    const double elapsed_ns = std::max(process_ns() - start_ns, wall_ns / 8);
    if (elapsed_ns < calibration_ns && calls < (std::int64_t{1} << 30)) continue;
    return std::max(elapsed_ns, 1.0) / static_cast<double>(calls);
  }
}

std::int64_t calls_in(double ns, double ns_per_call) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(ns / ns_per_call));
}

// Keeps the times and prints nothing. Google Benchmark's own reporters (1.7.1) print, and crash if
// benchmarks are run twice.
class TimeReporter : public benchmark::BenchmarkReporter {
 public:
  explicit TimeReporter(const std::vector<Work>& works) : works_(works) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double ns = run.real_accumulated_time * 1e9 / static_cast<double>(run.iterations);
      const auto work = std::ranges::find_if(
          works_, [&](const Work& w) { return w.name == run.run_name.function_name; });
      work->times_ns->push_back(ns);
      if (work->cpu_ns != nullptr)
        work->cpu_ns->push_back(run.cpu_accumulated_time * 1e9 /
                                static_cast<double>(run.iterations));
    }
  }

 private:
  const std::vector<Work>& works_;
};

// Registers one repetition. Exceptions must not cross the library: `failure` keeps the first, and
// later repetitions are skipped.
void register_repetition(const Work& work, std::exception_ptr& failure) {
  benchmark::RegisterBenchmark(work.name.c_str(),
                               [&work, &failure](benchmark::State& state) {
                                 if (failure != nullptr)
                                   state.SkipWithError("skipped after a failure");
                                 if (failure == nullptr && work.before) work.before();
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

void repeat_in_turn(const std::vector<Work>& works, int repetitions) {
  initialize_once();
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

// Sleeps until the core is quiet, for a limited total time.
class QuietCore {
 public:
  explicit QuietCore(double quiet_ns) : quiet_ns_(quiet_ns) {}

  void wait() {
    if (!(quiet_ns_ > 0)) return;
    while (waited_ < longest_wait && sentinel_ns() > quiet_ns_) {
      std::this_thread::sleep_for(wait_step);
      waited_ += wait_step;
    }
  }

 private:
  // Returns the processor time of the faster of two calls, because the first after a sleep has cold
  // caches.
  static double sentinel_ns() {
    double least = HUGE_VAL;
    for (int call = 0; call < 2; ++call) {
      const double start = process_ns();
      run_sentinel();
      least = std::min(least, process_ns() - start);
    }
    return least;
  }

  double quiet_ns_;
  std::chrono::milliseconds waited_{0};
};

}  // namespace

TimesInTurn time_in_turn(const std::function<void(std::int64_t calls)>& run, int repetitions,
                         double quiet_ns) {
  TimesInTurn times;
  QuietCore core(quiet_ns);
  static const double sentinel_call_ns = ns_per_call({"sentinel", time_sentinel, nullptr});
  const auto time_kernel = [&run](std::int64_t calls) { return host_ns([&] { run(calls); }); };
  const double call_ns = ns_per_call({"kernel", time_kernel, nullptr});
  const std::int64_t calls = calls_in(repetition_ns, call_ns);
  const double kernel_ns = call_ns * static_cast<double>(calls);
  // The sentinel's repetitions are about as long as the kernel's, so that both minima are equally
  // likely to be undisturbed.
  const std::int64_t sentinel_calls =
      calls_in(std::clamp(kernel_ns, repetition_ns, max_sentinel_ns), sentinel_call_ns);
  const int most = static_cast<int>(std::min(1e6, all_repetitions_ns / kernel_ns));
  repeat_in_turn(
      {{"kernel", time_kernel, &times.kernel_ns, calls, &times.kernel_cpu_ns,
        [&core] { core.wait(); }},
       {"sentinel", time_sentinel, &times.sentinel_ns, sentinel_calls, &times.sentinel_cpu_ns}},
      std::min(repetitions, std::max(most, min_repetitions)));
  return times;
}

TimesInTurn time_on_device(const DeviceMemory& memory, void* stream, std::uint64_t l2_bytes,
                           const GpuClocks& clocks, const std::function<void()>& call,
                           int repetitions) {
  TimesInTurn times;
  DeviceClock clock(memory, stream, l2_bytes);
  const auto note = [&clocks](std::vector<double>& mhz, std::vector<double>& throttle) {
    const GpuClocks::Sample now = clocks.now();
    if (now.mhz == 0) return;
    mhz.push_back(now.mhz);
    throttle.push_back(static_cast<double>(now.reasons));
  };
  const auto cold = [&](std::int64_t calls) {
    const double ns = clock.cold_ns(call, calls);
    note(times.kernel_mhz, times.kernel_throttle);
    return ns;
  };
  const auto hot = [&](std::int64_t calls) {
    const double ns = clock.hot_ns(call, calls);
    note(times.hot_mhz, times.hot_throttle);
    return ns;
  };
  const auto sentinel = [&](std::int64_t calls) { return clock.sentinel_ns(calls); };
  std::vector<Work> works{{"cold", cold, &times.kernel_ns},
                          {"hot", hot, &times.hot_ns},
                          {"sentinel", sentinel, &times.sentinel_ns}};
  for (Work& work : works) {
    // Wall time, because the host may sleep while the device works.
    std::int64_t count = 1;
    double ns = 0;
    for (; (ns = host_ns([&] { work.run(count); })) < calibration_ns; count *= 2) continue;
    work.calls = calls_in(device_repetition_ns, ns / static_cast<double>(count));
  }
  repeat_in_turn(works, repetitions);
  // Drops the samples taken while the number of calls was chosen.
  const auto keep_last = [&](std::vector<double>& samples) {
    const auto kept = std::min(samples.size(), static_cast<std::size_t>(repetitions));
    samples.erase(samples.begin(), samples.end() - static_cast<std::ptrdiff_t>(kept));
  };
  for (auto* samples :
       {&times.kernel_mhz, &times.hot_mhz, &times.kernel_throttle, &times.hot_throttle})
    keep_last(*samples);
  return times;
}

}  // namespace plumbline
