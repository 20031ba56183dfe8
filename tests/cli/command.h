// Runs the plumbline program as a user does, in a directory of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace plumbline::test {

struct CommandResult {
  int code = -1;
  std::string text;  // stdout and stderr together
};

inline const std::filesystem::path source_directory = PLUMBLINE_SOURCE_DIRECTORY;
inline const std::filesystem::path build_directory = PLUMBLINE_BINARY_DIRECTORY;

inline std::string cpu_provider(const std::string& options = "") {
  const auto library = (build_directory / "lib" / "plumbline" / "plumbline_cpu.so").string();
  return options.empty() ? library : library + ":" + options;
}

// Returns the CPU kernels of another build, whose options plumbline does not see: put
// planted("slow=20") before a command that names this provider.
inline std::string planted_cpu_provider() {
  return (build_directory / "tests" / "planted" / "plumbline_planted_cpu.so").string();
}
inline std::string planted(const std::string& options) {
  return "PLANTED_OPTIONS='" + options + "' ";
}

// A test with a scratch directory, which is deleted afterwards.
class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumbline.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  CommandResult shell(const std::string& command) const {
    CommandResult result;
    FILE* pipe =
        ::popen(("cd '" + directory_.string() + "' && ( " + command + " ) 2>&1").c_str(), "r");
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      result.text.append(buffer.data(), n);
    const int status = ::pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }
  CommandResult plumbline(const std::string& arguments, const std::string& before = "") const {
    return shell(before + "'" + program().string() + "' " + arguments);
  }
  static std::filesystem::path program() { return build_directory / "bin" / "plumbline"; }
  static std::string suite(const std::string& name) {
    return "'" + (source_directory / "cases" / name).string() + "'";
  }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const auto path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path directory_;
};

}  // namespace plumbline::test
