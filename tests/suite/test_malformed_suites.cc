// Two hundred suites, made from those in cases/ with one mistake each, are refused with file, line
// and remedy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <random>
#include <regex>

#include "tests/suite/suite_files.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;
using Random = std::mt19937_64;

constexpr std::size_t wanted = 200;

Lines read_lines(const fs::path& path) {
  std::ifstream file(path);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Returns true if the value ends on its line, so that a mistake in it leaves the other lines valid.
bool is_whole(const std::string& line) {
  return line.find("\"\"\"") == std::string::npos &&
         std::count(line.begin(), line.end(), '[') == std::count(line.begin(), line.end(), ']') &&
         std::count(line.begin(), line.end(), '{') == std::count(line.begin(), line.end(), '}');
}

// Returns the index of a random line that begins with the pattern, or -1.
int pick(const Lines& lines, const std::string& pattern, Random& random) {
  const std::regex expression("^(" + pattern + ")");
  std::vector<int> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_whole(lines[i]) && std::regex_search(lines[i], expression))
      found.push_back(static_cast<int>(i));
  }
  return found.empty() ? -1 : found[static_cast<std::size_t>(random() % found.size())];
}

// Makes a mistake. Returns the 1-based line that must have an error, 0 if several lines may, -1 if
// the mistake is not possible.
struct Slip {
  const char* name;
  std::function<int(Lines&, Random&)> make;
};

// Replaces the match of `what` on a line that begins with `where`.
Slip replaced(const char* name, const std::string& where, const std::string& what,
              const std::string& with) {
  return {name, [=](Lines& lines, Random& random) {
            const int at = pick(lines, where, random);
            if (at < 0) return -1;
            std::string& line = lines[static_cast<std::size_t>(at)];
            const std::string before = line;
            line = std::regex_replace(line, std::regex(what), with,
                                      std::regex_constants::format_first_only);
            return line == before ? -1 : at + 1;
          }};
}

// Inserts a line with a key that the file does not have, before one that begins with `before`.
Slip inserted(const char* name, const std::string& before, const std::string& line) {
  return {name, [=](Lines& lines, Random& random) {
            const std::string key = line.substr(0, line.find(" ="));
            const bool taken = std::any_of(
                lines.begin(), lines.end(),
                [&](const std::string& other) { return other.starts_with(key + " ="); });
            const int at = taken ? -1 : pick(lines, before, random);
            if (at >= 0) lines.insert(lines.begin() + at, line);
            return at < 0 ? -1 : at + 1;
          }};
}

// Appends a group. The error is at its header.
Slip group(const char* name, const std::string& members) {
  return {name, [=](Lines& lines, Random&) {
            for (const char* line :
                 {"", "[[group]]", "name = \"a_slip\"", "reason = \"r\"", "kernels = [\"cpu/*\"]"})
              lines.push_back(line);
            lines.push_back(members);
            return static_cast<int>(lines.size()) - 4;
          }};
}

// Like replaced(), but TOML reports the error on a later line.
Slip left_open(const char* name, const std::string& where, const std::string& what) {
  return {name, [=](Lines& lines, Random& random) {
            return replaced("", where, what, "").make(lines, random) < 0 ? -1 : 0;
          }};
}

Slip without(const char* name, const std::string& where) {
  return {name, [=](Lines& lines, Random& random) {
            const int at = pick(lines, where, random);
            if (at >= 0) lines.erase(lines.begin() + at);
            return at < 0 ? -1 : 0;
          }};
}

