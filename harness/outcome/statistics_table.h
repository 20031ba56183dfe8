// The table of the statistics of an output's error: names, members, limits and columns. All code
// that needs a list of statistics reads this one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "harness/outcome/error_statistics.h"
#include "harness/reference/rms_limit.h"

namespace plumbline {

// The largest value that passes, for each statistic with a limit. Defaults: the strict spec, up to
// 1e7 elements (docs/judging.md, "Statistics and limits").
struct Limits {
  // Rows without a reference are compared with a coarser sigma.
  static constexpr double elsewhere_in_peaks = 3;
  double peak = 6.5;
  double beyond_output = 6.5;
  double rms = rms_limit;
#define PLUMBLINE_ROW(name, words, other, limit, ...) double name = limit;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  double suite = 3.5;  // shrink and temperature, summed over a suite
  bool suite_judged = true;
  double elsewhere = elsewhere_in_peaks * 6.5;
  bool operator==(const Limits&) const = default;
};

// The kind of element that a statistic is the maximum of.
enum class WorstAt { nowhere, output, row_output, elsewhere };

struct Statistic {
  const char* column;  // in the database, and key in JSON: "beyond_output"
  double ErrorStatistics::*value;
  // True if it was measured; nullptr: it is measured for every output.
  bool ErrorStatistics::*measured = nullptr;
  // From here on, members other than `of` are set only for statistics that decide.
  double Limits::*limit = nullptr;   // nullptr: recorded only
  std::string_view name = {};        // in findings and reports: "beyond output rounding"
  std::string_view key = {};         // key of the limit in a contract: "beyond_output"
  std::string_view heading = {};     // heading of a table's column: "beyond output"
  const char* limit_column = "";     // in the database: "limit_beyond_output"
  bool limit_grows = false;          // with the number of compared elements, as for a maximum
  WorstAt worst = WorstAt::nowhere;  // the element of the maximum
  std::string_view absent = {};      // the note if it was not measured
  std::optional<RowOutput> of = {};  // its row output; nullopt: `out`
  // True if the outcome table has a column for it. Further row outputs have rows in outcome_output.
  constexpr bool is_column() const { return !of || *of == RowOutput::lse; }
};

// All statistics, in the order in which they are stored and reported.
inline constexpr std::array error_statistics{
    Statistic{.column = "peak",
              .value = &ErrorStatistics::peak,
              .limit = &Limits::peak,
              .name = "peak",
              .key = "peak",
              .heading = "peak",
              .limit_column = "limit_peak",
              .limit_grows = true,
              .worst = WorstAt::output},
    Statistic{.column = "beyond_output",
              .value = &ErrorStatistics::beyond_output,
              .limit = &Limits::beyond_output,
              .name = "beyond output rounding",
              .key = "beyond_output",
              .heading = "beyond output",
              .limit_column = "limit_beyond_output",
              .limit_grows = true,
              .worst = WorstAt::output},
    Statistic{.column = "rms",
              .value = &ErrorStatistics::rms,
              .limit = &Limits::rms,
              .name = "rms",
              .key = "rms",
              .heading = "rms",
              .limit_column = "limit_rms"},
    Statistic{"bound", &ErrorStatistics::bound},
    Statistic{"max_abs", &ErrorStatistics::max_abs},
    Statistic{"max_rel", &ErrorStatistics::max_rel},
    Statistic{"mean_abs", &ErrorStatistics::mean_abs},
    Statistic{"max_ulp", &ErrorStatistics::max_ulp},
    Statistic{"outside_allclose_1e3", &ErrorStatistics::outside_allclose_1e3},
    Statistic{"outside_allclose_1e2", &ErrorStatistics::outside_allclose_1e2},
#define PLUMBLINE_ROW(output, words, other, default_limit, of_merges, note) \
  Statistic{.column = #output "_z",                                         \
            .value = &ErrorStatistics::output##_z,                          \
            .measured = &ErrorStatistics::has_##output,                     \
            .limit = &Limits::output,                                       \
            .name = #output,                                                \
            .key = #output,                                                 \
            .heading = #output,                                             \
            .limit_column = "limit_" #output,                               \
            .worst = WorstAt::row_output,                                   \
            .absent = (note),                                               \
            .of = RowOutput::output},
    PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
        Statistic{.column = "elsewhere",
                  .value = &ErrorStatistics::elsewhere,
                  .measured = &ErrorStatistics::has_elsewhere,
                  .limit = &Limits::elsewhere,
                  .name = "rows without a reference",
                  .key = "elsewhere",
                  .heading = "elsewhere",
                  .limit_column = "limit_elsewhere",
                  .worst = WorstAt::elsewhere},
#define PLUMBLINE_ROW(output, ...)                       \
  Statistic{.column = #output "_max_abs",                \
            .value = &ErrorStatistics::output##_max_abs, \
            .measured = &ErrorStatistics::has_##output,  \
            .of = RowOutput::output},
    PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
        Statistic{"shrink_z", &ErrorStatistics::shrink_z, &ErrorStatistics::has_suite_scores},
    Statistic{"temperature_z", &ErrorStatistics::temperature_z, &ErrorStatistics::has_suite_scores},
};

inline constexpr std::size_t deciding_count = static_cast<std::size_t>(
    std::count_if(error_statistics.begin(), error_statistics.end(),
                  [](const Statistic& statistic) { return statistic.limit != nullptr; }));

// The statistics with a limit, in the same order.
inline constexpr auto deciding_statistics = [] {
  std::array<Statistic, deciding_count> result{};
  std::copy_if(error_statistics.begin(), error_statistics.end(), result.begin(),
               [](const Statistic& statistic) { return statistic.limit != nullptr; });
  return result;
}();

inline bool is_measured(const Statistic& statistic, const ErrorStatistics& errors) {
  return statistic.measured == nullptr || errors.*statistic.measured;
}

// Returns the deciding statistic with that name, or nullptr.
inline const Statistic* find_statistic(std::string_view name) {
  const auto found =
      std::find_if(deciding_statistics.begin(), deciding_statistics.end(),
                   [&](const Statistic& statistic) { return statistic.name == name; });
  return found == deciding_statistics.end() ? nullptr : &*found;
}

// The members of ErrorStatistics and Limits that belong to a row output.
struct RowStatistics {
  bool ErrorStatistics::*measured;
  double ErrorStatistics::*z;
  double ErrorStatistics::*max_abs;
  double Limits::*limit;
};
#define PLUMBLINE_ROW(output, ...)                                            \
  RowStatistics{&ErrorStatistics::has_##output, &ErrorStatistics::output##_z, \
                &ErrorStatistics::output##_max_abs, &Limits::output},
inline constexpr PerRowOutput<RowStatistics> row_statistics{{PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)}};
#undef PLUMBLINE_ROW

// One T for each deciding statistic.
template <class T>
class PerStatistic {
 public:
  T& operator[](const Statistic& statistic) { return values_[index(statistic)]; }
  const T& operator[](const Statistic& statistic) const { return values_[index(statistic)]; }
  // Access by limit, for one given statistic: `worst[&Limits::peak]`.
  T& operator[](double Limits::*limit) { return values_[index(limit)]; }
  const T& operator[](double Limits::*limit) const { return values_[index(limit)]; }

 private:
  static std::size_t index(const Statistic& statistic) { return index(statistic.limit); }
  static std::size_t index(double Limits::*limit) {
    std::size_t i = 0;
    while (deciding_statistics.at(i).limit != limit) ++i;
    return i;
  }

  std::array<T, deciding_count> values_{};
};

}  // namespace plumbline
