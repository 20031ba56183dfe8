// The path of a library of this build. On a machine other than the one that built the tests
// (docs/gpu.md), PLUMBLINE_LIBRARY_DIRECTORY names the library's folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace plumbline::test {

inline std::string built_library(const std::filesystem::path& built) {
  const char* directory = std::getenv("PLUMBLINE_LIBRARY_DIRECTORY");
  return directory == nullptr ? built.string()
                              : (std::filesystem::path(directory) / built.filename()).string();
}

}  // namespace plumbline::test
