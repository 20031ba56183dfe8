// The past of a case on a machine class: baseline, pin, acknowledgement and earlier times.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/keys.h"
#include "harness/store/store.h"

namespace plumbline {

// The stored keys of a series.
struct SeriesKeys {
  Key machine, series;
  std::string provider_options;
};

// Queries about series, prepared once because a run needs them for each case. May throw SQLite's
// exceptions.
class Series {
 public:
  Series(SQLite::Database& db, std::filesystem::path path);

  // Implementations of Store::baseline, Store::time_history, Store::past and Store::pasts.
  Result<std::optional<Baseline>> baseline(const SeriesName& series, const std::string& before_run);
  Result<TimeHistory> times(const SeriesName& series, const std::string& before_run);
  Result<Past> past(const SeriesName& series, const std::string& before_run, bool timed);
  Result<std::vector<Past>> pasts(const std::vector<PastQuery>& asked,
                                  const std::string& before_run);

 private:
  // Kinds of decisions that the database holds. Others need not be searched in each series.
  struct DecisionKinds {
    bool pins = true, acknowledgements = true, accepts = true;
  };

  Result<std::string> order_before(const std::string& before_run);
  // Returns a JSON list of the run_orders of runs whose outcomes cannot be baselines.
  std::string uncounted_runs();
  static std::optional<Baseline> first_of(SQLite::Statement& bound);
  std::optional<Baseline> baseline_of(const SeriesKeys& series, const std::string& order,
                                      const std::string& uncounted);
  TimeHistory times_before(const SeriesKeys& series, const std::string& order, std::size_t runs,
                           const std::string& uncounted);
  std::optional<Acknowledgement> acknowledgement(const SeriesKeys& series, const std::string& order,
                                                 const std::string& after);
  Past past_of(const SeriesKeys& series, const std::string& order, bool timed,
               const DecisionKinds& decision_kinds, const std::string& uncounted);

  std::filesystem::path path_;
  std::string cached_run_, cached_order_;  // cached for the last run; its order never changes
  SQLite::Database& db_;
  SQLite::Statement find_order_, find_baseline_, find_pin_, find_times_, find_refusal_,
      find_acknowledgement_, find_uncounted_;
};

}  // namespace plumbline
