#include "harness/measure/save_failure.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>

#include "harness/problem/safetensors.h"

namespace plumbline {
namespace {

// Extents in the order in which they lie in memory: BHSD storage of a logical [b, s, h, d] tensor becomes [b, h, s, d].
std::vector<std::int64_t> storage_shape(const TensorShape& shape) {
  std::vector<int> order(static_cast<std::size_t>(shape.rank));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return shape.stride[static_cast<std::size_t>(a)] > shape.stride[static_cast<std::size_t>(b)]; });
  std::vector<std::int64_t> extents;
  for (const int dimension : order) extents.push_back(shape.extent[static_cast<std::size_t>(dimension)]);
  return extents;
}

void add_index_array(std::vector<NamedTensor>& tensors, std::string name, const std::vector<std::int32_t>& values) {
  if (values.empty()) return;
  tensors.push_back({std::move(name), DType::i32, {static_cast<std::int64_t>(values.size())}, values.data()});
}

}  // namespace

Result<std::string> save_failure(const std::filesystem::path& directory, const Outcome& outcome, const Geometry& geometry,
                                 const InputView& inputs, const OutputView& outputs) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Error{directory.string(), 0, "cannot create the directory: " + error.message(), "choose another --save-failures"});

  std::vector<NamedTensor> tensors{
      {"q", geometry.q.dtype, storage_shape(geometry.q), inputs.q},
      {"k", geometry.k.dtype, storage_shape(geometry.k), inputs.k},
      {"v", geometry.v.dtype, storage_shape(geometry.v), inputs.v},
      {"out", geometry.out.dtype, storage_shape(geometry.out), outputs.out},
  };
  if (outputs.lse != nullptr) tensors.push_back({"lse", geometry.lse.dtype, storage_shape(geometry.lse), outputs.lse});
  add_index_array(tensors, "cu_seqlens_q", geometry.cu_seqlens_q);
  add_index_array(tensors, "cu_seqlens_kv", geometry.cu_seqlens_kv);
  add_index_array(tensors, "seqlens_q", geometry.seqlens_q);
  add_index_array(tensors, "seqlens_kv", geometry.seqlens_kv);
  add_index_array(tensors, "page_table", geometry.page_table);

  std::string kernel = outcome.c.kernel;
  std::replace(kernel.begin(), kernel.end(), '/', '-');
  const auto hash = XXH3_64bits(outcome.case_id.data(), outcome.case_id.size());
  const auto path = directory / fmt::format("{:016x}-{}.safetensors", hash, kernel);
  auto written = write_safetensors(path, tensors,
                                   {{"case_id", outcome.case_id},
                                    {"problem", problem_id(outcome.c.problem)},
                                    {"launched", outcome.description.launched},
                                    {"build_id", outcome.description.build_id},
                                    {"spec_judged", outcome.spec_judged}});
  if (!written) return tl::unexpected(written.error());
  return path.string();
}

}  // namespace plumbline