const std::vector<Slip>& slips() {
  static const std::string key =
      "(name|reason|kernels|set|product|zip|pairwise|description|expect|a|b) *= ";
  static const std::vector<Slip> all{
      without("the reason is missing", "reason *="),
      without("the kernels are missing", "kernels *="),
      without("a name is missing", "name *="),
      without("the schema is missing", "schema *="),
      replaced("a key is misspelt", key, "^([a-z]+)", "$1x"),
      replaced("a field is misspelt", "(set|product|zip|pairwise|a|b) *= \\{",
               "(dtype|seq|heads|mask|law|layout)(_[a-z]+)? = ", "$1$2_x = "),
      replaced("a number stands where a text belongs", "(name|reason) *=", "= .*", "= 7"),
      replaced("a text stands where a list belongs", "kernels *=", "= .*", "= \"cpu/flash\""),
      replaced("a number stands where a table belongs", "(set|product|zip|pairwise) *=", "= .*",
               "= 3"),
      replaced("a table stands where a text belongs", "(name|reason) *=", "= .*", "= { a = 1 }"),
      replaced("a date", "(name|reason|set|product|kernels) *=", "= .*", "= 2026-02-28"),
      replaced("a date that does not exist", "(name|reason) *=", "= .*", "= 2026-02-30"),
      replaced("an unknown word", "(set|product|zip|pairwise) *= ",
               "\"(bf16|fp16|fp32|causal_[a-z_]+|padded_[a-z]+|normal|random)\"", "\"$1y\""),
      replaced("an unknown schema", "schema *=", "= 1", "= 9"),
      replaced("a negative size", "(set|product|zip|pairwise) *= .*(seq|batch|heads)",
               "(seq|batch|heads)([a-z_]*) = (\\[?)[0-9]+", "$1$2 = $03-8"),
      replaced("a size beyond all ranges", "(set|product|zip|pairwise) *= .*(seq|batch|heads)",
               "(seq|batch|heads)([a-z_]*) = (\\[?)[0-9]+", "$1$2 = $0399999999999"),
      replaced("zipped lists of unequal length", "zip *= \\{ *[a-z_]+ = \\[.*\\[",
               "\\[([^,\\]]+), ", "[$1, $1, "),
      replaced("a kernel without a provider", "kernels *=", "\"[^\"/]*/", "\""),
      replaced("an empty list", "(product|pairwise) *= ", "= \\[[^\\]]*\\]", "= []"),
      replaced("a list in place of one value", "set *= .*(seq|batch|heads)[a-z_]* = [0-9]",
               "(seq|batch|heads)([a-z_]*) = ([0-9]+)", "$1$2 = [$3]"),
      replaced("a text without its end", "(name|reason) *= \"[^\"\\\\]*\"$", "\"$", ""),
      left_open("a bracket too few", "kernels *=", "\\]"),
      replaced("a brace too many", "(set|product|zip|pairwise) *= .*\\}$", "\\}$", "} }"),
      replaced("no equals sign", key, " *= *", " "),
      replaced("a value too few", key, "= .*", "="),
      replaced("bytes that are not UTF-8", "reason *= \"", "= \"", "= \"\xff\xfe"),
      replaced("a control byte", "reason *= \"", "= \"", "= \"\x01"),
      inserted("a line of rubbish", "\\[\\[", "%$ rubbish"),
      inserted("a header without its end", "\\[\\[", "[[group"),
      inserted("a tier that is none", "reason *=", "tier = \"hourly\""),
      inserted("a boolean in quotes", "kernels *=", "timed = \"true\""),
      inserted("a device that is none", "kernels *=", "devices = [\"tpu:0\"]"),
      inserted("an architecture that is none", "kernels *=", "arch = [\"sm_1\"]"),
      inserted("tensor cores that are no word", "kernels *=", "tensor_cores = [\"maybe\"]"),
      inserted("exclude is no list", "kernels *=", "exclude = \"all\""),
      inserted("exclude drops everything", "kernels *=", "exclude = [{}]"),
      inserted("an include that is not there", "name *=", "include = [\"not_there.toml\"]"),
      {"a key twice",
       [](Lines& lines, Random& random) {
         const int at = pick(lines, "(name|reason|kernels|set|product|zip) *=", random);
         if (at < 0) return -1;
         const std::string line = lines[static_cast<std::size_t>(at)];
         lines.insert(lines.begin() + at, line);
         return at + 2;
       }},
      {"a name twice",
       [](Lines& lines, Random& random) {
         const int header = pick(lines, "\\[\\[group\\]\\]$", random);
         if (header < 0) return -1;
         const std::string taken = lines[static_cast<std::size_t>(header) + 1];
         if (!taken.starts_with("name")) return -1;
         for (const std::string& line :
              {std::string("[[group]]"), taken, std::string("reason = \"r\""),
               std::string("kernels = [\"cpu/*\"]")})
           lines.push_back(line);
         return static_cast<int>(lines.size()) - 2;
       }},
      {"an include of itself",
       [](Lines& lines, Random&) {
         if (std::any_of(lines.begin(), lines.end(),
                         [](const std::string& line) { return line.starts_with("include"); }))
           return -1;
         lines.insert(lines.begin(), "include = [\"spoilt.toml\"]");
         return 1;
       }},
      group("heads that do not divide", "set = { heads_q = 5, heads_kv = 2 }"),
      group("padding without a padded layout", "set = { layout = \"ragged\", padding = \"left\" }"),
      group("exclude drops all cases", "set = { seq = 8 }\nexclude = [{ seq = 8 }]"),
      group("more rows than an index counts", "set = { batch = 65536, seq = 16777216 }"),
  };
  return all;
}

