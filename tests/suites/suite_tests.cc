// Runs a suite's cases as GoogleTest tests, one for each case or diff, stored in one database. They
// are grouped by suite, dtype, mask and layout.
//
//   suite_tests SUITE.toml… [--tier T] [--db FILE] [--provider LIB]… [GoogleTest flags]
//   suite_tests SUITE.toml… --ctest     prints add_test lines for CTest, one per group, with the
//                                       words of the group as labels
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/run/run_session.h"

namespace plumbline {
namespace {

struct Group {
  std::string name;                 // "smoke.bf16.causal_top_left.ragged"
  std::vector<std::string> labels;  // the suite, dtype, mask, layout
};

Group group_of(const PlannedCase& c) {
  const Problem& p = c.c.problem;
  const std::vector<std::string> words{c.suite, std::string(name(p.dtype)),
                                       std::string(name(p.mask)), std::string(name(p.layout))};
  return {fmt::format("{}.{}.{}.{}", words[0], words[1], words[2], words[3]), words};
}

std::string without(std::string text, char unwanted) {
  std::erase(text, unwanted);
  return text;
}

// One run of all cases whose tests are selected, made before the first test.
class Conformance {
 public:
  Conformance(ReviewedText text, MeasureOptions options, std::vector<ProviderInfo> providers,
              Plan plan, std::filesystem::path database)
      : text_(std::move(text)),
        options_(std::move(options)),
        providers_(std::move(providers)),
        plan_(std::move(plan)),
        database_(std::move(database)) {}

  const Plan& plan() const { return plan_; }

  void run_selected() {
    Plan selected;
    selected.partial = true;
    const auto* unit = testing::UnitTest::GetInstance();
    std::set<std::string> chosen;
    for (int s = 0; s < unit->total_test_suite_count(); ++s) {
      const auto* suite = unit->GetTestSuite(s);
      for (int t = 0; t < suite->total_test_count(); ++t) {
        if (suite->GetTestInfo(t)->should_run())
          chosen.insert(fmt::format("{}.{}", suite->name(), suite->GetTestInfo(t)->name()));
      }
    }
    for (const auto& c : plan_.cases) {
      if (chosen.count(group_of(c).name + "." + test_name(c)) > 0) selected.cases.push_back(c);
    }
    for (const auto& d : plan_.diffs) {
      if (chosen.count(group_of(d.a).name + "." + test_name(d)) > 0) selected.diffs.push_back(d);
    }
    if (selected.size() == 0) return;
    // CTest may run groups side by side: nothing is timed here.
    for (auto& c : selected.cases) c.timed = false;
    for (auto& d : selected.diffs) d.a.timed = d.b.timed = false;
    std::unique_ptr<Store> store;
    if (!database_.empty()) {
      auto opened = Store::open(database_);
      ASSERT_TRUE(opened) << to_string(opened.error());
      store = std::move(*opened);
    }
    const Runner runner{options_, providers_, text_.contracts, 1, nullptr};
    RunSession session(cli::this_run("test", "", "plumbline run", {}), runner, text_, store.get());
    const auto done = session.execute(selected, false, [] {});
    ASSERT_TRUE(done) << to_string(done.error());
    for (const auto& stored : session.outcomes())
      outcomes_.emplace(stored.outcome.suite + "/" + stored.outcome.case_id, stored);
    for (const auto& stored : session.diffs())
      diffs_.emplace(key(stored.outcome.suite, stored.outcome.case_a, stored.outcome.case_b),
                     stored);
  }

  static std::string test_name(const PlannedCase& c) { return c.case_id; }
  static std::string test_name(const PlannedDiff& d) {
    return "diff:" + d.name + ":" + d.a.case_id;
  }
  static std::string key(const std::string& suite, const std::string& a, const std::string& b) {
    return suite + "|" + a + "|" + b;
  }

  const StoredOutcome* outcome(const PlannedCase& c) const {
    const auto at = outcomes_.find(c.suite + "/" + c.case_id);
    return at == outcomes_.end() ? nullptr : &at->second;
  }
  const StoredDiff* diff(const PlannedDiff& d) const {
    const auto at = diffs_.find(key(d.suite, d.a.case_id, d.b.case_id));
    return at == diffs_.end() ? nullptr : &at->second;
  }

 private:
  ReviewedText text_;
  MeasureOptions options_;
  std::vector<ProviderInfo> providers_;
  Plan plan_;
  std::filesystem::path database_;
  std::map<std::string, StoredOutcome> outcomes_;
  std::map<std::string, StoredDiff> diffs_;
};

class Environment : public testing::Environment {
 public:
  explicit Environment(Conformance& conformance) : conformance_(conformance) {}
  void SetUp() override { conformance_.run_selected(); }

