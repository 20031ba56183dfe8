// A crash that an earlier case caused, seen in the call of a later case or between calls.
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

// A late crash: work that an earlier call left running crashed the process or overwrote its inputs.
// This shows between two calls, or in a call of a case that passes in a fresh process.
struct LateCrash {
  std::string what;     // "SIGSEGV in run: write 23552 bytes before v"
  std::string seen_in;  // case id; "" if no call was running
  // The case that crashed again when it ran alone, otherwise all cases that the process had served,
  // in the order in which they ran.
  std::vector<ServedCase> suspects;
  bool is_proven = false;  // the only suspect crashed again

  // Returns the reason for a suspect's failure.
  std::string reason() const;
};

// The cases that a worker's process has served since its start.
class ServedCases {
 public:
  // Call this after a case. If a process answered and has died since, the case still counts for
  // that process: the caller checks next how it ended.
  void add(const Worker& worker, Status status, const PlannedCase& planned);

  std::uint64_t process() const { return process_; }
  bool empty() const { return names_.empty(); }
  const std::vector<ServedCase>& names() const { return names_; }
  // Returns the last few served cases.
  const std::vector<PlannedCase>& recent() const { return recent_; }

 private:
  std::uint64_t process_ = 0;
  std::vector<ServedCase> names_;
  std::vector<PlannedCase> recent_;
};

}  // namespace plumbline
