// Helpers for reading the reviewed files baselines/*.toml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"
#include "harness/contract/run_target.h"

namespace plumbline {

// Returns the [[key]] tables of a file that may also hold `schema = 1`, but nothing else.
std::vector<const ConfigNode*> reviewed_tables(const ConfigNode& file, std::string_view key,
                                               Errors& errors);

// Returns the required `kernel` of a table: one glob, or a list of them.
std::vector<std::string> kernel_globs(const ConfigNode& table, Errors& errors);

// Returns the optional `device` of a table: one glob of devices ("cuda:*"), or a list of them.
std::vector<std::string> device_globs(const ConfigNode& table, Errors& errors);
// Returns the optional `arch` of a table: GPU architectures. The emulator need not know them,
// because reviewed text may concern GPUs of other users.
std::vector<std::string> gpu_archs(const ConfigNode& table, Errors& errors);
// Returns the optional `dtype` of a table: dtypes of Q.
std::vector<std::string> dtypes_of_q(const ConfigNode& table, Errors& errors);

// Returns true if a place satisfies conditions on devices and architectures; empty = no condition.
bool applies_to(const std::vector<std::string>& devices, const std::vector<std::string>& archs,
                const RunTarget& place);

// Returns an optional member that must be a table; nullptr if it is missing.
const ConfigNode* sub_table(const ConfigNode& table, std::string_view key, Errors& errors);

// Returns an optional member that must be a finite number above 0.
std::optional<double> positive_number(const ConfigNode& table, std::string_view key,
                                      Errors& errors);

}  // namespace plumbline
