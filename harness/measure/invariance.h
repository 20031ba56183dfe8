// Invariances: measures whether the same rows, asked for in other ways, get the same answer. The
// calls run through the same workers, fences and poison as any case. Needs the reference only to
// say how large a difference is; where all bits agree, nothing is computed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/late_crash.h"
#include "harness/measure/providers.h"
#include "harness/measure/variants.h"

namespace plumbline {

class Contracts;
struct InvarianceOutcome;

// "solo,split"; "all" = all of them. The error names what there is.
Result<std::vector<Invariance>> parse_invariances(std::string_view text);

// Driven by one thread; has workers of its own, so that what came before on others does not matter.
class InvarianceMeasurer {
 public:
  // All three arguments must outlive the InvarianceMeasurer.
  InvarianceMeasurer(const MeasureOptions& options, const std::vector<ProviderInfo>& providers,
                     const Contracts& contracts);
  InvarianceMeasurer(const MeasureOptions&&, const std::vector<ProviderInfo>&,
                     const Contracts&) = delete;

  // One outcome for each of `invariances`. A case that does not run gives its status to all of
  // them. A crash that a fresh process does not repeat goes to `late`.
  void measure(const PlannedCase& planned, const std::vector<Invariance>& invariances,
               const std::function<void(InvarianceOutcome)>& done,
               const std::function<void(const LateCrash&)>& late);

 private:
  struct Base;
  struct Answer;
  Worker* worker_for(const std::string& kernel, const std::string& provider_option,
                     std::string& why_not);
  Answer run(const Base& base, const VariantCall& call, Worker& worker);
  Answer run_in_its_worker(const Base& base, const VariantCall& call);
  // The same, and once more in a fresh process if it crashed in one that had served before.
  Answer run_or_blame(const Base& base, const VariantCall& call);
  // The next request to the worker `key` meets a process that has done nothing yet.
  void start_afresh(const std::string& key);
  std::optional<Base> make_base(const PlannedCase& planned, InvarianceOutcome& failed);
  InvarianceOutcome measure_one(const PlannedCase& planned, const Base& base,
                                Invariance invariance);
  // False: nothing of the call can be compared, and `outcome` says why.
  bool compare(const Base& base, const VariantCall& call, const Answer& answer,
               InvarianceOutcome& outcome);

  const MeasureOptions& options_;
  const std::vector<ProviderInfo>& providers_;
  const Contracts& contracts_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // by provider name and option
  std::map<std::string, ServedCases> served_;               // likewise
  std::function<void(const LateCrash&)> late_;
};

}  // namespace plumbline
