// What must not matter to a row's result, and which promise speaks of it.
#pragma once

#include <array>

#include "harness/base/enumeration.h"
#include "harness/provider/promises.h"

namespace plumbline {

// What must not matter to a row's result. docs/judging-comparisons.md, "Invariances", says what
// each transforms.
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
  two_scales
};

// Which of the ABI's promises speaks of it.
inline Promise promise_of(const Promises& promises, Invariance invariance) {
  static constexpr std::array<Promise Promises::*, names_of<Invariance>.size()> fields{
      &Promises::run_to_run, &Promises::batch,          &Promises::batch,
      &Promises::batch,      &Promises::prefill_decode, &Promises::prefill_decode,
      &Promises::split,      &Promises::page,           &Promises::page,
      &Promises::layout,     &Promises::run_to_run,     &Promises::run_to_run,
      &Promises::layout,     &Promises::layout,         &Promises::lse,
      &Promises::run_to_run};
  return promises.*fields[static_cast<std::size_t>(invariance)];
}

}  // namespace plumbline
