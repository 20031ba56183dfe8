// Writes a measured case as a safetensors dump that `plumbline check` reads back.
#include "harness/measure/save_failure.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "harness/diagnose/alternative_search.h"
#include "harness/outcome/outcome.h"
#include "harness/problem/safetensors.h"

namespace plumbline {
namespace {

// Returns the extents in memory order: a logical [b, s, h, d] tensor of padded_bhsd is [b, h, s,
// d], and likewise the pages of paged_hnd. Strides do not show the order if an extent is 0 or 1.
std::vector<std::int64_t> storage_shape(const TensorShape& shape, Layout layout) {
  std::vector<std::int64_t> extents(shape.extent.begin(), shape.extent.begin() + shape.rank);
  const bool of_pages = layout == Layout::paged_hnd;
  if (shape.rank == 4 && (layout == Layout::padded_bhsd || of_pages))
    std::swap(extents[1], extents[2]);
  return extents;
}

void add_index_array(std::vector<NamedTensor>& tensors, std::string name,
                     const std::vector<std::int32_t>& values, std::int64_t rows) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::int64_t> shape{count};
  if (rows > 0) shape = {rows, count / rows};
  tensors.push_back({std::move(name), DType::i32, std::move(shape), values.data()});
}

// Adds the index arrays that the layout needs.
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

// The rows of a tensor: extents and strides in elements, [outer, middle, inner].
struct Rows {
  explicit Rows(const TensorShape& shape) : first(shape.rank == 4 ? 0U : 1U) {
    for (std::size_t i = first; i < 3; ++i) {
      extent[i] = shape.extent[i - first];
      stride[i] = shape.stride[i - first];
    }
  }
  std::size_t first;
  std::array<std::int64_t, 3> extent{1, 1, 1}, stride{};
};

// Copies a tensor of a view into a buffer of its own without gaps.
std::vector<std::byte> without_gaps(const TensorShape& from, const void* data,
                                    const TensorShape& to) {
  std::vector<std::byte> result(to.bytes());
  const Rows source(from), target(to);
  const std::size_t size = size_in_bytes(from.dtype),
                    bytes = static_cast<std::size_t>(
                                from.extent[static_cast<std::size_t>(from.rank) - 1]) *
                            size;
  const auto offset = [&](const Rows& rows, std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::size_t>(a * rows.stride[0] + b * rows.stride[1] + c * rows.stride[2]) *
           size;
  };
  for (std::int64_t a = 0; a < source.extent[0]; ++a) {
    for (std::int64_t b = 0; b < source.extent[1]; ++b) {
      for (std::int64_t c = 0; c < source.extent[2]; ++c) {
        std::memcpy(result.data() + offset(target, a, b, c),
                    static_cast<const std::byte*>(data) + offset(source, a, b, c), bytes);
      }
    }
  }
  return result;
}

// A copy of the problem whose tensors are not views. `geometry` is the first member, because q, k
// and v are built from it.
struct PlainInputs {
  PlainInputs(const Geometry& from, const InputView& inputs)
      : geometry(plain(from.problem()), layout_of(from, false)),
        q(without_gaps(from.q, inputs.q, geometry.q)),
        k(without_gaps(from.k, inputs.k, geometry.k)),
        v(without_gaps(from.v, inputs.v, geometry.v)) {}
  InputView view() const { return {q.data(), k.data(), v.data()}; }

  const Geometry geometry;
  const std::vector<std::byte> q, k, v;

 private:
  static Problem plain(Problem problem) {
    problem.view = View::plain;
    return problem;
  }
};

// The mask as [batch, 1, rows, keys], 1 = visible. Rows and keys include padding in padded layouts.
// Empty if the mask and window attributes suffice.
struct MaskValues {
  explicit MaskValues(const Geometry& geometry) {
    const Problem& problem = geometry.problem();
    if (!problem.has_mask_bits() || problem.is_merge()) return;
    const bool padded = problem.is_padded(), left = problem.padding == Padding::left;
    const auto longest = [](const std::vector<std::int32_t>& lengths) {
      return std::max<std::int64_t>(1, *std::ranges::max_element(lengths));
    };
    const std::int64_t rows = padded ? problem.seq_q : longest(geometry.seqlens_q),
                       keys = padded ? problem.seq_kv : longest(geometry.seqlens_kv);
    shape = {problem.batch, 1, rows, keys};
    values.assign(static_cast<std::size_t>(problem.batch * rows * keys), 0);
    for (std::int64_t b = 0; b < problem.batch; ++b) {
      const std::int64_t first_row = left ? rows - geometry.length_q(b) : 0,
                         first_key = left ? keys - geometry.length_kv(b) : 0;
      for (std::int64_t i = 0; i < geometry.length_q(b); ++i) {
        const std::int64_t at = (b * rows + first_row + i) * keys + first_key;
        for (std::int64_t key = 0; key < geometry.length_kv(b); ++key)
          values[static_cast<std::size_t>(at + key)] = geometry.sees(b, i, key) ? 1 : 0;
      }
    }
  }
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> values;
};

// Adds the fp8 scales, [batch, heads, blocks of tokens].
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
  if (!geometry.side.out_scale.empty())
    tensors.push_back({"out_scale", DType::f32, {1}, geometry.side.out_scale.data()});
}

