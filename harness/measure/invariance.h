// Measures if a case's rows keep their bits in a transformed call (an invariance). Calls run in a
// worker with guard bytes and poison, like any case. The reference is computed only if bits differ,
// to measure the difference.
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

// Parses "solo,split" or "all". The error lists the known names.
Result<std::vector<Invariance>> parse_invariances(std::string_view text);

// Measures the invariances of a case. Used by one thread. Owns its workers, so cases that ran on
// other workers cannot affect it.
class InvarianceMeasurer {
 public:
  // All three arguments must outlive the InvarianceMeasurer.
  InvarianceMeasurer(const MeasureOptions& options, const std::vector<ProviderInfo>& providers,
                     const Contracts& contracts);
  InvarianceMeasurer(const MeasureOptions&&, const std::vector<ProviderInfo>&,
                     const Contracts&) = delete;

  // Calls `done` with one outcome for each of `invariances`. If the case itself does not run, all
  // outcomes get the status of its call. A crash that does not repeat in a fresh process goes to
  // `late`.
  void measure(const PlannedCase& planned, const std::vector<Invariance>& invariances,
               const std::function<void(InvarianceOutcome)>& done,
               const std::function<void(const LateCrash&)>& late);

 private:
  struct Base;
  struct Answer;
  Worker* worker_for(const std::string& kernel, const std::string& provider_option,
                     std::string& why_not);
  Answer run(const Base& base, const VariantCall& call, Worker& worker);
  Answer run_in_worker(const Base& base, const VariantCall& call);
  // Runs the call. If it crashes or changes inputs in a process that had served earlier calls, runs
  // it again in a fresh process.
  Answer run_and_confirm_crash(const Base& base, const VariantCall& call);
  // Drops the worker `key`, so that the next request starts a fresh process.
  void restart_worker(const std::string& key);
  std::optional<Base> make_base(const PlannedCase& planned, InvarianceOutcome& failed);
  InvarianceOutcome measure_one(const PlannedCase& planned, const Base& base,
                                Invariance invariance);
  // Returns false if the call cannot be compared; `outcome` then holds the reason.
  bool compare(const Base& base, const VariantCall& call, const Answer& answer,
               InvarianceOutcome& outcome);

  const MeasureOptions& options_;
  const std::vector<ProviderInfo>& providers_;
  const Contracts& contracts_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // by provider name and option
  std::map<std::string, ServedCases> served_;               // by the same key
  std::function<void(const LateCrash&)> late_;
};

}  // namespace plumbline
