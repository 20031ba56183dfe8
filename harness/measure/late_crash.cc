// Records the cases that a process has served, and words the reason why a suspect fails.
#include "harness/measure/late_crash.h"

#include <fmt/format.h>

#include "harness/provider/client/worker.h"

namespace plumbline {

namespace {
// Cases that are rerun one by one after a late crash; each takes a fraction of a second.
constexpr std::size_t max_recent_cases = 8;
}  // namespace

std::string LateCrash::reason() const {
  if (is_proven)
    return fmt::format("something that the call left running did this after the call: {}", what);
  const std::string where =
      seen_in.empty() ? "" : fmt::format(", seen in {}, which passes in a fresh process", seen_in);
  const std::string others = suspects.size() > 1
                                 ? fmt::format("this or another of the {} cases", suspects.size())
                                 : "the only case";
  return fmt::format("{}{}: {} that the process had served left something running", what, where,
                     others);
}

void ServedCases::add(const Worker& worker, Status status, const PlannedCase& planned) {
  const std::uint64_t process = status == Status::ok ? worker.processes() : worker.process();
  if (process != process_ || process == 0) *this = {};
  process_ = process;
  if (process == 0) return;
  const ServedCase here{planned.suite, planned.case_id};
  if (!names_.empty() && names_.back() == here) return;
  names_.push_back(here);
  recent_.push_back(planned);
  if (recent_.size() > max_recent_cases) recent_.erase(recent_.begin());
}

}  // namespace plumbline
