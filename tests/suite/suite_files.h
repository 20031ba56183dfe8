// Suite files in their own directory, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/suite/suite.h"

namespace plumbline {

class SuiteFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    directory_ = std::filesystem::temp_directory_path() /
                 ("plumbline_suite_" + test + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  // Reads "suite.toml" with this text.
  Result<Suite> read(const std::string& text) { return read_suite(write("suite.toml", text)); }

  // Returns the case ids of a suite without errors.
  std::vector<std::string> ids(const std::string& text) {
    const auto suite = read(text);
    EXPECT_TRUE(suite.has_value()) << (suite ? "" : to_string(suite.error()));
    return suite ? ids(*suite) : std::vector<std::string>{};
  }
  static std::vector<std::string> ids(const Suite& suite) {
    std::vector<std::string> texts;
    for (const SuiteCase& c : suite.cases)
      texts.push_back(case_id({c.kernel_pattern, c.device, c.problem}));
    return texts;
  }

  // Returns the errors without the directory, each as "suite.toml:3: message
  // remedy".
  std::vector<std::string> errors(const std::string& text) {
    const auto suite = read(text);
    std::vector<std::string> texts;
    if (suite) return texts;
    for (const Error& error : suite.error()) {
      const std::string file =
          std::filesystem::path(error.file).lexically_relative(directory_).string();
      texts.push_back(file + ":" + std::to_string(error.line) + ": " + error.message + " | " +
                      error.remedy);
    }
    return texts;
  }

  std::filesystem::path directory_;
};

}  // namespace plumbline
