// Commits rows soon after they were added, so that a killed process (kill -9) loses little.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "harness/store/store.h"

namespace plumbline {

// Rows that follow each other by more than this are committed one by one, at once; faster ones
// together, this long after the first at the latest. A commit rewrites a page of each index, some
// 30 kB: one each for 20,000 rows in a row would take 5 times as long as their storing.
inline constexpr std::chrono::milliseconds commit_delay{20};

class PromptCommits {
 public:
  // `failed` gets the errors of commits, with the lock held.
  PromptCommits(Store& store, std::function<void(const Errors&)> failed);
  ~PromptCommits();  // commits what is left
  PromptCommits(const PromptCommits&) = delete;
  PromptCommits& operator=(const PromptCommits&) = delete;

  // Needed for every use of the store while this object lives: it has a thread of its own.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // After rows were added, with the lock held.
  void added();

 private:
  bool is_due() const { return std::chrono::steady_clock::now() - last_commit_ >= commit_delay; }
  void commit();
  void commit_late_rows(const std::stop_token& stop);

  Store& store_;
  std::function<void(const Errors&)> failed_;
  std::mutex mutex_;
  std::condition_variable_any late_;
  bool uncommitted_ = false;
  std::chrono::steady_clock::time_point last_commit_{};
  std::jthread thread_;
};

}  // namespace plumbline
