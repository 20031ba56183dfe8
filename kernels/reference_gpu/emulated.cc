// plumbline_reference_emulated.so: the GPU reference on the emulator, to test its kernels without a
// GPU.
#include "kernels/reference_gpu/emulated_machine.h"

namespace plumbline::reference_gpu {
namespace {

int32_t device_count() { return 1; }
const char* device_name() { return "emulated sm_90"; }

}  // namespace
}  // namespace plumbline::reference_gpu

extern "C" __attribute__((visibility("default"))) const plumbline_reference_library*
plumbline_reference() {
  using namespace plumbline::reference_gpu;
  return library_of<EmulatedMachine>(device_count, device_name);
}
