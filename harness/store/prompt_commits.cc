// Commits rows that have waited too long, on a separate thread.
#include "harness/store/prompt_commits.h"

#include <utility>

namespace plumbline {

PromptCommits::PromptCommits(Store& store, std::function<void(const Errors&)> failed)
    : store_(store),
      failed_(std::move(failed)),
      thread_([this](const std::stop_token& stop) { commit_late_rows(stop); }) {}

PromptCommits::~PromptCommits() {
  thread_.request_stop();
  thread_.join();
  if (uncommitted_) commit();
}

void PromptCommits::added() {
  const bool first = !std::exchange(uncommitted_, true);
  if (is_due()) {
    commit();
  } else if (first) {
    late_.notify_one();  // once per commit: waking the thread takes longer than adding a row
  }
}

void PromptCommits::commit() {
  uncommitted_ = false;
  if (auto flushed = store_.flush(); !flushed) failed_(flushed.error());
  last_commit_ = std::chrono::steady_clock::now();
}

void PromptCommits::commit_late_rows(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (late_.wait(lock, stop, [this] { return uncommitted_; }) && !stop.stop_requested()) {
    late_.wait_until(lock, stop, last_commit_ + commit_delay, [] { return false; });
    if (uncommitted_ && is_due()) commit();
  }
}

}  // namespace plumbline
