// The provider "cuda" without a GPU: our kernels run on the emulator of sm_90, with the memory,
// streams and events of device.h. plumbline uses it exactly like a GPU, and the bits are those of
// emulated:sm_90.
//
// Built as <build>/tests/gpu/stand_in/lib/plumbline/plumbline_cuda.so and never installed:
//
//   plumbline run cases/pr.toml --device cuda:0
//     --provider <build>/tests/gpu/stand_in/lib/plumbline/plumbline_cuda.so
//
// A copy can also replace lib/plumbline/plumbline_cuda.so of a build or a bundle. Its only device
// is cuda:0, arch sm_90, model "Stand-in GPU". Times are those of the emulator. Options follow the
// path, like those of the kernels, separated by commas: `--provider PATH:stand_in=default_stream`.
//
//   stand_in=default_stream    planted bug: every kernel is launched on the default stream
//   stand_in=merge_on_default  planted bug: only the merge of splits is launched there
//   stand_in=illegal_access    planted bug: kernels read memory that is not the device's
//   stand_in=waits             kernels wait for their stream before run returns, although plumbline
//                              does that
//   stand_in=plans_on_stream   prepare enqueues work on its stream; run fails if that work is not
//                              done or if run gets another stream
//   stand_in=table_1           the memory table is that of the first release
//   stand_in=no_driver         the CUDA runtime finds no driver
//   stand_in=busy              another process uses the GPU exclusively: no memory can be allocated
//   stand_in_model=NAME        the model of the GPU
#pragma once

#include <string>
#include <string_view>

#include "harness/provider/plumbline_provider.h"
#include "tests/gpu/stand_in/device.h"

namespace plumbline::stand_in {

struct Settings {
  enum class Wrong {
    nothing,
    default_stream,
    merge_on_default,
    illegal_access,
    waits,
    plans_on_stream
  } wrong = Wrong::nothing;
  bool first_table = false, no_driver = false, busy = false;
  std::string model = "Stand-in GPU";
};
Settings& settings();
// Removes its own options from `options` and returns the rest for the kernels.
std::string take_settings(std::string_view options);

Device& device();
const plumbline_device_memory* memory_table();
// Returns "cudaErrorInvalidValue: invalid argument".
std::string in_words(std::int32_t code);

}  // namespace plumbline::stand_in
