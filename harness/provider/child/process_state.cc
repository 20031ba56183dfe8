// Compares the process's state with that before a call, and restores what differs.
#include "harness/provider/child/process_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "harness/provider/signal_name.h"

namespace plumbline {

namespace {

std::string directory_now() {
  std::error_code none;
  return std::filesystem::current_path(none).string();
}

// umask(2) returns the umask only while setting it.
mode_t umask_now() {
  const mode_t now = umask(077);
  umask(now);
  return now;
}

sigset_t signal_mask_now() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_handler == b.sa_handler && a.sa_flags == b.sa_flags;
}

// Returns one block of text, because the environment is copied twice per call and a map of strings
// is slower.
std::string environment_now() {
  std::string all;
  all.reserve(8192);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    all.append(*variable).push_back('\0');
  return all;
}

std::map<std::string, std::string> variables_of(std::string_view all) {
  std::map<std::string, std::string> variables;
  while (!all.empty()) {
    const std::string_view text = all.substr(0, all.find('\0'));
    const std::size_t end = text.find('=');
    if (end != std::string_view::npos) variables.emplace(text.substr(0, end), text.substr(end + 1));
    all.remove_prefix(text.size() + 1);
  }
  return variables;
}

// Names the changed bits. The rounding mode is in bits 13 and 14 of MXCSR, and 10 and 11 of the x87
// control word.
std::vector<std::string> words_of(const FloatingPointWords& now, const FloatingPointWords& before) {
  constexpr std::uint32_t flush_to_zero = 0x8000, denormals_are_zero = 0x0040, rounding = 0x6000,
                          masks = 0x1F80;
  constexpr std::uint16_t x87_rounding = 0x0C00;
  constexpr const char* modes[] = {"to nearest", "downward", "upward", "toward zero"};
  const std::uint32_t changed = now.mxcsr ^ before.mxcsr;
  std::vector<std::string> words;
  if ((changed & rounding) != 0 || ((now.x87 ^ before.x87) & x87_rounding) != 0) {
    words.push_back(fmt::format("the rounding mode ({})", modes[(now.mxcsr & rounding) >> 13U]));
  }
  if ((changed & flush_to_zero) != 0) words.emplace_back("flushing of subnormals (FTZ)");
  if ((changed & denormals_are_zero) != 0) words.emplace_back("zeroing of subnormal inputs (DAZ)");
  if ((changed & masks) != 0) words.emplace_back("traps of floating-point exceptions");
  if (words.empty()) words.emplace_back("the control word of the x87 unit");
  return words;
}

}  // namespace

Allowance KernelsCalled::add(const std::string& kernel) {
  const bool is_first = kernels_.empty(), is_new = kernels_.insert(kernel).second;
  return is_first ? Allowance::everything : is_new ? Allowance::additions : Allowance::none;
}

ProcessState::Handlers ProcessState::handlers_now() {
  Handlers all{};
  for (int number = 1; number < signals; ++number)
    sigaction(number, nullptr, &all[static_cast<std::size_t>(number)]);
  return all;
}

ProcessState::ProcessState()
    : floating_point_(FloatingPointWords::now()),
      directory_(directory_now()),
      umask_(umask_now()),
      signal_mask_(signal_mask_now()),
      environment_(environment_now()),
      handlers_(handlers_now()) {}

std::vector<std::string> ProcessState::restore_floating_point() const {
  const FloatingPointWords now = FloatingPointWords::now();
  if (now == floating_point_) return {};
  floating_point_.set();
  return words_of(now, floating_point_);
}

std::vector<std::string> ProcessState::restore_directory() const {
  std::string now = directory_now();
  if (now == directory_ || directory_.empty()) return {};
  if (chdir(directory_.c_str()) != 0) return {"the working directory, which is gone"};
  return {fmt::format("the working directory ({})", now)};
}

std::vector<std::string> ProcessState::restore_umask() const {
  const mode_t now = umask_now();
  if (now == umask_) return {};
  umask(umask_);
  return {fmt::format("the umask ({:03o})", now)};
}

std::vector<std::string> ProcessState::restore_signal_mask() const {
  const sigset_t now = signal_mask_now();
  std::vector<std::string> changed;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (sigismember(&now, number) != sigismember(&signal_mask_, number))
      changed.push_back(fmt::format("whether {} is blocked", name_of_signal(number)));
  }
  if (!changed.empty()) pthread_sigmask(SIG_SETMASK, &signal_mask_, nullptr);
  if (changed.size() > 3) changed = {"which signals are blocked"};
  return changed;
}

std::vector<std::string> ProcessState::restore_environment(Allowance allowance) const {
  std::vector<std::string> changed;
  if (allowance == Allowance::everything) return changed;
  const std::string all = environment_now();
  if (all == environment_) return changed;
  const auto now = variables_of(all), before = variables_of(environment_);
  for (const auto& [name, value] : now) {
    if (before.contains(name) || allowance == Allowance::additions) continue;
    unsetenv(name.c_str());
    changed.push_back(fmt::format("the variable {}", name));
  }
  for (const auto& [name, value] : before) {
    const auto at = now.find(name);
    if (at != now.end() && at->second == value) continue;
    setenv(name.c_str(), value.c_str(), 1);
    changed.push_back(fmt::format("the variable {}", name));
  }
  return changed;
}

std::vector<std::string> ProcessState::restore_handlers(Allowance allowance) const {
  std::vector<std::string> changed;
  if (allowance == Allowance::everything) return changed;
  const Handlers now = handlers_now();
  for (std::size_t number = 1; number < now.size(); ++number) {
    const struct sigaction& before = handlers_[number];
    if (is_same(now[number], before)) continue;
    if (before.sa_handler == SIG_DFL && allowance == Allowance::additions) continue;
    sigaction(static_cast<int>(number), &before, nullptr);
    if (allowance == Allowance::additions) continue;
    changed.push_back(fmt::format("the handler of {}", name_of_signal(static_cast<int>(number))));
  }
  if (changed.size() > 3) changed = {fmt::format("the handlers of {} signals", changed.size())};
  return changed;
}

std::string ProcessState::restore(Allowance allowance) const {
  std::vector<std::string> all;
  for (const auto& changed :
       {restore_floating_point(), restore_directory(), restore_umask(), restore_signal_mask(),
        restore_environment(allowance), restore_handlers(allowance)})
    all.insert(all.end(), changed.begin(), changed.end());
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string reason_of_changes(const std::string& changes) {
  return fmt::format(
      "the call changed state that the next kernel of the process uses: {}; restore it before the "
      "call returns",
      changes);
}

}  // namespace plumbline
