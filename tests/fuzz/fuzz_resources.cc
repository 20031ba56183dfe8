// Fuzz target: approved figures and launch facts are valid once read, or are refused with lines.
#include "harness/resources/approved.h"
#include "harness/resources/launch_facts.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void resources(std::string_view input) {
  if (const auto read = parse_approved(input, "input")) {
    require(!read->source.empty() && !read->toolkit.empty() && !read->accepted.why.empty(),
            "what is approved says by whom and why");
    for (const ApprovedResources& row : read->kernels) {
      require(!row.kernel.empty() && arch_number(row.arch) > 0 && row.shared_bytes >= 0,
              "figures belong to a kernel and an architecture");
    }
  } else {
    require_helpful(read.error(), "input", Lines::known);
  }
  if (const auto read = parse_launch_facts(input, "input")) {
    for (const LaunchFacts& facts : *read) {
      require(facts.threads >= 1 && facts.dynamic_shared_bytes >= 0, "a launch has threads");
      if (facts.tiles)
        require(predict(*facts.tiles, facts.threads).registers > 0, "tiles need registers");
    }
  } else {
    require_helpful(read.error(), "input", Lines::known);
  }
}

}  // namespace plumbline::fuzz
