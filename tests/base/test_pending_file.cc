// A file that appears when it is complete.
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "harness/base/pending_file.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class PendingFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "plumbline.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_))
      found.push_back(entry.path().filename().string());
    return found;
  }
  std::string text() const {
    std::ifstream file(folder_ / "a");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  fs::path folder_;
};

TEST_F(PendingFileTest, CommitNamesFile) {
  PendingFile pending(folder_ / "a");
  write(pending.place(), "new");
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_TRUE(pending.commit());
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(text(), "new");
}

TEST_F(PendingFileTest, CommitReplacesWholeFile) {
  write(folder_ / "a", "what was there before");
  PendingFile pending(folder_ / "a");
  write(pending.place(), "new");
  EXPECT_EQ(text(), "what was there before");
  EXPECT_TRUE(pending.commit());
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(text(), "new");
}

TEST_F(PendingFileTest, NothingRemainsWithoutCommit) {
  write(folder_ / "a", "old");
  {
    PendingFile pending(folder_ / "a");
    write(pending.place(), "new");
  }
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(text(), "old");
}

TEST_F(PendingFileTest, KilledWriterLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    PendingFile pending(folder_ / "a");
    write(pending.place(), "new");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(PendingFileTest, MissingFolderFails) {
  PendingFile pending(folder_ / "missing" / "a");
  EXPECT_FALSE(std::ofstream(pending.place()).is_open());
  EXPECT_FALSE(pending.commit());
}

}  // namespace
}  // namespace plumbline
