// What the header and index arrays of a file of recorded inputs say. Private to harness/problem;
// the contract is recorded_inputs.h.
#pragma once

#include <filesystem>

#include "harness/problem/recorded_inputs.h"

namespace plumbline {

// Everything but name, path and digest. All errors of the file at once.
Result<RecordedInputs> read_facts(const std::filesystem::path& path, const SafetensorsFile& file);

}  // namespace plumbline
