// A cache of references in files.
#pragma once

#include <filesystem>

#include "harness/reference/reference.h"

namespace plumbline {

// Like compute_reference, with a directory of files keyed by problem digest, spec, rows, options
// and reference_version. An unreadable, truncated or foreign file is recomputed and replaced. Files
// are written atomically.
Reference cached_reference(const std::filesystem::path& directory, const Geometry& geometry,
                           const InputView& inputs, const RoundingSpec& spec,
                           const RowSelection& rows, const ReferenceOptions& options = {});

}  // namespace plumbline
