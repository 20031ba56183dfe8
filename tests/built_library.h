// Where a library of this build is, also on a machine that did not build it. Tests may run on
// another machine than the one that built them (docs/gpu.md): there PLUMBLINE_LIBRARY_DIRECTORY
// names the folder.
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
