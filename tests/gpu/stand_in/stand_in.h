// The provider "cuda" without a GPU: our kernels on the emulator, behind a modelled device. The
// emulator is that of sm_90; memory, streams and events are those of device.h. Everything that
// plumbline does with a GPU is done with it, and the bits are those of emulated:sm_90.
//
// It is built as <build>/tests/gpu/stand_in/lib/plumbline/plumbline_cuda.so and is never installed:
//
//   plumbline run cases/pr.toml --device cuda:0
//     --provider <build>/tests/gpu/stand_in/lib/plumbline/plumbline_cuda.so
//
// or a copy of it in place of lib/plumbline/plumbline_cuda.so of a build or a bundle. Its one
// device is cuda:0, arch sm_90, model "Stand-in GPU". Times are those of the emulator. Options
// stand behind the path as those of the kernels do, several with commas: `--provider
// PATH:stand_in=default_stream`.
//
//   stand_in=default_stream    planted bug: every kernel is launched on the default stream
//   stand_in=merge_on_default  planted bug: the kernel that merges splits of the keys is
//   stand_in=illegal_access    planted bug: kernels read memory that is not the device's
//   stand_in=waits             kernels wait for their stream before run returns, which they should
//                              leave to plumbline
//   stand_in=plans_on_stream   prepare enqueues work on the stream that it is given, and run fails
//                              where that is not done or where it gets another stream
//   stand_in=table_1           its memory table is that of the first release
//   stand_in=no_driver         as where the CUDA runtime finds no driver
//   stand_in=busy              as where another process has the GPU for itself: no memory can be
//                              allocated
//   stand_in_model=NAME        the GPU is another model
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
// Takes its own options out of `options`; the rest is for the kernels.
std::string take_settings(std::string_view options);

Device& device();
const plumbline_device_memory* memory_table();
// "cudaErrorInvalidValue: invalid argument".
std::string in_words(std::int32_t code);

}  // namespace plumbline::stand_in
