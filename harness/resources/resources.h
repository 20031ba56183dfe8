// What each kernel takes of each architecture: registers, memory, occupancy, prediction. ptxas's
// figures and the launch facts are joined for it.
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
  std::optional<Occupancy>
      occupancy;  // unknown without facts, without cuda_occupancy.h, and for device functions
  std::optional<Prediction> prediction;  // where the facts name tiles

  std::int64_t shared_bytes() const {
    return usage.shared_bytes + (facts ? facts->dynamic_shared_bytes : 0);
  }
  std::int64_t spill_bytes() const {
    return std::int64_t{usage.spill_store_bytes} + usage.spill_load_bytes;
  }
};

// One .cu file as it was compiled.
struct CompiledSource {
  std::string name;                // "naive": of NAME.ptxas.txt, and of the approved text
  std::string source;              // "kernels/attention/naive.cu"
  std::string toolkit;             // "nvcc 13.0.88"
  std::vector<Resources> kernels;  // by kernel, launch and architecture
};

// Every launch table whose glob matches gives a row; a kernel that none matches has one without
// facts. Errors: two tables of the same name match one kernel, a table matches none.
Result<std::vector<Resources>> join(const std::vector<KernelUsage>& usages,
                                    const std::vector<LaunchFacts>& launches,
                                    const std::string& file);

// All NAME.ptxas.txt of a folder with their NAME.launch.toml, by name; empty where the folder has
// none or is not there.
Result<std::vector<CompiledSource>> read_resources(const std::filesystem::path& directory);

}  // namespace plumbline
