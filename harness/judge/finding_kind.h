// The kinds of findings, with their stored names.
#pragma once

#include "harness/base/enumeration.h"

namespace plumbline {

enum class FindingKind {
  // Statistics with a limit: Statistic::name.
  peak,
  beyond_output,
  rms,
  lse,
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
  // Invariances, beside run_to_run and lse.
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
  other,  // stored by another version of plumbline
};

// As findings are stored and reported.
template <>
inline constexpr std::array<std::string_view, 46> names_of<FindingKind>{"peak",
                                                                        "beyond output rounding",
                                                                        "rms",
                                                                        "lse",
                                                                        "rows without a reference",
                                                                        "nan",
                                                                        "inf",
                                                                        "unwritten",
                                                                        "out_of_range",
                                                                        "padded_rows",
                                                                        "empty_rows",
                                                                        "inexact",
                                                                        "fence",
                                                                        "status",
                                                                        "support",
                                                                        "spec",
                                                                        "contract",
                                                                        "padding_policy",
                                                                        "elements",
                                                                        "promise",
                                                                        "run_to_run",
                                                                        "physics",
                                                                        "digest",
                                                                        "drift",
                                                                        "drift from the pin",
                                                                        "time",
                                                                        "time from the pin",
                                                                        "expected_failure",
                                                                        "difference",
                                                                        "bitwise",
                                                                        "expect",
                                                                        "solo",
                                                                        "position",
                                                                        "neighbour",
                                                                        "chunked_prefill",
                                                                        "prefill_decode",
                                                                        "split",
                                                                        "page_order",
                                                                        "page_size",
                                                                        "layout",
                                                                        "padding",
                                                                        "workspace",
                                                                        "capacity",
                                                                        "strides",
                                                                        "two_scales",
                                                                        "other"};

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
