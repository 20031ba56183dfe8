// Commits rows soon after they are added, so that a killed process (kill -9) loses little.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "harness/store/store.h"

namespace plumbline {

// A row is committed at once if the last commit is at least this old. Otherwise it is committed
// with others, at most this long after that commit. A commit rewrites a page of each index, about
// 30 kB in all. Committing 20,000 rows one by one would take 5 times as long as storing them.
inline constexpr std::chrono::milliseconds commit_delay{20};

class PromptCommits {
 public:
  // `failed` receives the errors of commits. It must not call lock().
  PromptCommits(Store& store, std::function<void(const Errors&)> failed);
  ~PromptCommits();  // commits the remaining rows
  PromptCommits(const PromptCommits&) = delete;
  PromptCommits& operator=(const PromptCommits&) = delete;

  // Every use of the store needs this lock while this object exists, because the object's thread
  // also uses the store.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // Call this after adding rows, with the lock held.
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
