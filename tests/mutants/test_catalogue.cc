// mutants.toml, the library and docs/mutants.md list the same names.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "harness/outcome/invariance.h"
#include "tests/kernels/call.h"
#include "tests/mutants/catalogue.h"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::UnorderedElementsAreArray;

TEST(Catalogue, NamesKernelsOfLibrary) {
  const Catalogue catalogue = read_catalogue();
  std::vector<std::string> named = catalogue.legal;
  for (const Mutant& mutant : catalogue.mutants) named.push_back(mutant.name);
  for (const Breaker& breaker : catalogue.breakers) named.push_back(breaker.name);
  const Library library(PLUMBLINE_MUTANTS_LIBRARY);
  for (const auto& [options, name] : std::map<std::string, std::string>{
           {"", "mutants"}, {"mode=tf32", "mutants_tf32"}, {"mode=e4m3", "mutants_e4m3"}}) {
    const plumbline_provider* provider = library.provider(options);
    ASSERT_NE(provider, nullptr);
    EXPECT_EQ(provider->name, name);
    std::vector<std::string> offered;
    for (std::uint32_t i = 0; i < provider->kernel_count; ++i)
      offered.emplace_back(provider->kernel_name(i));
    EXPECT_THAT(offered, UnorderedElementsAreArray(named));
  }
  EXPECT_THAT(answer_to_any_query(*library.provider("mode=fp8")), ::testing::HasSubstr("mode"));
  EXPECT_GE(catalogue.mutants.size(), 60U);
  EXPECT_GE(catalogue.legal.size(), 16U);
}

TEST(Catalogue, UsesWordsOfHeader) {
  const std::set<std::string> diagnoses{
      "head", "row", "column",    "key",        "edge",        "scale",     "denominator",
      "none", "nan", "unwritten", "empty_rows", "padded_rows", "run_to_run"};
  const std::set<std::string> needs{"tiles",
                                    "tail",
                                    "causal",
                                    "empty_rows",
                                    "window",
                                    "window_right",
                                    "splits",
                                    "empty_splits",
                                    "gqa",
                                    "group_of_three",
                                    "batch",
                                    "ragged",
                                    "paged",
                                    "padded",
                                    "left_padding",
                                    "page_not_16",
                                    "heads_before_tokens",
                                    "nan_fill",
                                    "values_narrower",
                                    "long",
                                    "scale_given",
                                    "full_tiles",
                                    "tile_edge",
                                    "full_pages",
                                    "decode",
                                    "far",
                                    "far_logits",
                                    "huge_logits",
                                    "peaked",
                                    "ramp",
                                    "near_ties",
                                    "lse",
                                    "no_lse",
                                    "softcap",
                                    "alibi",
                                    "alibi_standard",
                                    "sinks",
                                    "custom_mask",
                                    "bits_beyond_16_bits",
                                    "bytes_beyond_16_bits",
                                    "prefix_lm",
                                    "block_diagonal",
                                    "fp8",
                                    "fp8_e5m2",
                                    "fp8_q",
                                    "scales_by_head",
                                    "scales_by_block",
                                    "packed_kv",
                                    "packed_qkv",
                                    "v_in_k"};
  std::set<std::string> names, classes;
  for (const Mutant& mutant : read_catalogue().mutants) {
    EXPECT_TRUE(names.insert(mutant.name).second) << mutant.name << " stands twice";
    EXPECT_EQ(mutant.mutant_class, mutant.name.substr(0, mutant.name.find('_')));
    EXPECT_FALSE(mutant.what.empty()) << mutant.name;
    EXPECT_THAT(diagnoses, Contains(mutant.diagnosis)) << mutant.name;
    for (const std::string& need : mutant.needs) EXPECT_THAT(needs, Contains(need)) << mutant.name;
    classes.insert(mutant.mutant_class);
  }
  EXPECT_THAT(classes, UnorderedElementsAreArray({"softmax", "mask", "index", "head", "split",
                                                  "precision", "softcap", "alibi", "sink", "fp8",
                                                  "memory", "race", "stale", "epilogue"}));
}

TEST(Catalogue, HasBreakerForEachInvariance) {
  std::vector<std::string> broken;
  for (const Breaker& breaker : read_catalogue().breakers) {
    EXPECT_EQ(breaker.name, "varies_" + breaker.breaks);
    EXPECT_FALSE(breaker.what.empty()) << breaker.name;
    broken.push_back(breaker.breaks);
  }
  EXPECT_THAT(broken, UnorderedElementsAreArray(names_of<Invariance>));
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

// Returns the page's rows: number -> mutants; no mutants if the row explains why there are none.
std::map<std::string, std::set<std::string>> rows_of_the_page() {
  std::ifstream file(PLUMBLINE_MUTANTS_PAGE);
  std::map<std::string, std::set<std::string>> rows;
  const std::regex row("^\\| ([A-L][0-9]*) \\| [^|]+ \\| ([^|]+) \\|$");
  for (std::string line; std::getline(file, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, row)) continue;
    const std::string cell = parts[2];
    const auto mutants = matches(cell, std::regex("`([a-z0-9_]+)`"));
    const bool has_reason = cell.starts_with("none: ") && cell.size() > 20;
    EXPECT_TRUE(has_reason || !mutants.empty()) << line;
    auto& of_the_number = rows[parts[1]];  // a long row continues in the next one
    if (!has_reason) of_the_number.insert(mutants.begin(), mutants.end());
  }
  return rows;
}

// The page covers every number of the collection of real bugs.
TEST(Catalogue, PageCoversAllRealBugs) {
  const std::map<char, std::vector<int>> numbers{
      {'A', {1, 2, 3, 4, 6, 7, 8, 11, 12}},
      {'B', {1, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15}},
      {'C', {2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 14}},
      {'D', {2, 4, 5, 6}},
      {'E', {1, 3, 4, 5, 7, 8}},
      {'F', {1, 2, 4, 5, 9, 10, 11, 12, 13}},
      {'G', {1, 2, 4, 5, 6, 7, 8, 9}},
      {'H', {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {'I', {3, 4, 5, 6, 7, 8, 9}},
      {'J', {1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {'K', {1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}};
  const auto rows = rows_of_the_page();
  std::size_t expected = 1;
  EXPECT_TRUE(rows.contains("L"));
  for (const auto& [letter, of_letter] : numbers) {
    for (const int number : of_letter)
      EXPECT_TRUE(rows.contains(letter + std::to_string(number))) << letter << number;
    expected += of_letter.size();
  }
  EXPECT_EQ(rows.size(), expected);
}

TEST(Catalogue, PageAndFileAgree) {
  std::map<std::string, std::set<std::string>> mutants_of;
  const auto add = [&](const std::string& name, const std::string& zoo) {
    for (const std::string& number : matches(zoo, std::regex("\\b([A-L][0-9]+)\\b(?!-)")))
      mutants_of[number].insert(name);
  };
  for (const char* file : {PLUMBLINE_MUTANTS_TOML, PLUMBLINE_MMA_MUTANTS_TOML}) {
    const Catalogue catalogue = read_catalogue(file);
    for (const Mutant& mutant : catalogue.mutants) add(mutant.name, mutant.zoo);
    for (const Breaker& breaker : catalogue.breakers) add(breaker.name, breaker.zoo);
  }
  for (const auto& [number, mutants] : rows_of_the_page())
    EXPECT_EQ(mutants, mutants_of[number]) << number;
}

}  // namespace
}  // namespace plumbline::testing
