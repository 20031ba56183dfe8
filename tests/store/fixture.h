// Fixture of the store's tests: a temporary folder, runs and outcomes, raw SQL.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/provider/status.h"
#include "harness/resources/compare.h"
#include "harness/store/store.h"

namespace plumbline {

// Gives each test a directory and the name of a database file in it.
class StoreTest : public testing::Test {
 protected:
  StoreTest();
  ~StoreTest() override;

  std::unique_ptr<Store> open(bool read_only = false);
  // Returns the error of an open that must fail.
  std::string refusal(bool read_only = false);
  // Begins the run, stores the outcomes and finishes the run.
  void store_run(Store& store, const RunInfo& run, const std::vector<StoredOutcome>& outcomes);

  std::filesystem::path directory_;
  std::filesystem::path path_;
};

// Returns run `number` of a machine, started `number` minutes after midnight.
RunInfo run_info(int number, const std::string& model = "EPYC");
MachineClass machine_of(const std::string& model = "EPYC");

// Returns a passing outcome of this problem with plausible figures.
StoredOutcome passing(const std::string& problem = "bf16/b1-h4-s128-d64",
                      const std::string& kernel = "cpu/flash");
StoredOutcome with_verdict(StoredOutcome stored, Verdict verdict);
// Returns an outcome that did not run: only status, verdict and reason are set.
StoredOutcome not_run(Status status, Verdict verdict, const std::string& reason,
                      const std::string& problem = "fp32/b1-h4-s128-d64");

// Runs SQL on a connection of its own, without the store. Values are text, NULL is "NULL".
std::vector<std::vector<std::string>> raw_sql(const std::filesystem::path& path,
                                              const std::string& sql);
std::string read_file(const std::filesystem::path& path);

// Returns the value of a result; without one, its errors fail the test.
template <class T>
T value_of(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << to_string(result.error());
    if constexpr (!std::is_void_v<T>) return T{};
  } else if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : to_string(result.error());
}

}  // namespace plumbline
