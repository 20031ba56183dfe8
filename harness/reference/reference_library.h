// A library that computes the reference on a GPU instead of the CPU. plumbline_reference.h is its C
// ABI.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "harness/base/error.h"
#include "harness/reference/plumbline_reference.h"
#include "harness/reference/reference.h"

namespace plumbline {

class ReferenceLibrary {
 public:
  // Opens the library for the life of the process. Returns an error if it cannot be opened, has
  // another version or finds no device.
  static Result<std::shared_ptr<const ReferenceLibrary>> open(const std::filesystem::path& path);

  // Like compute_reference, without suite scores. o and lse agree with the CPU's to fp64 rounding,
  // spre and sigma to the precision of the CPU's fp32 sums. compute_reference computes the rows
  // that repeat (plumbline_reference.h); `of_cpu` receives their indices. Returns an error if the
  // device fails or lacks memory, and for problems and specs that the library does not take.
  Result<Reference> compute(const Geometry& geometry, const InputView& inputs,
                            const RoundingSpec& spec, const RowSelection& rows,
                            std::vector<std::size_t>* of_cpu = nullptr) const;

  // Returns how often compute() refused or failed, by message. The CPU then computed the reference.
  // Callable from any thread.
  std::map<std::string, int> refusals() const;

  // Returns true if the library supports the problem and the spec: no merge, softcap, ALiBi, sink,
  // fp8 or hidden key, and only roundings that plumbline_reference_model can express.
  static bool takes(const Problem& problem, const RoundingSpec& spec);

  [[nodiscard]] std::string device_name() const { return library_->device_name(); }

 private:
  explicit ReferenceLibrary(const plumbline_reference_library* library) : library_(library) {}
  Result<Reference> try_compute(const Geometry& geometry, const InputView& inputs,
                                const RoundingSpec& spec, const RowSelection& rows,
                                std::vector<std::size_t>& of_cpu) const;

  const plumbline_reference_library* library_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, int> refusals_;
};

}  // namespace plumbline
