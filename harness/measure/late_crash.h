// A crash that does not belong to the case in whose call it was seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/provider/status.h"
#include "harness/suite/plan.h"

namespace plumbline {

class Worker;

struct ServedCase {
  std::string suite, case_id;
  bool operator==(const ServedCase&) const = default;
};

// A process of a provider crashed between two calls, or in the call of a case that passes in a
// fresh process (or inputs were written to there): something that an earlier call left running did
// it.
struct LateCrash {
  std::string what;     // "SIGSEGV in run: write 23552 bytes before v"
  std::string seen_in;  // case id; "" where no call was under way
  // In the order in which they ran: the one that did it again when it was run alone, else all that
  // the process had served.
  std::vector<ServedCase> suspects;
  bool is_proven = false;  // the one suspect did it again

  // Why a suspect fails.
  std::string reason() const;
};

// What the process of one worker has served since its start.
class ServedCases {
 public:
  // Call it after a case. A process that answered and has ended since counts as the one that
  // served: its end is asked for next.
  void add(const Worker& worker, Status status, const PlannedCase& planned);

  std::uint64_t process() const { return process_; }
  bool empty() const { return names_.empty(); }
  const std::vector<ServedCase>& names() const { return names_; }
  // The last few of them.
  const std::vector<PlannedCase>& recent() const { return recent_; }

 private:
  std::uint64_t process_ = 0;
  std::vector<ServedCase> names_;
  std::vector<PlannedCase> recent_;
};

}  // namespace plumbline
