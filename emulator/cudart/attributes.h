// cudaDeviceGetAttribute of the emulated devices.
#pragma once

#include <optional>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::cudart {

// By CUDA's number (cudaDeviceAttr); empty: not known here.
std::optional<int> device_attribute(emulator::Arch, int attribute);

}  // namespace plumbline::cudart
