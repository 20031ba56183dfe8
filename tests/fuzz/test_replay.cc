// Runs the fuzz targets, without a fuzzer, on their seeds and on every input that once failed.
#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/fuzz/target.h"

namespace plumbline::fuzz {
namespace {

namespace fs = std::filesystem;
const fs::path source_directory = PLUMBLINE_SOURCE_DIRECTORY;

struct Target {
  const char* name;
  void (*run)(std::string_view input);
};
constexpr std::array targets{Target{"suite", suite},
                             Target{"ids", ids},
                             Target{"spec", spec},
                             Target{"safetensors", safetensors},
                             Target{"dump", dump},
                             Target{"contracts", contracts},
                             Target{"catalogue", catalogue},
                             Target{"resources", resources},
                             Target{"ptxas", ptxas},
                             Target{"messages", messages},
                             Target{"stored", stored},
                             Target{"ptx", ptx},
                             Target{"fat_binary", fat_binary}};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> matches(const fs::path& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> paths;
  for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i)
    paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return paths;
}

std::vector<fs::path> seeds(std::string_view target) {
  std::vector<fs::path> paths;
  std::ifstream list(source_directory / "tests/fuzz/seeds.txt");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string name, pattern;
    if (!(words >> name >> pattern) || name != target) continue;
    for (fs::path& path : matches(source_directory / pattern)) paths.push_back(std::move(path));
  }
  return paths;
}

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, Seeds) {
  const auto paths = seeds(GetParam().name);
  ASSERT_GT(paths.size(), 2u) << "seeds.txt names files of every target";
  for (const fs::path& path : paths) EXPECT_NO_THROW(GetParam().run(contents(path))) << path;
}

// Prefixes of a seed, as a full disk leaves them, and seeds without one byte, as after a typing
// error.
TEST_P(Replay, TruncatedSeeds) {
  for (const fs::path& path : seeds(GetParam().name)) {
    const std::string seed = contents(path);
    const std::size_t step = std::max<std::size_t>(1, seed.size() / 16);
    for (std::size_t size = 0; size < seed.size(); size += step) {
      EXPECT_NO_THROW(GetParam().run(seed.substr(0, size))) << path << ", " << size << " bytes";
      EXPECT_NO_THROW(GetParam().run(seed.substr(0, size) + seed.substr(size + 1)))
          << path << " without byte " << size;
    }
  }
}

TEST_P(Replay, RegressionInputs) {
  for (const fs::path& path :
       matches(source_directory / "tests/fuzz/regressions" / GetParam().name / "*")) {
    EXPECT_NO_THROW(GetParam().run(contents(path))) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(targets),
                         [](const auto& target) { return target.param.name; });

}  // namespace
}  // namespace plumbline::fuzz
