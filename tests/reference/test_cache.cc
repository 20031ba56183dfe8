// A cached reference equals a computed one, and a damaged or foreign file is replaced.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/reference/cache.h"
#include "tests/reference/filled_problem.h"
#include "tests/reference/same_reference.h"

namespace plumbline {
namespace {

Problem question() {
  Problem problem;
  problem.heads_q = problem.heads_kv = 2;
  problem.seq_q = 8;
  problem.seq_kv = 20;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "plumbline-cache-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    rows_ = filled_.all_rows();
    expected_ = compute_reference(filled_.geometry, filled_.view(), spec_, rows_, options_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Reference ask() {
    return cached_reference(directory_, filled_.geometry, filled_.view(), spec_, rows_, options_);
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> result;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      result.push_back(entry.path());
    return result;
  }
  std::filesystem::path only_file() const {
    EXPECT_EQ(files().size(), 1U);
    return files().at(0);
  }
  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void set_content(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // A replaced file has a new inode; a file that was only read keeps its own.
  static ino_t inode(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_ino;
  }
  // Expects that the damaged file is recomputed and replaced by a complete one.
  void expect_recovers(const std::string& spoilt) {
    const std::filesystem::path path = only_file();
    const std::string good = content(path);
    set_content(path, spoilt);
    expect_same(ask(), expected_);
    EXPECT_EQ(content(only_file()), good);
  }

  FilledProblem filled_{question()};
  RoundingSpec spec_ = strict_spec(question());
  ReferenceOptions options_{.suite_scores = true};
  RowSelection rows_;
  Reference expected_;
  std::filesystem::path directory_;
};

TEST_F(Cache, HitEqualsMiss) {
  expect_same(ask(), expected_);
  const ino_t written = inode(only_file());
  expect_same(ask(), expected_);
  EXPECT_EQ(inode(only_file()), written);
}

TEST_F(Cache, HitKeepsUnitsOfUnusualRounding) {
  for (const bool truncates : {true, false}) {
    spec_.out_toward_zero = truncates, spec_.out_stochastic = !truncates;
    expected_ = compute_reference(filled_.geometry, filled_.view(), spec_, rows_, options_);
    EXPECT_EQ(expected_.output_units, 1);
    for (int hits = 0; hits < 2; ++hits) expect_same(ask(), expected_);
  }
}

TEST_F(Cache, TruncatedFilesAreReplaced) {
  ask();
  const std::string good = content(only_file());
  expect_recovers("");
  expect_recovers(good.substr(0, 20));
  expect_recovers(good.substr(0, good.size() - 1));
  expect_recovers(good + "x");
}

TEST_F(Cache, CorruptedFilesAreReplaced) {
  ask();
  const std::string good = content(only_file());
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{9}, std::size_t{13}, std::size_t{20}, std::size_t{40},
        std::size_t{60}, good.size() / 2, good.size() - 1}) {
    std::string spoilt = good;
    spoilt[at] = static_cast<char>(spoilt[at] ^ 0x10);
    expect_recovers(spoilt);
  }
  expect_recovers(std::string(good.size(), 'x'));
}

TEST_F(Cache, OtherRequestsFileIsReplaced) {
  ask();
  const std::filesystem::path mine = only_file();
  RoundingSpec other = spec_;
  other.exp2_rel_error = 1e-3;
  cached_reference(directory_, filled_.geometry, filled_.view(), other, rows_, options_);
  ASSERT_EQ(files().size(), 2U);
  for (const auto& path : files()) {
    if (path != mine)
      std::filesystem::copy_file(path, mine, std::filesystem::copy_options::overwrite_existing);
  }
  expect_same(ask(), expected_);
}

TEST_F(Cache, KeyCoversWholeRequest) {
  ask();
  const auto ask_for = [&](const FilledProblem& filled, const RoundingSpec& spec,
                           const RowSelection& rows, ReferenceOptions options) {
    expect_same(cached_reference(directory_, filled.geometry, filled.view(), spec, rows, options),
                compute_reference(filled.geometry, filled.view(), spec, rows, options));
  };
  RowSelection fewer = rows_;
  fewer.rows.resize(3);
  fewer.sampled = true;
  Problem reseeded = question();
  reseeded.seed = 5;
  RoundingSpec other = spec_;
  other.p_dtype = DType::f16;
  FilledProblem dump(question());  // same problem, other bits
  dump.v[1] ^= 1;
  ask_for(filled_, spec_, fewer, options_);
  ask_for(filled_, spec_, rows_, {});
  ask_for(filled_, other, rows_, options_);
  ask_for(FilledProblem(reseeded), spec_, rows_, options_);
  ask_for(dump, spec_, rows_, options_);
  EXPECT_EQ(files().size(), 6U);
}

TEST_F(Cache, CreatesDirectory) {
  directory_ /= "a/b";
  expect_same(ask(), expected_);
  EXPECT_EQ(files().size(), 1U);
  directory_ = directory_.parent_path().parent_path();
}

TEST_F(Cache, WorksWithoutWritableDirectory) {
  const std::filesystem::path directory = directory_;
  set_content(directory / "file", "in the way");
  directory_ /= "file";
  expect_same(ask(), expected_);
  directory_ = directory;
}

}  // namespace
}  // namespace plumbline
