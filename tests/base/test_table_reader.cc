// Typed members of a table, and the error with line and remedy for each wrong member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "harness/base/table_reader.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view good = R"(
text = "a sentence"
name = "plain_name-1"
word = "second"
flag = true
list = ["a", "b"]
[[row]]
x = 1
[[row]]
x = 2
)";

constexpr std::string_view wrong = R"(
text = 1
name = "no plain name"
word = "fourth"
flag = "true"
list = ["a", 2]
row = 3
blank = " "
)";

constexpr std::array<std::string_view, 3> words{"first", "second", "third"};

TEST(TableReader, ReadsTypedMembers) {
  const auto table = parse_config(good, "file.toml");
  ASSERT_TRUE(table.has_value());
  Errors errors;
  TableReader reader(*table, errors);
  EXPECT_EQ(reader.text("text", true), "a sentence");
  EXPECT_EQ(reader.plain_name("name"), "plain_name-1");
  EXPECT_EQ(reader.word("word", words, 0), 1U);
  EXPECT_TRUE(reader.boolean("flag"));
  EXPECT_EQ(reader.texts("list").size(), 2U);
  EXPECT_EQ(reader.tables("row").size(), 2U);
  EXPECT_TRUE(errors.empty());
}

TEST(TableReader, AbsentMembersHaveDefaults) {
  const auto table = parse_config("", "file.toml");
  ASSERT_TRUE(table.has_value());
  Errors errors;
  TableReader reader(*table, errors);
  EXPECT_EQ(reader.text("text"), "");
  EXPECT_EQ(reader.word("word", words, 2), 2U);
  EXPECT_FALSE(reader.boolean("flag"));
  EXPECT_TRUE(reader.texts("list").empty());
  EXPECT_TRUE(reader.tables("row").empty());
  EXPECT_TRUE(errors.empty());
}

TEST(TableReader, WrongMembersNameLineAndRemedy) {
  const auto table = parse_config(wrong, "file.toml");
  ASSERT_TRUE(table.has_value());
  Errors errors;
  TableReader reader(*table, errors);
  EXPECT_EQ(reader.text("text"), "");
  reader.plain_name("name");
  EXPECT_EQ(reader.word("word", words, 0), 0U);
  EXPECT_FALSE(reader.boolean("flag"));
  EXPECT_EQ(reader.texts("list").size(), 1U) << "the entry that is a text";
  EXPECT_TRUE(reader.tables("row").empty());
  reader.text("blank", true);
  std::vector<std::string> texts;
  for (const Error& error : errors) texts.push_back(error.to_string());
  EXPECT_THAT(
      texts,
      ElementsAre(StartsWith("file.toml:2: text is not a text"),
                  StartsWith("file.toml:3: \"no plain name\" is not a name"),
                  AllOf(StartsWith("file.toml:4: word"), HasSubstr("first, second, third")),
                  StartsWith("file.toml:5: flag is not true or false"),
                  "file.toml:6: list has an entry that is not text\n  remedy: put it in quotes",
                  StartsWith("file.toml:7: row"), StartsWith("file.toml:8: blank")));
}

}  // namespace
}  // namespace plumbline
