// Shared by the fuzz targets: an input as a file, and a check that errors are helpful.
#include "tests/fuzz/target.h"

#include <unistd.h>

#include <fstream>

namespace plumbline::fuzz {
namespace {

// Deleted when the process ends, unless it crashes.
class Directory {
 public:
  std::filesystem::path path;

  Directory() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code ignored;
    const bool in_memory =
        std::filesystem::is_directory(memory, ignored) && ::access(memory.c_str(), W_OK) == 0;
    path = (in_memory ? memory : std::filesystem::temp_directory_path()) /
           ("plumbline_fuzz_" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
};

}  // namespace

void require_helpful(const Errors& errors, const std::string& file, Lines lines) {
  require(!errors.empty(), "a refusal names an error");
  for (const Error& error : errors) {
    require(error.file == file, "an error names its file: " + error.to_string());
    require(error.line > 0 || lines == Lines::none,
            "an error names its line: " + error.to_string());
    require(!error.message.empty(), "an error says what is wrong");
    require(!error.remedy.empty(), "an error says what to do: " + error.to_string());
  }
}

std::filesystem::path input_file(std::string_view input) {
  static const Directory directory;
  const std::filesystem::path path = directory.path / "input.toml";
  std::ofstream(path, std::ios::binary)
      .write(input.data(), static_cast<std::streamsize>(input.size()));
  return path;
}

}  // namespace plumbline::fuzz
