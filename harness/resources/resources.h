// Each kernel's resources on each architecture: registers, memory, occupancy and prediction. Joins
// ptxas's figures with the launch facts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/resources/launch_facts.h"
#include "harness/resources/occupancy.h"
#include "harness/resources/ptxas_report.h"

namespace plumbline {

// One launch of one kernel on one architecture.
struct Resources {
  KernelUsage usage;
  std::string launch;  // LaunchFacts::name, "" without facts
  std::optional<LaunchFacts> facts;
  // Unknown without facts, without cuda_occupancy.h, and for device functions.
  std::optional<Occupancy> occupancy;
  std::optional<Prediction> prediction;  // if the facts have tiles

  std::int64_t shared_bytes() const {
    return usage.shared_bytes + (facts ? facts->dynamic_shared_bytes : 0);
  }
  std::int64_t spill_bytes() const {
    return std::int64_t{usage.spill_store_bytes} + usage.spill_load_bytes;
  }
};

// One compiled .cu file.
struct CompiledSource {
  std::string name;                // the NAME of NAME.ptxas.txt and of the approved file
  std::string source;              // "kernels/attention/naive.cu"
  std::string toolkit;             // "nvcc 13.0.88"
  std::vector<Resources> kernels;  // sorted by kernel, launch and architecture
};

// Returns one row for each pair of a launch table and a kernel that its glob matches. A kernel that
// no table matches gets one row without facts. Errors: two tables of one name match a kernel; a
// table matches no kernel.
Result<std::vector<Resources>> join(const std::vector<KernelUsage>& usages,
                                    const std::vector<LaunchFacts>& launches,
                                    const std::string& file);

// Reads all NAME.ptxas.txt of a folder with their NAME.launch.toml, sorted by name. Empty if there
// are none or the folder does not exist.
Result<std::vector<CompiledSource>> read_resources(const std::filesystem::path& directory);

}  // namespace plumbline
