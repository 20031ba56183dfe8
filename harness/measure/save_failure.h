// Saves a case's inputs, outputs and problem as one safetensors file, for --save-failures and
// --save-outputs.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/compare/outputs.h"
#include "harness/reference/reference.h"

namespace plumbline {

struct Outcome;

// Writes a dump that `plumbline check` reads (docs/dump-format.md). Tensors: q, k, v, out and lse
// in storage order without the gaps of a view, the layout's index arrays, fp8 scales, ALiBi slopes,
// sinks and mask bits. Metadata: the problem's attributes, the spec used to judge, case_id, the
// cause and the kernel's launch description. Returns the path: DIRECTORY/<XXH3-64 of the case
// id>-<kernel>.safetensors.
Result<std::string> save_failure(const std::filesystem::path& directory, const Outcome& outcome,
                                 const Geometry& geometry, const InputView& inputs,
                                 const OutputView& outputs);

}  // namespace plumbline
