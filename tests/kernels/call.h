// Calls a kernel through its C ABI without workers: a tiny harness for testing kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/side_inputs.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline::testing {

// A provider library, loaded by dlopen and never unloaded.
class Library {
 public:
  explicit Library(const std::string& path);
  // nullptr where the provider refuses the version.
  const plumbline_provider* provider(const std::string& options = "",
                                     std::uint32_t abi_version = PLUMBLINE_ABI_VERSION) const;

 private:
  plumbline_get_provider_function get_ = nullptr;
};
const Library& cpu_library();

// Index of a kernel by its name without the provider's; fails the test if there is none.
std::uint32_t kernel_index(const plumbline_provider& provider, const std::string& name);

// The stored inputs of a problem. Element (tensor, sample id, head, position, dim) depends on
// nothing else, so different layouts, batches and lengths hold the same tokens; a query's position
// is counted from the last key backwards, so that decode and prefill share tokens. Everything that
// no valid token occupies is NaN.
struct Inputs {
  std::vector<std::byte> q, k, v;
  SideInputs side;
};

struct CallSetup {
  const Library* library = nullptr;  // cpu_library() if nullptr
  std::string options = {};
  std::string arch = {};  // of the device, "emulated:sm_80"; empty: first_device
  // identity of each sample's tokens; 0, 1, ... if empty
  std::vector<std::int64_t> sample_ids = {};
  std::int64_t stretch = 1;        // multiplies all strides, also that of the last dimension
  bool left_over_outputs = false;  // outputs hold 7 before the run, not NaN
  std::byte workspace_fill{0xff};
  bool threads_reversed = false;  // of an emulated device
};

// Element types are decoded: values in the order [sample, head, row, d], valid rows only.
struct Answer {
  plumbline_status status = PLUMBLINE_ERROR;
  std::string reason;
  plumbline_description description{};
  std::uint64_t workspace_bytes = 0;
  std::vector<double> out;
  std::vector<double> lse;  // empty if not asked for
  // padded layouts: [sample, head, padded row, d] of rows that are not valid
  std::vector<double> padded_out, padded_lse;
};

// Where each value of Answer::out lies: index of (sample, head, row, 0), and of the row in
// Answer::lse.
class RowIndex {
 public:
  explicit RowIndex(const Geometry& geometry);
  std::size_t row(std::int64_t sample, std::int64_t head, std::int64_t row) const;
  std::size_t rows() const { return rows_; }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::size_t> lengths_;
  std::size_t heads_ = 0;
  std::size_t rows_ = 0;
};

Inputs make_inputs(const Geometry& geometry, const CallSetup& setup = {});
plumbline_problem abi_problem(const Geometry& geometry);
// The first device of the provider: the CPU, cuda:0 where it has device memory, emulated:sm_90.
plumbline_device first_device(const plumbline_provider& provider);

// query, prepare, run, describe, destroy, through device memory where the provider has some. Checks
// that canaries around workspace and outputs survive and that inputs are not changed.
Answer call(const std::string& kernel, const Geometry& geometry, const Inputs& inputs,
            const CallSetup& setup = {});
Answer call(const std::string& kernel, const Problem& problem, const CallSetup& setup = {});

}  // namespace plumbline::testing
