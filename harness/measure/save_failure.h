// --save-failures and --save-outputs: a case's inputs, output and problem as one safetensors file.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/compare/outputs.h"
#include "harness/reference/reference.h"

namespace plumbline {

struct Outcome;

// A dump that `plumbline check` reads (docs/dump-format.md): q, k, v, out, lse in their storage
// order, without the gaps of a view; the index arrays of the layout, fp8 scales, ALiBi slopes,
// sinks and mask bits; and as metadata the problem's attributes, the spec judged by, case_id, the
// cause and what the kernel said it launched. Returns the file's path:
// DIRECTORY/<XXH3-64 of the case id>-<kernel>.safetensors.
Result<std::string> save_failure(const std::filesystem::path& directory, const Outcome& outcome,
                                 const Geometry& geometry, const InputView& inputs,
                                 const OutputView& outputs);

}  // namespace plumbline
