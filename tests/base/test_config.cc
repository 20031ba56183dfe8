// TOML files as a tree: order, lines, canonical texts, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "harness/base/config.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = ConfigNode::Kind;

ConfigNode parse(std::string_view text) {
  auto parsed = parse_config(text, "test.toml");
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : to_string(parsed.error()));
  return parsed.value_or(ConfigNode{});
}

std::vector<std::string> keys(const ConfigNode& table) {
  std::vector<std::string> names;
  for (const auto& member : table.members) names.push_back(member.key);
  return names;
}

TEST(ConfigTest, MembersKeepTheOrderOfTheFile) {
  const ConfigNode root =
      parse("zebra = 1\napple = { z = 1, a = 2, m = 3 }\n[mango]\ny = 1\nb = 2\n");
  EXPECT_THAT(keys(root), ElementsAre("zebra", "apple", "mango"));
  EXPECT_THAT(keys(*root.find("apple")), ElementsAre("z", "a", "m"));
  EXPECT_THAT(keys(*root.find("mango")), ElementsAre("y", "b"));
}

TEST(ConfigTest, LinesAndFile) {
  const ConfigNode root =
      parse("a = 1\n\n[[group]]\nname = \"x\"\n\n[[group]]\nlist = [1,\n  2]\nb.c = 1\n");
  EXPECT_EQ(root.find("a")->line, 1);
  const ConfigNode& groups = *root.find("group");
  ASSERT_EQ(groups.kind, Kind::array);
  ASSERT_EQ(groups.items.size(), 2u);
  EXPECT_EQ(groups.items[0].line, 3);
  EXPECT_EQ(groups.items[0].find("name")->line, 4);
  EXPECT_EQ(groups.items[1].line, 6);
  EXPECT_EQ(groups.items[1].find("list")->items[1].line, 8);
  EXPECT_EQ(groups.items[1].find("b")->line, 9);
  EXPECT_EQ(groups.items[1].find("b")->find("c")->file, "test.toml");
}

TEST(ConfigTest, ScalarsHaveCanonicalTexts) {
  const ConfigNode root =
      parse("s = \"text\"\ni = 1_000\nh = 0x10\nr = 0.50\ne = 1e-5\nt = true\nf = false\n");
  EXPECT_EQ(root.find("s")->text, "text");
  EXPECT_EQ(root.find("s")->kind, Kind::string);
  EXPECT_EQ(root.find("i")->text, "1000");
  EXPECT_EQ(root.find("i")->number, 1000);
  EXPECT_EQ(root.find("h")->text, "16");
  EXPECT_EQ(root.find("r")->text, "0.5");
  EXPECT_EQ(root.find("r")->kind, Kind::real);
  EXPECT_EQ(root.find("e")->text, "1e-05");
  EXPECT_EQ(root.find("t")->text, "true");
  EXPECT_TRUE(root.find("t")->boolean);
  EXPECT_EQ(root.find("f")->kind, Kind::boolean);
  EXPECT_EQ(root.find("missing"), nullptr);
}

TEST(ConfigTest, SyntaxErrorsNameTheLine) {
  const auto parsed = parse_config("a = 1\nb = = 2\n", "bad.toml");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_THAT(parsed.error()[0].to_string(), HasSubstr("bad.toml:2: "));
  EXPECT_FALSE(parse_config("a = 1\na = 2\n", "twice.toml").has_value());
}

TEST(ConfigTest, TimesAreErrors) {
  const auto parsed = parse_config("a = 1979-05-27T07:32:00Z\nb = [07:32:00]\n", "dates.toml");
  ASSERT_FALSE(parsed.has_value());
  ASSERT_EQ(parsed.error().size(), 2u);
  EXPECT_EQ(parsed.error()[1].line, 2);
}

TEST(ConfigTest, MissingFilesAreNamed) {
  for (const auto& path :
       {std::filesystem::path("/does/not/exist.toml"), std::filesystem::temp_directory_path()}) {
    const auto parsed = read_config(path);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_THAT(parsed.error()[0].to_string(), HasSubstr(path.string()));
    EXPECT_THAT(parsed.error()[0].to_string(), HasSubstr("cannot be read"));
  }
}

TEST(ConfigTest, FailingReadsAreErrors) {
  const auto parsed = read_config("/proc/self/mem");  // it opens, and its first page is unmapped
  ASSERT_FALSE(parsed.has_value());
  EXPECT_THAT(parsed.error()[0].to_string(), HasSubstr("cannot be read"));
}

TEST(ConfigTest, UnknownKeys) {
  constexpr std::array<std::string_view, 2> known{"name", "reason"};
  Errors errors;
  reject_unknown_keys(parse("name = 1\nraeson = 2\nxyz = 3\n"), known, errors);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].to_string(),
            "test.toml:2: unknown key \"raeson\"\n  remedy: did you mean reason?");
  EXPECT_EQ(errors[1].to_string(),
            "test.toml:3: unknown key \"xyz\"\n  remedy: known are name, reason");
}

