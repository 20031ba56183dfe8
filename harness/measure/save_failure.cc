// Writes a failing case as a safetensors dump that `plumbline check` reads back.
#include "harness/measure/save_failure.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "harness/outcome/outcome.h"
#include "harness/problem/problem_fields.h"
#include "harness/problem/safetensors.h"

namespace plumbline {
namespace {

// Extents in the order in which they lie in memory: BHSD storage of a logical [b, s, h, d] tensor
// becomes [b, h, s, d].
std::vector<std::int64_t> storage_shape(const TensorShape& shape) {
  std::vector<int> order(static_cast<std::size_t>(shape.rank));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return shape.stride[static_cast<std::size_t>(a)] > shape.stride[static_cast<std::size_t>(b)];
  });
  std::vector<std::int64_t> extents;
  extents.reserve(order.size());
  for (const int dimension : order)
    extents.push_back(shape.extent[static_cast<std::size_t>(dimension)]);
  return extents;
}

void add_index_array(std::vector<NamedTensor>& tensors, std::string name,
                     const std::vector<std::int32_t>& values, std::int64_t rows) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::int64_t> shape{count};
  if (rows > 0) shape = {rows, count / rows};
  tensors.push_back({std::move(name), DType::i32, std::move(shape), values.data()});
}

// Those that the layout needs.
void add_index_arrays(std::vector<NamedTensor>& tensors, const Geometry& geometry) {
  const Problem& problem = geometry.problem();
  if (problem.is_padded()) {
    add_index_array(tensors, "seqlens_q", geometry.seqlens_q, 0);
    add_index_array(tensors, "seqlens_kv", geometry.seqlens_kv, 0);
    return;
  }
  add_index_array(tensors, "cu_seqlens_q", geometry.cu_seqlens_q, 0);
  if (!problem.is_paged())
    return add_index_array(tensors, "cu_seqlens_kv", geometry.cu_seqlens_kv, 0);
  add_index_array(tensors, "seqlens_kv", geometry.seqlens_kv, 0);
  add_index_array(tensors, "page_table", geometry.page_table, problem.batch);
}

// Of fp8: [batch, heads, blocks of tokens].
void add_scales(std::vector<NamedTensor>& tensors, const Geometry& geometry) {
  const Problem& problem = geometry.problem();
  const auto add = [&](const char* name, const std::vector<float>& values, std::int64_t heads) {
    if (values.empty()) return;
    const auto blocks = static_cast<std::int64_t>(values.size()) / (problem.batch * heads);
    tensors.push_back({name, DType::f32, {problem.batch, heads, blocks}, values.data()});
  };
  add("q_scale", geometry.side.q_scale, problem.heads_q);
  add("k_scale", geometry.side.k_scale, problem.heads_kv);
  add("v_scale", geometry.side.v_scale, problem.heads_kv);
}

std::vector<NamedTensor> tensors_of_attention(const Geometry& geometry, const InputView& inputs,
                                              const OutputView& outputs) {
  std::vector<NamedTensor> tensors{
      {"q", geometry.q.dtype, storage_shape(geometry.q), inputs.q},
      {"k", geometry.k.dtype, storage_shape(geometry.k), inputs.k},
      {"v", geometry.v.dtype, storage_shape(geometry.v), inputs.v},
      {"out", geometry.out.dtype, storage_shape(geometry.out), outputs.out},
  };
  if (outputs.lse != nullptr)
    tensors.push_back({"lse", geometry.lse.dtype, storage_shape(geometry.lse), outputs.lse});
  add_index_arrays(tensors, geometry);
  add_scales(tensors, geometry);
  return tensors;
}