class MalformedSuites : public SuiteFiles {
 protected:
  // A copy of cases/, so that a suite finds its includes.
  void SetUp() override {
    SuiteFiles::SetUp();
    fs::copy(PLUMBLINE_CASES, directory_ / "cases", fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / "cases")) {
      if (entry.path().extension() == ".toml" && read_suite(entry.path()))
        valid_.push_back(entry.path());
    }
    std::sort(valid_.begin(), valid_.end());
  }

  std::vector<fs::path> valid_;
};

void expect_helpful(const Errors& errors, const fs::path& file, int line,
                    const std::string& context) {
  bool stands_there = line == 0;
  for (const Error& error : errors) {
    EXPECT_FALSE(error.message.empty()) << context;
    EXPECT_FALSE(error.remedy.empty()) << context << ": " << error.to_string();
    EXPECT_FALSE(error.file.empty()) << context << ": " << error.to_string();
    // A missing file has no line. The line that includes it is in another error.
    EXPECT_TRUE(error.file != file.string() || error.line > 0)
        << context << ": " << error.to_string();
    stands_there = stands_there || (error.file == file.string() && error.line == line);
  }
  EXPECT_TRUE(stands_there) << context << ": no error on line " << line << ", but\n"
                            << to_string(errors);
}

TEST_F(MalformedSuites, RefusedWithFileLineAndRemedy) {
  ASSERT_GT(valid_.size(), 10u);
  Random random(20261121);
  ASSERT_LE(slips().size(), wanted);
  for (std::size_t count = 0; count < wanted; ++count) {
    const std::size_t kind = count % slips().size();
    std::shuffle(valid_.begin(), valid_.end(), random);
    Lines lines;
    int line = -1;
    const auto source = std::find_if(valid_.begin(), valid_.end(), [&](const fs::path& path) {
      lines = read_lines(path);
      line = slips()[kind].make(lines, random);
      return line >= 0;
    });
    ASSERT_NE(source, valid_.end()) << slips()[kind].name << " applies to no suite";
    const fs::path spoilt = source->parent_path() / "spoilt.toml";
    std::ofstream(spoilt) << joined(lines);
    const std::string context =
        std::string(slips()[kind].name) + " in " + source->filename().string();
    const auto suite = read_suite(spoilt);
    EXPECT_FALSE(suite.has_value()) << context << " was accepted:\n" << joined(lines);
    if (!suite) expect_helpful(suite.error(), spoilt, line, context);
  }
}

}  // namespace
}  // namespace plumbline
