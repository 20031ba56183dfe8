// A report of measured kernels on a GPU, and the figures to keep (evidence/gpu.md).
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
  std::string options;  // provider options: "tile=64x32", or ""
  std::string dtype;
  double work = 0;    // bytes or operations per run
  std::string limit;  // name of the limiting rate
  Times times;
  plumbline_description description{};
  std::string error;  // empty on success
  bool unsupported = false;
};

struct SpeedReport {
  // "copy": bytes per second; "mma_f16" …: operations per second
  std::vector<std::pair<std::string, Rate>> limits;
  std::vector<MeasuredKernel> kernels;
};

// Work per second, and its share of the limit (NaN if the limit was not measured).
double rate_of(const MeasuredKernel& kernel);
double share_of(const SpeedReport& report, const MeasuredKernel& kernel);

std::string markdown(const SpeedReport& report);
// Returns [limits], [s4] and a [[kernel]] for each kernel.
std::string toml(const SpeedReport& report);
// Returns the limits and kernels that failed, and S4's two decode kernels if they were not
// measured. Kernels that do not support a shape have not failed.
std::vector<std::string> failed(const SpeedReport& report);

}  // namespace plumbline::testing
