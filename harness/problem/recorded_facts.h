// Reads the header and index arrays of a file of recorded inputs. Private to harness/problem;
// recorded_inputs.h has the contract.
#pragma once

#include <filesystem>

#include "harness/problem/recorded_inputs.h"

namespace plumbline {

// Reads everything except name, path and digest. Returns all errors of the file at once.
Result<RecordedInputs> read_facts(const std::filesystem::path& path, const SafetensorsFile& file);

}  // namespace plumbline
