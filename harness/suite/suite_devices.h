// Where a group of a suite runs, and with which tensor-core modes. `devices` names the devices;
// `arch` is a shorter spelling of emulated ones.
#pragma once

#include <string>
#include <vector>

#include "harness/base/config.h"

namespace plumbline {

// Of a group: devices = ["cpu", …], or arch = ["sm_80", …] for ["emulated:sm_80", …]; ["cpu"] where
// there is neither.
std::vector<std::string> read_devices(const ConfigNode& group, Errors& errors);
// Of a diff's side: device = "cpu" or arch = "sm_80"; "cpu" where there is neither.
std::string read_device(const ConfigNode& side, Errors& errors);

// Of a group tensor_cores = ["on", "off"], of a diff's side tensor_cores = "on": words among on,
// off, none; empty = any.
std::vector<std::string> read_tensor_cores(const ConfigNode& group, Errors& errors);
std::vector<std::string> read_side_tensor_cores(const ConfigNode& side, Errors& errors);

}  // namespace plumbline
