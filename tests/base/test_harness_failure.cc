// Shortages of the process become errors with the remedy for their kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "harness/base/harness_failure.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr std::pair<int, const char*> remedies[] = {
    {EMFILE, "ulimit -n"}, {ENFILE, "fs.file-max"}, {EAGAIN, "ulimit -u"}, {ENOMEM, "ulimit -v"}};

TEST(HarnessFailure, EveryShortageHasARemedy) {
  for (const auto& [error, remedy] : remedies) {
    EXPECT_TRUE(is_shortage(error));
    try {
      end_if_short_of(error, "cannot open the log");
      FAIL() << remedy;
    } catch (const HarnessFailure& failure) {
      ASSERT_EQ(failure.errors().size(), 1U);
      EXPECT_THAT(failure.errors()[0].message, testing::StartsWith("cannot open the log: "));
      EXPECT_THAT(failure.errors()[0].remedy, HasSubstr(remedy));
    }
  }
}

TEST(HarnessFailure, CallersMayStateTheRemedy) {
  try {
    end_if_short_of(EMFILE, "cannot open the log", "close it first");
    FAIL();
  } catch (const HarnessFailure& failure) {
    EXPECT_EQ(failure.errors()[0].remedy, "close it first");
  }
}

TEST(HarnessFailure, OtherErrorsAreNoShortage) {
  for (const int error : {0, ENOENT, EACCES, EPERM}) {
    EXPECT_FALSE(is_shortage(error));
    EXPECT_NO_THROW(end_if_short_of(error, "cannot open the log"));
  }
}

TEST(HarnessFailure, ExceptionsOfShortagesAreRecognized) {
  const auto memory = shortage_of(std::bad_alloc());
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->message, "plumbline ran out of memory");
  EXPECT_THAT(memory->remedy, HasSubstr("ulimit -v"));
  for (const auto& [error, remedy] : remedies) {
    const auto found = shortage_of(std::system_error(error, std::generic_category(), "a thread"));
    ASSERT_TRUE(found.has_value()) << remedy;
    EXPECT_THAT(found->message, HasSubstr("a thread"));
    EXPECT_THAT(found->remedy, HasSubstr(remedy));
  }
  EXPECT_EQ(shortage_of(std::system_error(ENOENT, std::generic_category())), std::nullopt);
  EXPECT_EQ(shortage_of(std::runtime_error("other")), std::nullopt);
}

TEST(HarnessFailure, LackOfMemoryEndsTheCall) {
  EXPECT_THROW(end_for_memory("cannot start a thread"), HarnessFailure);
}

}  // namespace
}  // namespace plumbline
