// What the readers of the reviewed files baselines/*.toml share beyond the reader of tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"
#include "harness/contract/place.h"

namespace plumbline {

// The [[key]] tables of a file that may hold nothing else but `schema = 1`.
std::vector<const ConfigNode*> reviewed_tables(const ConfigNode& file, std::string_view key,
                                               Errors& errors);

// `kernel` of a table, which must be there: one glob, or a list of them.
std::vector<std::string> kernel_globs(const ConfigNode& table, Errors& errors);

// `device` of a table, if it is there: one glob of devices ("cuda:*"), or a list of them. And
// `arch`: names of GPU architectures, also of those that are not emulated, for what is reviewed may
// be about a GPU that somebody else has.
std::vector<std::string> device_globs(const ConfigNode& table, Errors& errors);
std::vector<std::string> gpu_archs(const ConfigNode& table, Errors& errors);

// Whether conditions on devices and architectures (empty: none) hold at a place.
bool holds_at(const std::vector<std::string>& devices, const std::vector<std::string>& archs,
              const Place& place);

// A member that must be a table if it is there; nullptr if it is not.
const ConfigNode* sub_table(const ConfigNode& table, std::string_view key, Errors& errors);

// A member that must be a finite number above 0 if it is there.
std::optional<double> positive_number(const ConfigNode& table, std::string_view key,
                                      Errors& errors);

}  // namespace plumbline
