// Changes of a call that must not change a row's result, and the promise that covers each.
#pragma once

#include <array>

#include "harness/base/enumeration.h"
#include "harness/provider/promises.h"

namespace plumbline {

// A change of the call that must not change a row's result. docs/judging-comparisons.md,
// "Invariances", describes each transformation.
enum class Invariance {
  run_to_run,
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
  lse,
  hidden_keys,
  two_scales  // last, because a kernel may keep state of its first call
};

// Returns the ABI's promise that covers an invariance.
inline Promise promise_of(const Promises& promises, Invariance invariance) {
  static constexpr std::array<Promise Promises::*, names_of<Invariance>.size()> fields{
      &Promises::run_to_run,
      &Promises::batch,
      &Promises::batch,
      &Promises::batch,
      &Promises::prefill_decode,
      &Promises::prefill_decode,
      &Promises::split,
      &Promises::page,
      &Promises::page,
      &Promises::layout,
      &Promises::run_to_run,
      &Promises::run_to_run,
      &Promises::layout,
      &Promises::layout,
      &Promises::lse,
      &Promises::survives_hidden_nan,
      &Promises::run_to_run};
  return promises.*fields[static_cast<std::size_t>(invariance)];
}

}  // namespace plumbline
