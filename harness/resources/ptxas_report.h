// The report of `nvcc --resource-usage` on each kernel and architecture. ci/cmake/CompileCuda.cmake
// stores it in NAME.ptxas.txt.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace plumbline {

// One function on one architecture. Figures are per thread or per block, in bytes unless noted.
struct KernelUsage {
  std::string kernel;  // see display_name
  std::string arch;    // "sm_90a"
  // Per thread; -1 for a device function that was not inlined, because ptxas counts its registers
  // among those of its callers.
  int registers = -1;
  int stack_bytes = 0;                              // per thread
  int spill_store_bytes = 0, spill_load_bytes = 0;  // per thread
  int shared_bytes = 0;                             // static, per block
  int constant_bytes = 0;                           // over all banks
  int barriers = 0;                                 // per block
  bool operator==(const KernelUsage&) const = default;
};

struct PtxasReport {
  std::string source;                // "kernels/attention/naive.cu"
  std::string toolkit;               // "nvcc 13.0.88"
  std::vector<KernelUsage> kernels;  // by kernel, then by architecture number
};

// Device functions that were not inlined are listed only if they spill or have a stack, so that no
// spill is overlooked. Errors: no file, no header, a line that belongs to no function, a kernel
// without figures, no kernel at all.
Result<PtxasReport> read_ptxas_report(const std::filesystem::path& path);
Result<PtxasReport> parse_ptxas_report(std::string_view text, const std::string& file);

// Shows "_ZN9plumbline9attention15naive_attentionIfEEvNS0_15NaiveParametersE" as
// "naive_attention<float>": demangled, without return type, parameters and the namespaces of our
// kernels. A name that is not mangled is returned unchanged.
std::string display_name(const std::string& mangled);

// Returns 90 for "sm_90a", to sort architectures by; 0 if there is no number.
int arch_number(std::string_view arch);

}  // namespace plumbline
