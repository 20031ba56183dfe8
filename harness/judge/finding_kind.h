// The kinds of findings, with their stored names.
#pragma once

#include <array>

#include "harness/base/enumeration.h"
#include "harness/problem/outputs.h"

namespace plumbline {

enum class FindingKind {
  // Statistics with a limit: Statistic::name.
  peak,
  beyond_output,
  rms,
#define PLUMBLINE_ROW(output, ...) output,
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
      elsewhere,
  // Faults: FaultKind::name.
  nan,
  inf,
  unwritten,
  out_of_range,
  padded_rows,
  empty_rows,
  inexact,
  fence,
  // Cases.
  status,
  support,
  spec,
  contract,
  padding_policy,
  elements,
  promise,
  run_to_run,
  physics,
  digest,
  drift,
  drift_from_pin,
  time,
  time_from_pin,
  expected_failure,
  // Diffs.
  difference,
  bitwise,
  expect,
  // Invariances other than run_to_run and lse.
  solo,
  position,
  neighbour,
  chunked_prefill,
  prefill_decode,
  split,
  page_order,
  page_size,
  layout,
  padding,
  workspace,
  capacity,
  strides,
  two_scales,
  hidden_keys,
  other,  // stored by another version of plumbline
};

// The names by which findings are stored and reported.
// clang-format off
template <>
inline constexpr auto names_of<FindingKind> = std::to_array<std::string_view>({
    "peak", "beyond output rounding", "rms",
#define PLUMBLINE_ROW(output, ...) #output,
    PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
    "rows without a reference", "nan", "inf", "unwritten", "out_of_range", "padded_rows",
    "empty_rows", "inexact", "fence", "status", "support", "spec", "contract", "padding_policy",
    "elements", "promise", "run_to_run", "physics", "digest", "drift", "drift from the pin",
    "time", "time from the pin", "expected_failure", "difference", "bitwise", "expect", "solo",
    "position", "neighbour", "chunked_prefill", "prefill_decode", "split", "page_order",
    "page_size", "layout", "padding", "workspace", "capacity", "strides", "two_scales",
    "hidden_keys", "other",});
// clang-format on

constexpr FindingKind finding_kind(std::string_view name) {
  return parse<FindingKind>(name).value_or(FindingKind::other);
}
constexpr bool is_timing_finding(FindingKind kind) {
  return kind == FindingKind::time || kind == FindingKind::time_from_pin;
}
constexpr bool is_drift_finding(FindingKind kind) {
  return kind == FindingKind::drift || kind == FindingKind::drift_from_pin;
}

}  // namespace plumbline
