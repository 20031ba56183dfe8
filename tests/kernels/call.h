// Calls a kernel through its C ABI without workers: a small harness for tests of kernels.
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
  // Returns nullptr if the provider refuses the version.
  const plumbline_provider* provider(const std::string& options = "",
                                     std::uint32_t abi_version = PLUMBLINE_ABI_VERSION) const;

 private:
  plumbline_get_provider_function get_ = nullptr;
};
const Library& cpu_library();

// Returns the index of a kernel by its name without the provider's; fails the test if there is
// none.
std::uint32_t kernel_index(const plumbline_provider& provider, const std::string& name);

// The stored inputs of a problem. An element depends only on (tensor, sample id, head, position,
// dim), so different layouts, batches and lengths hold the same tokens. A query's position is
// counted backwards from the last key, so that decode and prefill share tokens. All elements
// outside of valid tokens are NaN.
struct Inputs {
  std::vector<std::byte> q, k, v;
  SideInputs side;
};

struct CallSetup {
  const Library* library = nullptr;  // cpu_library() if nullptr
  std::string options = {};
  std::string arch = {};  // device, "emulated:sm_80"; empty: first_device
  // identity of each sample's tokens; 0, 1, ... if empty
  std::vector<std::int64_t> sample_ids = {};
  std::int64_t stretch = 1;        // multiplies all strides, including that of the last dimension
  bool left_over_outputs = false;  // fills outputs with 7 before the run, instead of NaN
  std::byte workspace_fill{0xff};
  bool threads_reversed = false;  // for an emulated device
};

// The decoded outputs: values in the order [sample, head, row, d], valid rows only.
struct Answer {
  plumbline_status status = PLUMBLINE_ERROR;
  std::string reason;
  plumbline_description description{};
  std::uint64_t workspace_bytes = 0;
  std::vector<double> out;
  std::vector<double> lse;  // empty if not requested
  // padded layouts: [sample, head, padded row, d] of the invalid rows
  std::vector<double> padded_out, padded_lse;
};

// Indices into Answer::out, of (sample, head, row, 0), and into Answer::lse, of the row.
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
// Returns the provider's first device: the CPU, cuda:0 if it has device memory, or emulated:sm_90.
plumbline_device first_device(const plumbline_provider& provider);

// Runs query, prepare, run, describe and destroy, through device memory if the provider has some.
// Checks that the canaries around workspace and outputs and the inputs are not changed.
Answer call(const std::string& kernel, const Geometry& geometry, const Inputs& inputs,
            const CallSetup& setup = {});
Answer call(const std::string& kernel, const Problem& problem, const CallSetup& setup = {});

}  // namespace plumbline::testing