// A row a token: [tokens, heads, dim].
std::vector<NamedTensor> tensors_of_merge(const Geometry& geometry, const InputView& inputs,
                                          const OutputView& outputs) {
  const Problem& problem = geometry.problem();
  std::vector<std::int64_t> of_lse = storage_shape(geometry.k);
  of_lse.pop_back();
  std::vector<NamedTensor> tensors{
      {"partial_out", geometry.v.dtype, storage_shape(geometry.v), inputs.v},
      {"partial_lse", geometry.k.dtype, std::move(of_lse), inputs.k},
      {"out",
       geometry.out.dtype,
       {problem.batch, problem.heads_q, problem.head_dim_vo},
       outputs.out},
  };
  if (outputs.lse != nullptr)
    tensors.push_back({"lse", geometry.lse.dtype, {problem.batch, problem.heads_q}, outputs.lse});
  if (problem.is_padded()) {
    add_index_array(tensors, "seqlens_kv", geometry.seqlens_kv, 0);
  } else {
    add_index_array(tensors, "cu_seqlens_kv", geometry.cu_seqlens_kv, 0);
  }
  return tensors;
}

// What the tensors do not say, by the names that `plumbline check` reads (docs/dump-format.md), and
// where the file comes from.
std::map<std::string, std::string> attributes(const Outcome& outcome, const Problem& problem,
                                              const OutputView& outputs) {
  std::map<std::string, std::string> metadata{
      {"layout", std::string(name(problem.layout))},
      {"mask", std::string(name(problem.mask))},
      {"window", fmt::format("{},{}", problem.window_left, problem.window_right)},
      {"scale", fmt::format("{}", problem.softmax_scale())},
      {"lse_base", outputs.lse_base == 2 ? "2" : "e"},
      {"lse_layout", "heads_last"},
      {"spec", outcome.spec_judged},
      {"case_id", outcome.case_id},
      {"problem", problem_id(outcome.c.problem)},
      {"launched", outcome.description.launched},
      {"build_id", outcome.description.build_id},
  };
  if (!outcome.cause.empty()) metadata["cause"] = outcome.cause;
  if (problem.is_merge()) {
    for (const char* of_attention : {"mask", "window", "scale"}) metadata.erase(of_attention);
    return metadata;
  }
  const std::int64_t longest =
      problem.has_fp8_q() ? std::max(problem.seq_q, problem.seq_kv) : problem.seq_kv;
  if (scale_blocks(problem, longest) > 1)
    metadata["scale_block"] = fmt::format("{}", problem.scale_tokens());
  if (problem.is_paged()) metadata["page_size"] = fmt::format("{}", problem.page_size);
  if (problem.is_padded()) metadata["padding"] = name(problem.padding);
  const PaddingPolicy policy = outcome.description.padding_policy;
  // Where the padding of the inputs is NaN, so may be what attends with it.
  const bool checkable = policy == PaddingPolicy::zeros ||
                         (policy == PaddingPolicy::attended && problem.fill != Fill::nan);
  if (problem.is_padded() && checkable) metadata["padded_rows"] = name(policy);
  return metadata;
}

}  // namespace

Result<std::string> save_failure(const std::filesystem::path& directory, const Outcome& outcome,
                                 const Geometry& geometry, const InputView& inputs,
                                 const OutputView& outputs) {
  const Problem& problem = geometry.problem();
  bool stated = !problem.has_mask_bits() || problem.is_merge();
  if (problem.is_merge()) stated = geometry.total_q() == problem.batch;
  for_each_member([&](const auto& field) {
    stated = stated && (field.in_dumps || problem.*field.member == Problem{}.*field.member);
  });
  if (!stated) {
    return fail(
        "a dump cannot state softcap, ALiBi, sinks, mask bits, views or tokens "
        "of a merge that have no row",
        "repeat the case by its id");
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(Error{directory.string(), 0, "cannot create the directory: " + error.message(),
                      "choose another --save-failures"});

  const std::vector<NamedTensor> tensors = problem.is_merge()
                                               ? tensors_of_merge(geometry, inputs, outputs)
                                               : tensors_of_attention(geometry, inputs, outputs);
  std::string kernel = outcome.c.kernel;
  std::replace(kernel.begin(), kernel.end(), '/', '-');
  const auto hash = XXH3_64bits(outcome.case_id.data(), outcome.case_id.size());
  const auto path = directory / fmt::format("{:016x}-{}.safetensors", hash, kernel);
  auto written = write_safetensors(path, tensors, attributes(outcome, geometry.problem(), outputs));
  if (!written) return tl::unexpected(written.error());
  return path.string();
}

}  // namespace plumbline
