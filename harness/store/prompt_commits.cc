#include "harness/store/prompt_commits.h"

#include <utility>

namespace plumbline {

PromptCommits::PromptCommits(Store& store, std::function<void(const Errors&)> failed)
    : store_(store), failed_(std::move(failed)), thread_([this](const std::stop_token& stop) { commit_late_rows(stop); }) {}

PromptCommits::~PromptCommits() {
  thread_.request_stop();
  thread_.join();
  if (uncommitted_) commit();
}

void PromptCommits::added() {
  uncommitted_ = true;
  if (std::chrono::steady_clock::now() - last_commit_ >= commit_delay) {
    commit();
  } else {
    late_.notify_one();
  }
}

void PromptCommits::commit() {
  uncommitted_ = false;
  if (auto flushed = store_.flush(); !flushed) failed_(flushed.error());
  last_commit_ = std::chrono::steady_clock::now();
}

void PromptCommits::commit_late_rows(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (late_.wait(lock, stop, [this] { return uncommitted_; })) {
    late_.wait_until(lock, stop, last_commit_ + commit_delay, [this] { return !uncommitted_; });
    if (uncommitted_) commit();
  }
}

}  // namespace plumbline
