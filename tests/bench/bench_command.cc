// Times the command as users run it: 10,000 small cases, and a night. Also measures the memory of
// all processes of the night.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t small_case_seeds = 100;
constexpr std::chrono::milliseconds sample_interval{100};

class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / fmt::format("plumbline_bench_{}", ::getpid())) {
    fs::create_directories(path_);
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// Returns the sum of the proportional set sizes of a process and its descendants: memory that they
// share counts once. Processes may start and end meanwhile.
std::int64_t resident_bytes(pid_t pid) {
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  std::int64_t bytes = 0;
  std::ifstream rollup(process / "smaps_rollup");
  for (std::string word; rollup >> word;) {
    if (std::int64_t kib = 0; word == "Pss:" && rollup >> kib) bytes = kib * 1024;
  }
  std::error_code gone;
  for (fs::directory_iterator task(process / "task", gone), end; !gone && task != end;
       task.increment(gone)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) bytes += resident_bytes(child);
  }
  return bytes;
}

struct ProcessResult {
  int exit_code = -1;
  double cpu_s = 0;  // including child processes it waited for
  std::int64_t peak_bytes = 0;
};

// Runs a program to its end and discards its stdout. Samples memory only if `sample_memory` is
// true.
ProcessResult run(std::vector<std::string> command, bool sample_memory) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ProcessResult ended;
  if (error != 0) return ended;
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, sample_memory ? WNOHANG : 0, &usage) == 0) {
    ended.peak_bytes = std::max(ended.peak_bytes, resident_bytes(pid));
    std::this_thread::sleep_for(sample_interval);
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  ended.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  return ended;
}

std::string small_suite() {
  std::vector<std::int64_t> seeds(small_case_seeds);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<std::int64_t>(i) + 1;
  return fmt::format(R"(
schema = 1
name = "small"
description = "10,000 small untimed cases"
[[group]]
name = "small"
reason = "what a case costs"
kernels = ["cpu/flash"]
set = {{ heads = 4, head_dim = 64 }}
product = {{ dtype = ["fp16", "bf16"], mask = ["none", "causal_bottom_right"], seq_q = [1, 5, 16, 31, 32], seq_kv = [1, 7, 16, 31, 32], seed = [{}] }}
)",
                     fmt::join(seeds, ", "));
}

// Batch 1, 4 heads, at most 32 tokens, head_dim 64, called three times each, judged and stored by
// two threads; start and report included.
void small_cases(benchmark::State& state) {
  const Scratch scratch;
  std::ofstream(scratch.file("small.toml")) << small_suite();
  double cases = 0, cpu_s = 0;
  for (auto _ : state) {
    fs::remove(scratch.file("small.db"));
    const ProcessResult ended =
        run({PLUMBLINE_BINARY_DIRECTORY "/bin/plumbline", "run", scratch.file("small.toml"), "--db",
             scratch.file("small.db"), "--quiet", "--jobs", "2"},
            false);
    if (ended.exit_code != 0) return state.SkipWithError("plumbline run failed");
    cases += 100 * static_cast<double>(small_case_seeds);
    cpu_s += ended.cpu_s;
  }
  state.counters["ms_per_case"] =
      benchmark::Counter(cases / 1e3, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["cpu_ms_per_case"] = 1e3 * cpu_s / cases;
}
BENCHMARK(small_cases)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

// Runs a CI night without a history: the invariances, then nightly and the stories.
void nightly(benchmark::State& state) {
  const Scratch scratch;
  setenv("PLUMBLINE_BINARY", PLUMBLINE_BINARY_DIRECTORY "/bin/plumbline", 1);
  for (auto _ : state) {
    const ProcessResult ended =
        run({PLUMBLINE_SOURCE_DIRECTORY "/ci/nightly.sh", "--history", scratch.file("night.db"),
             "--first-night", "--out", scratch.file("out")},
            true);
    // Findings about the kernels do not matter here: 1 is a finding, 5 an ambiguous one.
    if (ended.exit_code != 0 && ended.exit_code != 1 && ended.exit_code != 5)
      return state.SkipWithError("the night failed");
    state.counters["peak_GiB"] =
        static_cast<double>(ended.peak_bytes) / static_cast<double>(std::int64_t{1} << 30);
  }
}
BENCHMARK(nightly)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);

}  // namespace
}  // namespace plumbline
