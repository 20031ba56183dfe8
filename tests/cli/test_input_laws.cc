// Mutants that docs/input-laws.md lists for one input distribution fail only with this distribution
// on cases/laws.toml.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

class InputLaws : public test::CommandTest {};

// Returns "law=ramp" or "v_law=band" -> mutants, from the last cell of the page's rows "|
// `law=ramp` | … | `mutant`, … |".
std::map<std::string, std::set<std::string>> claimed_mutants() {
  std::ifstream file(test::source_directory / "docs" / "input-laws.md");
  std::map<std::string, std::set<std::string>> claims;
  const std::regex row("^\\| `(v?_?law=[a-z_]+)` \\| .* \\| ([^|]*) \\|$"), name("`([a-z0-9_]+)`");
  for (std::string line; std::getline(file, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, row)) continue;
    const std::string cell = parts[2];
    auto& mutants = claims[parts[1]];
    for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at)
      mutants.insert((*at)[1]);
  }
  return claims;
}

std::string inputs_of(const std::string& problem_id) {
  std::smatch parts;
  if (std::regex_search(problem_id, parts, std::regex("/v=([a-z_]+)")))
    return "v_law=" + parts[1].str();
  if (std::regex_search(problem_id, parts, std::regex("/law=([a-z_]+)")))
    return "law=" + parts[1].str();
  return "law=normal";
}

TEST_F(InputLaws, MutantsFailOnlyUnderDocumentedLaw) {
  const auto claims = claimed_mutants();
  for (const char* law :
       {"law=negative_logits", "law=ramp", "law=extreme", "law=near_ties", "v_law=tiny_output"}) {
    ASSERT_THAT(claims, Contains(Key(law)));
    EXPECT_FALSE(claims.at(law).empty()) << law;
  }
  std::string kernels = " --kernel mutants/legal_baseline";
  for (const auto& [inputs, mutants] : claims) {
    for (const std::string& mutant : mutants) kernels += " --kernel mutants/" + mutant;
  }
  const auto library = test::build_directory / "lib" / "plumbline" / "plumbline_mutants.so";
  const auto result = plumbline("run " + suite("laws.toml") + " --provider '" + library.string() +
                                "'" + kernels + " -q --no-store --format json");
  ASSERT_EQ(result.code, 1) << result.text;

  std::map<std::string, std::set<std::string>> failing;  // kernel -> inputs
  std::set<std::string> run;
  const auto report = nlohmann::json::parse(result.text)["data"];
  for (const auto& outcome : report["outcomes"]) {
    const std::string inputs = inputs_of(outcome["problem"]);
    run.insert(inputs);
    if (outcome["verdict"] == "fail") failing[outcome["kernel"]].insert(inputs);
  }
  EXPECT_THAT(failing["mutants/legal_baseline"], IsEmpty());
  for (const auto& [inputs, mutants] : claims) {
    EXPECT_THAT(run, Contains(inputs)) << "the page has a law that the suite lacks";
    for (const std::string& mutant : mutants)
      EXPECT_THAT(failing["mutants/" + mutant], ElementsAre(inputs)) << mutant;
  }
  for (const std::string& inputs : run)
    EXPECT_THAT(claims, Contains(Key(inputs))) << "the suite has a law that the page lacks";
}

}  // namespace
}  // namespace plumbline
