// Strict number parsing, "did you mean", and how errors print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.h"
#include "harness/base/text.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

TEST(TextTest, NumbersMustFillText) {
  EXPECT_EQ(parse_integer("-12"), -12);
  for (const char* bad : {"", "1 ", " 1", "1.0", "+1", "0x1", "99999999999999999999"})
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_real("1e-3"), 1e-3);
  for (const char* bad : {"", "nan", "inf", "-inf", "1e999", "1,5", "1.5x"})
    EXPECT_EQ(parse_real(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
  EXPECT_EQ(parse_boolean("true"), true);
  EXPECT_EQ(parse_boolean("True"), std::nullopt);
}

TEST(TextTest, Split) {
  EXPECT_THAT(split("a/b//c", '/'), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split("", '/'), ElementsAre(""));
}

TEST(TextTest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("maks", "mask"), 1u) << "a swap is one step";
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(TextTest, Suggestions) {
  const std::vector<std::string_view> known{"mask", "layout", "lengths"};
  EXPECT_EQ(suggestion("layot", known), "did you mean layout?");
  EXPECT_EQ(suggestion("zebra", known), "known are mask, layout, lengths");
  EXPECT_EQ(nearest_word("x", std::vector<std::string_view>{"a"}), std::nullopt)
      << "nothing in common";
}

TEST(TextTest, PlainNames) {
  EXPECT_TRUE(is_plain_name("gqa_8x2-long"));
  EXPECT_FALSE(is_plain_name(""));
  EXPECT_FALSE(is_plain_name("a/b"));
  EXPECT_FALSE(is_plain_name("a b"));
}

TEST(ErrorTest, PlaceMessageRemedy) {
  EXPECT_EQ((Error{"a.toml", 3, "wrong", "do that"}).to_string(),
            "a.toml:3: wrong\n  remedy: do that");
  EXPECT_EQ((Error{"a.toml", 0, "wrong", ""}).to_string(), "a.toml: wrong");
  EXPECT_EQ((Error{"", 0, "wrong", ""}).to_string(), "wrong");
  EXPECT_EQ(to_string(Errors{{"", 0, "one", ""}, {"", 2, "two", ""}}), "one\nline 2: two");
}

TEST(Text, ConsecutiveIntegersAreRanges) {
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(in_ranges(Integers{}), "");
  EXPECT_EQ(in_ranges(Integers{3, 16, 17, 18, 40, 41}), "3, 16 to 18, 40, 41");
  EXPECT_EQ(in_ranges(Integers{0, 2, 4, 6, 8, 10, 12, 14}), "0, 2, 4, 6, 8, 10, 12, 14");
  EXPECT_EQ(in_ranges(Integers{0, 2, 4, 6, 8, 10, 12, 14, 16}), "0, 2, 4, 6, 8, 10, 12, 14, …");
}

}  // namespace
}  // namespace plumbline
