// cudaDeviceGetAttribute of the emulated devices.
#pragma once

#include <optional>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::cudart {

// Returns the attribute with CUDA's number (cudaDeviceAttr); empty if it is unknown here.
std::optional<int> device_attribute(emulator::Arch, int attribute);

}  // namespace plumbline::cudart
