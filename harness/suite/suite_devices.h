// The devices and tensor-core modes of a suite's group. `devices` lists devices; `arch` is a
// shorter spelling of emulated ones.
#pragma once

#include <string>
#include <vector>

#include "harness/base/config.h"

namespace plumbline {

// Reads a group's devices = ["cpu", …], or arch = ["sm_80", …] for ["emulated:sm_80", …]. Returns
// ["cpu"] without either.
std::vector<std::string> read_devices(const ConfigNode& group, Errors& errors);
// Reads a diff side's device = "cpu" or arch = "sm_80". Returns "cpu" without either.
std::string read_device(const ConfigNode& side, Errors& errors);

// Reads tensor_cores = ["on", "off"] of a group, or tensor_cores = "on" of a diff's side: words
// among on, off, none; empty = any.
std::vector<std::string> read_tensor_cores(const ConfigNode& group, Errors& errors);
std::vector<std::string> read_side_tensor_cores(const ConfigNode& side, Errors& errors);

}  // namespace plumbline
