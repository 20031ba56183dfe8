#include "harness/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

namespace plumbline::cli {
namespace {

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Progress::Progress(std::size_t total, bool quiet)
    : total_(total), quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (!quiet_ && terminal_ && printed_) fmt::print(stderr, "\r\033[K");
}

void Progress::step() {
  ++done_;
  if (quiet_) return;
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (Clock::now() - last_ >= pause) print();
}

void Progress::print() {
  last_ = Clock::now();
  printed_ = true;
  const double spent = seconds(last_ - start_);
  const double left = spent / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  const auto text = fmt::format("[{}/{}] {:.0f} s, about {:.0f} s left", done_, total_, spent, left);
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

}  // namespace plumbline::cli
