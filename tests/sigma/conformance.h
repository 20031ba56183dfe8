// Runs kernels through the whole harness in the test's process. The CPU provider is in worker
// processes.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/measure/measurer.h"
#include "harness/outcome/diff_outcome.h"
#include "harness/outcome/outcome.h"
#include "harness/run/run_session.h"

namespace plumbline::test {

inline const std::filesystem::path source_directory = PLUMBLINE_SOURCE_DIRECTORY;
inline const std::filesystem::path binary_directory = PLUMBLINE_BINARY_DIRECTORY;

// Returns the options that load the CPU provider with these options of its own ("" or
// "tile_kv=32,reverse=1").
inline MeasureOptions cpu_provider(const std::string& options) {
  MeasureOptions measure;
  measure.worker_executable = binary_directory / "bin" / "plumbline-worker";
  const std::string library =
      (binary_directory / "lib" / "plumbline" / "plumbline_cpu.so").string();
  measure.providers = {options.empty() ? library : library + ":" + options};
  return measure;
}

inline Result<ReviewedText> reviewed_text() {
  auto contracts = Contracts::read(source_directory / "baselines" / "contracts.toml");
  if (!contracts) return tl::unexpected(contracts.error());
  auto support = SupportTable::read(source_directory / "baselines" / "support.toml");
  if (!support) return tl::unexpected(support.error());
  return ReviewedText{std::move(*contracts), std::move(*support)};
}

// A new directory, removed with all its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "plumbline-sigma-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline int count(const RunSession& session, Verdict verdict) {
  int found = 0;
  for (const StoredOutcome& stored : session.outcomes())
    found += stored.judgement.verdict == verdict ? 1 : 0;
  return found;
}

// Expects that no suite score fails.
inline void expect_no_alarm(const std::vector<SuiteScore>& scores, const std::string& what) {
  for (const SuiteScore& score : scores) {
    EXPECT_NE(score.status, "fail")
        << what << ": " << score.statistic << " of " << score.kernel << " " << score.dtype
        << " over " << score.cases << " cases is " << score.value << ", limit " << score.limit;
  }
}

// Expects that no verdict of a run fails or is ambiguous.
inline void expect_no_alarm(const RunSession& session, const std::string& what) {
  for (const StoredOutcome& stored : session.outcomes()) {
    const Verdict verdict = stored.judgement.verdict;
    if (!is_failure(verdict) && verdict != Verdict::ambiguous) continue;
    std::string findings;
    for (const Finding& finding : stored.judgement.findings) findings += "\n    " + finding.text;
    ADD_FAILURE() << what << ": " << name(verdict) << " " << stored.outcome.case_id << findings;
  }
}

}  // namespace plumbline::test
