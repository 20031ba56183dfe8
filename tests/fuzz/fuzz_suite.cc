// Fuzz target: every case of an accepted suite is valid and has an id that parses back.
#include "harness/suite/suite.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {
namespace {

void require_case(const SuiteCase& c, const std::filesystem::path& path) {
  require(!c.suite.empty() && !c.group.empty() && !c.reason.empty() && !c.kernel_pattern.empty(),
          "a case has its names");
  require(c.file == path.string() && c.line > 0, "a case knows where its group stands");
  require(validate(c.problem).empty(), "a case that was read is valid");
  const Case asked{c.kernel_pattern, c.device, c.problem};
  const auto back = parse_case_id(case_id(asked));
  require(back.has_value() && *back == asked, "the id of a case gives the case: " + case_id(asked));
}

}  // namespace

void suite(std::string_view input) {
  const std::filesystem::path path = input_file(input);
  // the folder in which names of recorded inputs are looked up
  std::filesystem::current_path(path.parent_path());
  const auto read = read_suite(path);
  if (!read) {
    require(!read.error().empty(), "a refusal names an error");
    for (const Error& error : read.error()) {
      // an included file that does not exist
      const bool unreadable = error.file != path.string();
      require_helpful({error}, error.file, unreadable ? Lines::none : Lines::known);
    }
    return;
  }
  require(!read->name.empty() && !read->files.empty(), "a suite has its names");
  for (const SuiteCase& c : read->cases) require_case(c, path);
  for (const SuiteDiff& diff : read->diffs) require_case(diff.a, path), require_case(diff.b, path);
}

}  // namespace plumbline::fuzz
