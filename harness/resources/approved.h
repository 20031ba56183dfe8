// Approved resources of CUDA kernels: one reviewed TOML file for each kernel source.
// baselines/resources/NAME.toml has one line for each kernel, launch and architecture. The file is
// written by `plumbline resources --accept` and reviewed like code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/resources/resources.h"

namespace plumbline {

struct ApprovedResources {
  std::string kernel, launch, arch;
  int registers = -1;  // -1: a device function
  int stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  std::int64_t shared_bytes = 0;  // static and dynamic
  // Resident on a multiprocessor; unset if the occupancy was unknown.
  std::optional<int> warps;

  std::int64_t spill_bytes() const { return std::int64_t{spill_store_bytes} + spill_load_bytes; }
  bool operator==(const ApprovedResources&) const = default;
};

struct Acceptance {
  std::string who, when, why;  // `when` is a date, 2026-01-31
};

struct ApprovedSource {
  std::string name;  // the file's, without .toml
  std::string source, toolkit;
  Acceptance accepted;
  std::vector<ApprovedResources> kernels;
};

ApprovedResources approved_form(const Resources& row);

// Reads all *.toml of the folder, by name; empty if the folder does not exist. Returns the errors
// of all files together.
Result<std::vector<ApprovedSource>> read_approved(const std::filesystem::path& directory);
Result<ApprovedSource> parse_approved(std::string_view text, const std::string& file);

// Returns the text that parse_approved reads. Equal resources give equal text.
std::string approved_text(const CompiledSource& source, const Acceptance& accepted);

}  // namespace plumbline
