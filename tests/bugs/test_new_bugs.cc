// Known bugs in NumPy (new_bugs.py) that smoke must catch, and those that only groups of
// cases/reach.toml reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/command.h"
#include "tests/python_worker/missing_python.h"

namespace plumbline {
namespace {

// These need more keys, wider groups or other pages than smoke has.
struct Reached {
  const char* bug;
  const char* cases;  // pattern of cases/reach.toml: a group, or some of its cases if all are slow
};
void PrintTo(const Reached& reached, std::ostream* out) { *out << reached.bug; }
constexpr Reached only_in_nightly[] = {{"alibi_distance_at_most_2048", "long_alibi/*"},
                                       {"decode_beside_prefill_cut_at_512", "serving/*"},
                                       {"groups_above_16_cut", "wide_groups/*"},
                                       {"last_tile_of_sixteen_heads_lost", "group_of_sixteen/*"},
                                       {"mask_bits_beyond_1024_set", "long_masks/*"},
                                       {"padded_keys_beyond_1024_lost", "long_padded_cache/*"},
                                       {"page_size_as_power_of_two", "odd_pages/*"},
                                       {"pages_modulo_32768", "page_numbers/*bf16*33000*"}};

class NewBugs : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const auto listed = plumbline("list --kernels --no-default-provider --provider " + provider());
    if (test::is_python_missing(listed.text)) GTEST_SKIP() << listed.text;
    ASSERT_EQ(listed.code, 0) << listed.text;
  }
  static std::string source(const std::string& path) {
    return (test::source_directory / path).string();
  }
  static std::string provider() { return "'" + source("tests/bugs/new_bugs.py") + "'"; }

  // The kernels of a run, and those among them that fail no case.
  struct Kernels {
    std::set<std::string> all, missed;
  };
  Kernels run(const std::string& suite, const std::string& chosen) const {
    const auto result =
        plumbline("run '" + source("cases/" + suite) + "' --no-default-provider --provider " +
                  provider() + chosen + " --format json --no-store -q");
    EXPECT_EQ(result.code, 1) << result.text;
    Kernels kernels;
    std::set<std::string> caught;
    const auto data = nlohmann::json::parse(result.text)["data"];
    for (const auto& outcome : data["outcomes"]) {
      kernels.all.insert(outcome["kernel"]);
      if (outcome["verdict"] == "fail") caught.insert(outcome["kernel"]);
    }
    for (const std::string& kernel : kernels.all) {
      if (!caught.contains(kernel)) kernels.missed.insert(kernel);
    }
    return kernels;
  }
};

TEST_F(NewBugs, SmokeCatchesAllWithinReach) {
  const Kernels kernels = run("smoke.toml", " --kernel 'new_bugs/*'");
  EXPECT_EQ(kernels.all.size(), 99U);
  std::set<std::string> beyond;
  for (const Reached& reached : only_in_nightly)
    beyond.insert(std::string("new_bugs/") + reached.bug);
  EXPECT_EQ(kernels.missed, beyond);
}

// One worker, so that the order of the cases decides which call leaves state for which.
TEST_F(NewBugs, SmokeCatchesStateOfEarlierCalls) {
  std::string chosen = " -j 1 --kernel 'new_bugs/state_*'";
  for (const char* group : {"dense", "fully_masked", "head_dims", "features"})
    chosen += std::string(" --match 'smoke/") + group + "/*'";
  const Kernels kernels = run("smoke.toml", chosen);
  EXPECT_EQ(kernels.all.size(), 10U);
  EXPECT_THAT(kernels.missed, testing::IsEmpty());
}

class ReachedBugs : public NewBugs, public testing::WithParamInterface<Reached> {};

TEST_P(ReachedBugs, GroupOfReachCatches) {
  const auto& [bug, cases] = GetParam();
  const std::string kernel = std::string("new_bugs/") + bug;
  const Kernels kernels =
      run("reach.toml", std::string(" --match 'reach/") + cases + "' --kernel " + kernel);
  EXPECT_THAT(kernels.all, testing::ElementsAre(kernel));
  EXPECT_THAT(kernels.missed, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Reach, ReachedBugs, testing::ValuesIn(only_in_nightly),
                         [](const auto& reached) { return reached.param.bug; });

}  // namespace
}  // namespace plumbline
