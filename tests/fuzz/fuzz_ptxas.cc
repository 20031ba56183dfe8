// Fuzz target: an accepted ptxas report has a header, kernels and no negative figure.
#include "harness/resources/ptxas_report.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void ptxas(std::string_view input) {
  const auto read = parse_ptxas_report(input, "input");
  // a missing header has no line
  if (!read) return require_helpful(read.error(), "input", Lines::none);
  require(!read->source.empty() && !read->toolkit.empty() && !read->kernels.empty(),
          "a report has its header and its kernels");
  for (const KernelUsage& usage : read->kernels) {
    require(!usage.kernel.empty() && arch_number(usage.arch) > 0,
            "figures belong to a kernel and an architecture");
    require(usage.registers >= -1 && usage.stack_bytes >= 0 && usage.spill_store_bytes >= 0 &&
                usage.shared_bytes >= 0,
            "figures are not negative");
  }
}

}  // namespace plumbline::fuzz
