// The options for measuring, and the providers that offer kernels.
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
  // "path/to/lib.so[:options]"; a later provider replaces an earlier one of the same name
  std::vector<std::string> providers;
  // Environment variables passed to workers although their names look like secrets
  // (provider/client/environment.h).
  std::vector<std::string> pass_env;
  std::filesystem::path worker_executable;  // empty: next to the program
  // Per request; unset: derived from the work (time_limit.h).
  std::optional<std::chrono::milliseconds> timeout;
  std::uint64_t memory_limit_bytes = std::uint64_t{8} << 30;
  double reference_cost_limit = 1e9;                          // see select_rows
  std::int64_t row_seed = 0;                                  // `rotation` of select_rows
  std::filesystem::path reference_cache;                      // empty: no cache
  std::shared_ptr<const ReferenceLibrary> reference_library;  // null: compute on the CPU
  std::filesystem::path save_failures;                        // directory; empty: do not save
  std::shared_ptr<CauseBudget> causes;  // budget for explaining failures; null: not explained
  std::filesystem::path save_outputs;   // directory, for every case; empty: do not save
  int time_repetitions = 90;            // maximum in all usual rounds together
  // Extra rounds for a case with too few quiet rounds (time_rounds.h).
  int extra_time_rounds = 0;
  // Counter of computed references; may be null.
  std::shared_ptr<std::atomic<std::int64_t>> references_computed;
};

// A loaded provider.
struct ProviderInfo {
  std::string library;  // as given on the command line
  Hello hello;
};
// Returns the provider of a kernel ("cpu/flash"), or nullptr if it is not loaded.
const ProviderInfo* find_provider(const std::vector<ProviderInfo>& providers,
                                  const std::string& kernel);
// Returns the row outputs beyond the LSE that `kernel` returns, or that any kernel of the provider
// returns if `kernel` is empty. Without a provider there are none.
PerRowOutput<bool> further_outputs(const ProviderInfo* provider, std::string_view kernel = {});
// Returns the time limit of one request.
std::chrono::milliseconds timeout_of(const MeasureOptions& options, const Case& c,
                                     int timed_repetitions);
// Returns the options for a provider's worker.
WorkerOptions worker_options(const MeasureOptions& options, const std::string& provider);
// Errors from loading providers.
struct ProviderErrors : Errors {
  ProviderErrors() = default;
  // True if every provider that failed was loaded but refused its options.
  bool are_option_errors = true;
};
// Starts each provider once, to get its name and kernels and to check its options.
tl::expected<std::vector<ProviderInfo>, ProviderErrors> discover(const MeasureOptions& options);
std::vector<OfferedKernel> offered_kernels(const std::vector<ProviderInfo>& providers);
// Returns the CUDA devices that the providers list, and the providers that have no kernels because
// a library is missing. If no provider lists a device, although has_cuda_device() is true or the
// cuda provider is loaded, assumes "cuda:0" to "cuda:7".
RunEnvironment run_environment(const std::vector<ProviderInfo>& providers);

}  // namespace plumbline
