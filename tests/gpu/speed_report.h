// What was measured of kernels on a GPU, as a report and as figures to keep (docs/gpu.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/provider/plumbline_provider.h"
#include "tests/gpu/device_speed.h"

namespace plumbline::testing {

struct MeasuredKernel {
  std::string shape;    // s4_decode, prefill, prefill_causal
  std::string kernel;   // "prefill_mma"
  std::string options;  // of the provider: "tile=64x32", or ""
  std::string dtype;
  double work = 0;    // bytes or operations of a run
  std::string limit;  // name of the rate that its own is a share of
  Times times;
  plumbline_description description{};
  std::string error;  // empty: measured
  bool unsupported = false;
};

struct SpeedReport {
  // "copy": bytes per second; "mma_f16" …: operations per second
  std::vector<std::pair<std::string, Rate>> limits;
  std::vector<MeasuredKernel> kernels;
};

// Work per second, and its share of the limit (NaN where that was not measured).
double rate_of(const MeasuredKernel& kernel);
double share_of(const SpeedReport& report, const MeasuredKernel& kernel);

std::string markdown(const SpeedReport& report);
// [limits], [s4], and one [[kernel]] each.
std::string toml(const SpeedReport& report);
// Limits and kernels that failed, and S4's two decode kernels where they were not measured. Kernels
// that do not take a shape have not failed.
std::vector<std::string> failed(const SpeedReport& report);

}  // namespace plumbline::testing
