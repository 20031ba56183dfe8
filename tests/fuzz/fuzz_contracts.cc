// Fuzz target: contracts and support tables are usable once read, or refused with lines.
#include "harness/contract/contract.h"
#include "harness/contract/support.h"
#include "harness/problem/problem.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void contracts(std::string_view input) {
  const std::filesystem::path path = input_file(input);
  if (const auto read = Contracts::read(path)) {
    for (const Contract& contract : read->contracts) {
      require(!contract.kernels.empty() && !contract.reason.empty() && contract.line > 0,
              "a contract has its kernels and its reason");
      const RunTarget place{contract.devices.empty() ? "cpu" : contract.devices.front(),
                            contract.archs.empty() ? "" : contract.archs.front()};
      const RoundingSpec spec = read->pinned_spec(contract.kernels.front(), Problem{}, place);
      const auto back = parse_spec_text(spec_text(spec));
      require(back.has_value() && *back == spec, "a pinned spec has a text");
      require(read->limits(contract.kernels.front(), Problem{}, 1, place).peak > 0,
              "limits are positive");
    }
  } else {
    require_helpful(read.error(), path.string(), Lines::known);
  }
  if (const auto read = SupportTable::read(path)) {
    for (const SupportTable::Entry& entry : read->entries) {
      require(!entry.kernels.empty() && !entry.reason.empty(),
              "an entry has its kernel and its reason");
      read->unsupported(entry.kernels.front(), Problem{});
    }
  } else {
    require_helpful(read.error(), path.string(), Lines::known);
  }
}

}  // namespace plumbline::fuzz