 private:
  Conformance& conformance_;
};

class CaseTest : public testing::Test {
 public:
  CaseTest(const Conformance& conformance, const PlannedCase& planned)
      : conformance_(conformance), planned_(planned) {}
  void TestBody() override {
    const auto* stored = conformance_.outcome(planned_);
    ASSERT_NE(stored, nullptr) << "not measured";
    if (stored->judgement.verdict == Verdict::unsupported) GTEST_SKIP() << stored->outcome.reason;
    if (stored->judgement.verdict == Verdict::expected_failure)
      GTEST_SKIP() << "fails as expected: " << stored->outcome.expected->issue;
    EXPECT_FALSE(is_failure(stored->judgement.verdict))
        << render_case(*stored, "plumbline run", {});
  }

 private:
  const Conformance& conformance_;
  const PlannedCase& planned_;
};

class DiffTest : public testing::Test {
 public:
  DiffTest(const Conformance& conformance, const PlannedDiff& planned)
      : conformance_(conformance), planned_(planned) {}
  void TestBody() override {
    const auto* stored = conformance_.diff(planned_);
    ASSERT_NE(stored, nullptr) << "not measured";
    EXPECT_FALSE(is_failure(stored->judgement.verdict)) << render_diff(*stored, {});
  }

 private:
  const Conformance& conformance_;
  const PlannedDiff& planned_;
};

void register_tests(const Conformance& conformance) {
  for (const auto& c : conformance.plan().cases) {
    testing::RegisterTest(
        group_of(c).name.c_str(), Conformance::test_name(c).c_str(), nullptr, nullptr, __FILE__,
        __LINE__, [&conformance, &c]() -> testing::Test* { return new CaseTest(conformance, c); });
  }
  for (const auto& d : conformance.plan().diffs) {
    testing::RegisterTest(
        group_of(d.a).name.c_str(), Conformance::test_name(d).c_str(), nullptr, nullptr, __FILE__,
        __LINE__, [&conformance, &d]() -> testing::Test* { return new DiffTest(conformance, d); });
  }
}

// Returns lines that CTest includes: one test per group. The dot in the filter "NAME.*" excludes
// groups whose names are longer.
std::string ctest_lines(const Plan& plan, const std::string& program,
                        const std::vector<std::string>& arguments) {
  std::map<std::string, Group> groups;
  for (const auto& c : plan.cases) groups.emplace(group_of(c).name, group_of(c));
  for (const auto& d : plan.diffs) groups.emplace(group_of(d.a).name, group_of(d.a));
  std::string quoted_arguments;
  for (const auto& argument : arguments)
    quoted_arguments += fmt::format(" [==[{}]==]", without(argument, '\n'));
  std::string text;
  for (const auto& [group, description] : groups) {
    std::string labels = "suite";
    for (const auto& label : description.labels) labels += ";" + label;
    text += fmt::format("add_test([==[{0}]==] [==[{1}]==]{2} [==[--gtest_filter={0}.*]==])\n",
                        group, program, quoted_arguments);
    text +=
        fmt::format("set_tests_properties([==[{}]==] PROPERTIES LABELS [==[{}]==] TIMEOUT 300)\n",
                    group, labels);
  }
  return text;
}

int main_of(int argc, char** argv) {
  const cli::CommandLine app{"A suite's cases as GoogleTest tests"};
  cli::CaseOptions cases;
  cli::ProviderOptions provider_options;
  MeasureOptions measure;
  std::filesystem::path database;
  bool ctest = false;
  cases.add_to(app);
  provider_options.add_to(app);
  app.add_option("--db", database, "Database to store into");
  app.add_flag("--ctest", ctest, "Print add_test lines");
  const auto help = app.parse(argc, argv);
  if (!help) return cli::report_errors(help.error(), 2);
  if (!help->empty()) {
    fmt::print("{}", *help);
    return 0;
  }

  auto text = provider_options.reviewed_text();
  if (!text) return cli::report_errors(text.error(), 2);
  measure.providers = provider_options.libraries();
  auto providers = discover(measure);
  if (!providers) return cli::report_errors(providers.error(), 3);
  auto suites = cases.read();
  if (!suites) return cli::report_errors(suites.error(), 2);
  auto plan = make_plan(*suites, offered_kernels(*providers), cases.filter);
  if (!plan) return cli::report_errors(plan.error(), 2);
  if (ctest) {
    std::vector<std::string> arguments = cases.suites;
    if (!cases.tier.empty()) arguments.insert(arguments.end(), {"--tier", cases.tier});
    if (!database.empty()) arguments.insert(arguments.end(), {"--db", database.string()});
    fmt::print("{}", ctest_lines(*plan, argv[0], arguments));
    return 0;
  }
  Conformance conformance(std::move(*text), measure, std::move(*providers), std::move(*plan),
                          database);
  register_tests(conformance);
  testing::AddGlobalTestEnvironment(new Environment(conformance));
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace plumbline

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return plumbline::main_of(argc, argv);
}
