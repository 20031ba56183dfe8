// What `nvcc --resource-usage` says of each kernel on each architecture. ci/cmake/CompileCuda.cmake
// keeps it in NAME.ptxas.txt.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace plumbline {

// One function on one architecture; per thread or per block, in bytes where nothing else is said.
struct KernelUsage {
  std::string kernel;  // as display_name gives it
  std::string arch;    // "sm_90a"
  int registers =
      // per thread; -1 for a device function that was not inlined: ptxas counts them with its
      // callers'
      -1;
  int stack_bytes = 0;                              // per thread
  int spill_store_bytes = 0, spill_load_bytes = 0;  // per thread
  int shared_bytes = 0;                             // static, per block
  int constant_bytes = 0;                           // of all banks
  int barriers = 0;                                 // per block
  bool operator==(const KernelUsage&) const = default;
};

struct PtxasReport {
  std::string source;                // "kernels/attention/naive.cu"
  std::string toolkit;               // "nvcc 13.0.88"
  std::vector<KernelUsage> kernels;  // by kernel, then by architecture as a number
};

// Device functions that were not inlined appear only where they spill or have a stack, so that no
// spill is overlooked. Errors: no file, a line that belongs to no function, a kernel whose figures
// are missing, no kernel at all, a report without its header.
Result<PtxasReport> read_ptxas_report(const std::filesystem::path& path);
Result<PtxasReport> parse_ptxas_report(std::string_view text, const std::string& file);

// "_ZN9plumbline9attention15naive_attentionIfEEvNS0_15NaiveParametersE" is shown as
// "naive_attention<float>": demangled, without result, parameters and the namespaces that all our
// kernels share. A name that is not mangled is shown as it is.
std::string display_name(const std::string& mangled);

// 90 of "sm_90a": sorts architectures.
int arch_number(std::string_view arch);

}  // namespace plumbline
