// A cache of references in files.
#pragma once

#include <filesystem>

#include "harness/reference/reference.h"

namespace plumbline {

// Like compute_reference, with a directory of files keyed by problem, input bits, spec, rows,
// options and reference_version. A file that is unreadable, truncated or of another request is
// replaced. Files are written atomically.
Reference cached_reference(const std::filesystem::path& directory, const Geometry& geometry,
                           const InputView& inputs, const RoundingSpec& spec,
                           const RowSelection& rows, const ReferenceOptions& options = {});

}  // namespace plumbline
