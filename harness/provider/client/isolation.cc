// Tracks the ids of workers, and finds other children of this process in /proc.
#include "harness/provider/client/isolation.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>

namespace plumbline {

namespace {

namespace fs = std::filesystem;

std::set<pid_t> children() {
  std::set<pid_t> found;
  std::error_code ignored;
  for (const auto& task : fs::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream listed(task.path() / "children");
    for (pid_t child = 0; listed >> child;) found.insert(child);
  }
  return found;
}

struct Workers {
  std::mutex mutex;
  // If a shell became this program by `exec`, the shell's children are now ours. They are spared.
  std::set<pid_t> spared = children();
  std::set<pid_t> alive;
  std::vector<std::string> ended_orphans;
};

Workers& workers() {
  static Workers all;
  return all;
}

// PR_CAPBSET_DROP limits only programs that this thread starts; plumbline keeps its own
// capabilities.
void hide_memory() {
  const char* const allowed = std::getenv("PLUMBLINE_ALLOW_PTRACE");
  const bool is_allowed = allowed != nullptr && std::string_view(allowed) == "1";
  prctl(PR_SET_DUMPABLE, is_allowed ? 1 : 0, 0, 0, 0);
  if (!is_allowed) prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
}

std::string program_of(pid_t process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
  return name;
}

// Waits at most a second, because a process that hangs in the kernel cannot be killed.
void wait_for(pid_t process) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (waitpid(process, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Returns true if it found orphans. Other programs that plumbline starts stay in its process group.
bool end_orphans(Workers& all) {
  bool found = false;
  for (const pid_t child : children()) {
    if (all.alive.contains(child) || all.spared.contains(child) || getpgid(child) == getpgrp())
      continue;
    found = true;
    siginfo_t ended{};
    const bool has_ended =
        waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == child;
    if (!has_ended) all.ended_orphans.push_back(program_of(child));
    kill(child, SIGKILL);
    wait_for(child);
  }
  return found;
}

}  // namespace

int start_isolated(const std::function<int(pid_t&)>& spawn, pid_t& worker) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  hide_memory();
  Workers& all = workers();
  const std::lock_guard lock(all.mutex);
  const int error = spawn(worker);
  if (error == 0) all.alive.insert(worker);
  return error;
}

void end_orphans_of(pid_t worker) {
  Workers& all = workers();
  const std::lock_guard lock(all.mutex);
  all.alive.erase(worker);
  // The children of a killed process become ours in turn.
  constexpr int max_generations = 100;
  for (int i = 0; i < max_generations && end_orphans(all); ++i) {
  }
}

std::vector<std::string> ended_orphans() {
  Workers& all = workers();
  const std::lock_guard lock(all.mutex);
  return all.ended_orphans;
}

}  // namespace plumbline
