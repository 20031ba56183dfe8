// How cases are measured, and the providers that offer kernels.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/provider/client/worker.h"
#include "harness/suite/plan.h"

namespace plumbline {

class CauseBudget;
class ReferenceLibrary;

struct MeasureOptions {
  // "path/to/lib.so[:options]"; of two with one name the later wins
  std::vector<std::string> providers;
  // variables that workers get although they look like secrets (provider/client/environment.h)
  std::vector<std::string> pass_env;
  std::filesystem::path worker_executable;  // empty: found beside the program
  // of one request; none: as its work asks (time_limit.h)
  std::optional<std::chrono::milliseconds> timeout;
  std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30;
  double reference_cost_limit = 1e9;                          // see select_rows
  std::int64_t row_seed = 0;                                  // the rotation of select_rows
  std::filesystem::path reference_cache;                      // empty: none
  std::shared_ptr<const ReferenceLibrary> reference_library;  // null: on the CPU
  std::filesystem::path save_failures;                        // empty: none
  std::shared_ptr<CauseBudget> causes;  // of failures are looked for within it; null: none are
  std::filesystem::path save_outputs;   // of every measured case; empty: none
  int time_repetitions = 90;            // of all rounds together, at most
  // Beyond the usual ones, of a case with too few quiet rounds (time_rounds.h).
  int extra_time_rounds = 0;
  // Counts the references that are computed; null: nobody wants to know.
  std::shared_ptr<std::atomic<std::int64_t>> references_computed;
};

// The providers of a run and the kernels each offers.
struct ProviderInfo {
  std::string library;  // as given
  Hello hello;
};
// The provider of a kernel ("cpu/flash"); nullptr: none of that name is loaded.
const ProviderInfo* find_provider(const std::vector<ProviderInfo>& providers,
                                  const std::string& kernel);
// The row outputs beyond the LSE that `kernel` of this provider returns, or any of its kernels
// where none is named; none without a provider.
PerRowOutput<bool> further_outputs(const ProviderInfo* provider, std::string_view kernel = {});
// How long a worker may take over one request of these options.
std::chrono::milliseconds timeout_of(const MeasureOptions& options, const Case& c,
                                     int timed_repetitions);
// Options of a provider's worker.
WorkerOptions worker_options(const MeasureOptions& options, const std::string& provider);
// Errors of loading providers.
struct ProviderErrors : Errors {
  ProviderErrors() = default;
  bool are_of_options = true;  // each provider could be loaded, but not with its options
};
// Starts each provider once to ask its name and kernels, and whether it takes its options.
tl::expected<std::vector<ProviderInfo>, ProviderErrors> discover(const MeasureOptions& options);
std::vector<OfferedKernel> offered_kernels(const std::vector<ProviderInfo>& providers);
// The CUDA devices that loaded providers name as theirs (where none does and there is a driver,
// "cuda:0" to "cuda:7" may be there), and the providers that have no kernel because they lack a
// library.
Surroundings surroundings(const std::vector<ProviderInfo>& providers);

}  // namespace plumbline
