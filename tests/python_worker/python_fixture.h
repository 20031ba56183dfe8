// Workers for the Python providers of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "harness/provider/client/worker.h"
#include "tests/provider/provider_fixture.h"
#include "tests/python_worker/missing_python.h"

namespace plumbline::test {

// Returns the path in the tests' folder, unless `file` is a path.
inline std::string provider_path(const std::string& file) {
  return file.starts_with('/') ? file : std::string(PLUMBLINE_TEST_PROVIDERS) + "/" + file;
}

inline std::unique_ptr<Worker> python_worker(
    const std::string& provider, std::chrono::milliseconds timeout = std::chrono::seconds(60),
    std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30) {
  auto worker = Worker::create({"", provider_path(provider), memory_limit_bytes, timeout});
  EXPECT_TRUE(worker) << to_string(worker.error());
  return worker ? std::move(*worker) : nullptr;
}

inline std::string hello_error(const std::string& provider) {
  auto worker = Worker::create({"", provider});
  if (!worker) return to_string(worker.error());
  const auto hello = (*worker)->hello();
  return hello ? "" : to_string(hello.error());
}

// Returns why no Python provider can be served here, or "". Errors other than a missing interpreter
// or library are not a reason to skip.
inline const std::string& why_no_python() {
  static const std::string reason = [] {
    const std::string error = hello_error(provider_path("behaved.py"));
    return is_python_missing(error) ? error : "";
  }();
  return reason;
}

// An environment variable that is set for the lifetime of the object.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    had_one_ = before != nullptr;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { had_one_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_one_ = false;
};

// Tests that need an interpreter with numpy.
class PythonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_python().empty()) GTEST_SKIP() << why_no_python();
  }
};

// PythonTest with a folder that is deleted after the test.
class ScratchTest : public PythonTest {
 protected:
  void SetUp() override {
    PythonTest::SetUp();
    std::string pattern = (std::filesystem::temp_directory_path() / "plumbline.XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

}  // namespace plumbline::test

// Ends the test if the reply says that a library is not installed.
#define PLUMBLINE_SKIP_WITHOUT_LIBRARY(reply)                               \
  if ((reply).reason.find("which cannot be imported") != std::string::npos) \
  GTEST_SKIP() << (reply).reason