int line_of_refusal(const std::string& text) {
  const auto parsed = parse_config(text, "test.toml");
  EXPECT_FALSE(parsed.has_value()) << text.substr(0, 80);
  if (parsed) return -1;
  EXPECT_FALSE(parsed.error().front().remedy.empty());
  return parsed.error().front().line;
}

std::string dotted(std::size_t parts) {
  std::string key = "a";
  while (--parts > 0) key += ".a";
  return key;
}

// Each part is a table within the previous one, and destroying a few thousand of them overflows the
// stack.
TEST(ConfigTest, DeepDottedKeysAreRefused) {
  EXPECT_EQ(parse(dotted(101) + " = 1\n").members.size(), 1u);
  EXPECT_EQ(line_of_refusal(dotted(102) + " = 1\n"), 1);
  const std::string endless = dotted(200'000);
  EXPECT_EQ(line_of_refusal("b = 1\n" + endless + " = 1\n"), 2);
  EXPECT_EQ(line_of_refusal("[" + endless + "]"), 1);
  EXPECT_EQ(line_of_refusal("b = { c = \"\"\"\n \\\" \"\n\"\"\", " + endless + " = 1 }\n"), 3);
  std::string quoted = endless;
  for (std::size_t at = quoted.size(); at-- > 0;) {
    if (at % 20'000 == 0) quoted.replace(at, 1, "\"=\"");
  }
  EXPECT_EQ(line_of_refusal(quoted + " = 1\n"), 1);
  // Many dots on many lines are not a key.
  std::string reals =
      "# " + std::string(100, '.') + "\nb = \"" + std::string(100, '.') + "\"\nc = [";
  for (int i = 0; i < 200; ++i) reals += "0.5,\n";
  EXPECT_EQ(parse(reals + "]\n").find("c")->items.size(), 200u);
}

TEST(ConfigTest, DeepNestingIsRefused) {
  EXPECT_EQ(line_of_refusal("a = " + std::string(100'000, '[') + "\n"), 1);
  std::string tables = "a = ";
  for (int i = 0; i < 100'000; ++i) tables += "{b = ";
  EXPECT_EQ(line_of_refusal(tables), 1);
  EXPECT_EQ(line_of_refusal("a = [[[[[[[[1]]]]]]]]\n"), 1);
  // The deepest tree that is accepted.
  const std::string key = dotted(101);
  const std::string open = "[\n{ " + key + " = ", close = " }\n]";
  parse("[" + key + "]\n" + key + " = " + open + open + open + "[1]" + close + close + close +
        "\n");
}

TEST(ConfigTest, NonAsciiOnlyInQuotesAndComments) {
  EXPECT_EQ(line_of_refusal("a = 1\ndtyp\xC3\xA9 = 1\n"), 2);
  EXPECT_EQ(line_of_refusal("a = 1\xC2\xA0\n"), 1);
  EXPECT_EQ(line_of_refusal("a = 1\nb\xFF\n"), 2);
  EXPECT_EQ(line_of_refusal("a = 2\"b\xC3\xA9\"\n"), 1);
  // toml++ would reach its unreachable statement after these words, and read on without end.
  for (const char* word : {"2\"x", "2.\"x", "1=\"x", "1[\"x", "1{\"x"})
    EXPECT_EQ(line_of_refusal(std::string("a = ") + word + "\xC3\xA9\"\n"), 1);
  EXPECT_EQ(line_of_refusal("a = 1\nb = \"\\\xC3\xA9\"\n"), 2);
  EXPECT_EQ(line_of_refusal("a = 1\nb = \"\xC3\"\n"), 2);
  const auto valid = parse(
      "\xEF\xBB\xBF# \xC3\xA9\n\"\xC3\xA9\" = \"\xD0\xBC \\\\\xF0\x9F\x98\x80\"\nb = "
      "'x\xC3\xA9'\n");
  EXPECT_EQ(valid.members.front().key, "\xC3\xA9");
  EXPECT_EQ(valid.members.front().value.text, "\xD0\xBC \\\xF0\x9F\x98\x80");
  EXPECT_EQ(valid.members.back().value.text, "x\xC3\xA9");
  const auto lines = parse("a = \"\"\"\n\xC3\xA9 \\\n\xC2\xA7\"\"\"\nb = 1\n");
  EXPECT_EQ(lines.members.front().value.text, "\xC3\xA9 \xC2\xA7");
  EXPECT_EQ(lines.members.back().value.line, 4);
}

TEST(ConfigTest, NumbersBeyond64BitsAreRefused) {
  for (const char* number : {"9223372036854775808", "0x1ffffffffffffffff", "1e999"})
    EXPECT_EQ(line_of_refusal(std::string("a = ") + number + "\n"), 1) << number;
}

TEST(ConfigTest, TomlPlusPlusAssertIsAnError) {
  EXPECT_EQ(line_of_refusal("a = 1\n[$[diff]]\n"), 2);
}

TEST(ConfigTest, EndlessFilesAreRefused) {
  const auto parsed = read_config("/dev/zero");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_THAT(parsed.error()[0].to_string(), HasSubstr("more than 16 MiB"));
}

}  // namespace
}  // namespace plumbline