std::vector<NamedTensor> tensors_of_attention(const Geometry& geometry, const InputView& inputs,
                                              const OutputView& outputs, const MaskValues& mask) {
  std::vector<NamedTensor> tensors;
  const auto add = [&](const char* name, const TensorShape& shape, const void* data) {
    tensors.push_back({name, shape.dtype, storage_shape(shape, geometry.problem().layout), data});
  };
  add("q", geometry.q, inputs.q);
  add("k", geometry.k, inputs.k);
  add("v", geometry.v, inputs.v);
  add("out", geometry.out, outputs.out);
  for (const RowOutput output : all<RowOutput>()) {
    if (const void* data = outputs.*row_output_data[output]; data != nullptr)
      add(name(output).data(), geometry.row_shape, data);
  }
  add_index_arrays(tensors, geometry);
  add_scales(tensors, geometry);
  const std::int64_t heads = geometry.problem().heads_q;
  for (const auto& [name, values] : {std::pair{"alibi_slopes", &geometry.side.alibi_slopes},
                                     std::pair{"sinks", &geometry.side.sinks}}) {
    if (!values->empty()) tensors.push_back({name, DType::f32, {heads}, values->data()});
  }
  if (!mask.values.empty()) tensors.push_back({"mask", DType::i32, mask.shape, mask.values.data()});
  return tensors;
}

// The tensors have one row for each token: [tokens, heads, dim].
std::vector<NamedTensor> tensors_of_merge(const Geometry& geometry, const InputView& inputs,
                                          const OutputView& outputs) {
  const Problem& problem = geometry.problem();
  std::vector<std::int64_t> of_lse = storage_shape(geometry.k, problem.layout);
  of_lse.pop_back();
  std::vector<NamedTensor> tensors{
      {"partial_out", geometry.v.dtype, storage_shape(geometry.v, problem.layout), inputs.v},
      {"partial_lse", geometry.k.dtype, std::move(of_lse), inputs.k},
      {"out",
       geometry.out.dtype,
       {problem.batch, problem.heads_q, problem.head_dim_vo},
       outputs.out},
  };
  for (const RowOutput output : all<RowOutput>()) {
    if (const void* data = outputs.*row_output_data[output]; data != nullptr)
      tensors.push_back(
          {name(output).data(), geometry.row_shape.dtype, {problem.batch, problem.heads_q}, data});
  }
  if (problem.is_padded()) {
    add_index_array(tensors, "seqlens_kv", geometry.seqlens_kv, 0);
  } else {
    add_index_array(tensors, "cu_seqlens_kv", geometry.cu_seqlens_kv, 0);
  }
  return tensors;
}

// Returns the metadata that the tensors do not show, by the names that `plumbline check` reads
// (docs/dump-format.md), and the origin of the file.
std::map<std::string, std::string> attributes(const Outcome& outcome, const Problem& problem,
                                              const OutputView& outputs) {
  std::map<std::string, std::string> metadata{
      {"layout", std::string(name(problem.layout))},
      // Mask bits are stored as a tensor.
      {"mask", std::string(name(problem.has_mask_bits() ? Mask::none : problem.mask))},
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
  if (problem.softcap != 0) metadata["softcap"] = fmt::format("{}", problem.softcap);
  // Also written if one block covers all tokens.
  if (problem.scale_tokens() > 0)
    metadata["scale_block"] = fmt::format("{}", problem.scale_tokens());
  if (problem.is_paged()) metadata["page_size"] = fmt::format("{}", problem.page_size);
  if (problem.is_padded()) metadata["padding"] = name(problem.padding);
  const PaddingPolicy policy = outcome.description.padding_policy;
  // If the padding of the inputs is NaN, rows that attend to it may also be NaN.
  const bool checkable = policy == PaddingPolicy::zeros || policy == PaddingPolicy::anything ||
                         (policy == PaddingPolicy::attended && problem.fill != Fill::nan);
  if (problem.is_padded() && checkable) metadata["padded_rows"] = name(policy);
  return metadata;
}

}  // namespace

Result<std::string> save_failure(const std::filesystem::path& directory, const Outcome& outcome,
                                 const Geometry& geometry, const InputView& inputs,
                                 const OutputView& outputs) {
  const Problem& problem = geometry.problem();
  if (problem.view != View::plain) {
    const PlainInputs plain(geometry, inputs);
    return save_failure(directory, outcome, plain.geometry, plain.view(), outputs);
  }
  if (problem.is_merge() && geometry.total_q() != problem.batch) {
    return fail("a dump cannot describe tokens of a merge that have no row",
                "run the case again by its id");
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(Error{directory.string(), 0, "cannot create the directory: " + error.message(),
                      "choose another directory"});

  const MaskValues mask(geometry);
  const std::vector<NamedTensor> tensors =
      problem.is_merge() ? tensors_of_merge(geometry, inputs, outputs)
                         : tensors_of_attention(geometry, inputs, outputs, mask);
  std::string kernel = outcome.c.kernel;
  std::ranges::replace(kernel, '/', '-');
  const auto hash = XXH3_64bits(outcome.case_id.data(), outcome.case_id.size());
  const auto path = directory / fmt::format("{:016x}-{}.safetensors", hash, kernel);
  auto written = write_safetensors(path, tensors, attributes(outcome, geometry.problem(), outputs));
  if (!written) return tl::unexpected(written.error());
  return path.string();
}

}  // namespace plumbline
