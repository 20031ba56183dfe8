// A library that computes the reference on a GPU instead of on the CPU. Its C ABI is
// plumbline_reference.h.
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
  // Opens the library for the life of the process. An error where it cannot be opened, is of
  // another version, or finds no device.
  static Result<std::shared_ptr<const ReferenceLibrary>> open(const std::filesystem::path& path);

  // As compute_reference, without suite scores: o and lse agree with it to rounding of fp64, the
  // scales to its own precision (fp32 sums). Rows whose P are few numbers are compute_reference's;
  // `of_cpu` becomes their indexes.
  // An error where the device fails, or lacks the memory, and for problems and specs that it does
  // not take.
  Result<Reference> compute(const Geometry& geometry, const InputView& inputs,
                            const RoundingSpec& spec, const RowSelection& rows,
                            std::vector<std::size_t>* of_cpu = nullptr) const;

  // How often compute() refused or failed, by its message: what was computed on the CPU instead.
  // Callable from any thread.
  std::map<std::string, int> refusals() const;

  // No softcap, ALiBi, sinks, fp8 K and V or hidden keys; P rounded to nearest, before it is
  // normalised, under a running maximum; no O rounded between tiles, S rounded twice or approximate
  // reciprocal.
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
