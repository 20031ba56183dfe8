// Makes the problem of a merge from its tensors: tokens are samples, parts are keys.
#include "harness/check/merge_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/check/dump_parts.h"
#include "harness/check/row_tensors.h"

namespace plumbline {
namespace {

constexpr const char* shapes_remedy = "docs/dump-format.md, \"Merges of states\", has the shapes";

class MergeDumpMaker : public DumpParts {
 public:
  using DumpParts::DumpParts;

  Result<Dump> make() {
    const bool ok = errors_.empty() && find_tensors() && find_dtypes() && find_parts() &&
                    check_shapes() && copy_data();
    if (!ok) return tl::unexpected(printable_errors());
    note_unjudged_parts();
    return std::move(dump_);
  }

 private:
  bool find_tensors() {
    partial_out_ = tensors_.need("partial_out");
    partial_lse_ = tensors_.need("partial_lse");
    out_ = tensors_.need("out");
    for (const char* foreign : {"q", "k", "v", "mask", "attn_bias", "alibi_slopes", "sinks",
                                "page_table", "seqlens_q", "q_scale", "k_scale", "v_scale"}) {
      if (tensors_.find(foreign) != nullptr) {
        add(fmt::format("tensor {} cannot be used together with partial_out", foreign),
            "dump one call: either attention, or a merge of parts");
      }
    }
    for (const auto& [what, is_stated] :
         {std::pair{"mask", stated_.mask.has_value() || stated_.causal},
          std::pair{"window", stated_.window_left >= 0 || stated_.window_right >= 0},
          std::pair{"scale", stated_.scale != 0}, std::pair{"softcap", stated_.softcap != 0},
          std::pair{"scale_block", stated_.scale_block.has_value()},
          std::pair{"padding", stated_.padding.has_value()},
          std::pair{"page_size", stated_.page_size.has_value()}}) {
      if (is_stated)
        add(fmt::format("attribute {}: a merge of states has none", what), "leave it out");
    }
    return errors_.empty();
  }

  bool find_dtypes() {
    const auto dtype_of = [&](const char* what, const TensorData& tensor) {
      const auto dtype = float_dtype(tensor.dtype);
      const bool fits = dtype && *dtype != DType::f64 && size_in_bytes(*dtype) > 1;
      if (!fits)
        add(fmt::format("tensor {} has dtype {}", what, tensor.dtype),
            "write it as F32, F16 or BF16");
      return dtype.value_or(DType::none);
    };
    problem_.dtype = dtype_of("partial_out", *partial_out_);
    problem_.out_dtype = dtype_of("out", *out_);
    if (partial_lse_->dtype != "F32")
      add(fmt::format("tensor partial_lse has dtype {}", partial_lse_->dtype), "write it as F32");
    if (stated_.dtype && *stated_.dtype != problem_.dtype) {
      add(fmt::format("attribute dtype: {} is stated, partial_out is {}",
                      plumbline::name(*stated_.dtype), partial_out_->dtype),
          "save partial_out as the kernel saw it, and leave dtype out");
    }
    return errors_.empty();
  }

  // partial_out is [tokens, parts, heads, dim], bhsd [tokens, heads, parts, dim] or ragged [parts,
  // heads, dim].
  bool find_parts() {
    const Shape& shape = partial_out_->shape;
    const bool ragged = tensors_.find("cu_seqlens_kv") != nullptr;
    problem_.layout = stated_.layout.value_or(ragged ? Layout::ragged : Layout::padded_bshd);
    if (problem_.is_paged() || (problem_.layout == Layout::ragged) != ragged) {
      return add(fmt::format("layout {} is wrong: parts are padded, or ragged with cu_seqlens_kv",
                             plumbline::name(problem_.layout)),
                 shapes_remedy);
    }
    if (shape.size() != (ragged ? 3 : 4)) {
      return add(fmt::format("partial_out {} has rank {}, not {}", shape_text(shape), shape.size(),
                             ragged ? 3 : 4),
                 shapes_remedy);
    }
    const bool heads_first = problem_.layout == Layout::padded_bhsd;
    problem_.heads_q = problem_.heads_kv = shape[ragged || heads_first ? 1 : 2];
    problem_.head_dim_qk = 1;
    problem_.head_dim_vo = shape.back();
    problem_.seq_q = 1;
    problem_.merge = stated_.lse_base.value_or(0) == 2 ? Merge::base_2 : Merge::natural;
    problem_.lse = tensors_.find("lse") != nullptr;
    return ragged ? find_ragged_lengths(shape[0])
                  : find_padded_lengths(shape[0], shape[heads_first ? 2 : 1]);
  }

  bool find_padded_lengths(std::int64_t tokens, std::int64_t parts) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(std::max<std::int64_t>(tokens, 0)),
                                      parts);
    if (tensors_.find("seqlens_kv") != nullptr) {
      auto stated = tensors_.integers("seqlens_kv", 1);
      if (!stated) return false;
      if (stated->size() != lengths.size()) {
        return add(fmt::format("seqlens_kv has {} entries, for {} tokens", stated->size(), tokens),
                   "write the number of parts of each token");
      }
      lengths = std::move(*stated);
    }
    problem_.seq_kv = parts;
    return set_lengths(lengths);
  }

  bool find_ragged_lengths(std::int64_t rows) {
    const auto sums = tensors_.integers("cu_seqlens_kv", 1);
    if (!sums) return false;
    if (sums->size() < 2 || sums->front() != 0 || sums->back() != rows ||
        !std::ranges::is_sorted(*sums)) {
      return add(fmt::format("cu_seqlens_kv does not rise from 0 to the {} parts", rows),
                 "write each token's first part and the total, as in FlashInfer's indptr");
    }
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 1; i < sums->size(); ++i) lengths.push_back((*sums)[i] - (*sums)[i - 1]);
    problem_.seq_kv = *std::ranges::max_element(lengths);
    return set_lengths(lengths);
  }

  bool set_lengths(const std::vector<std::int64_t>& lengths) {
    problem_.batch = static_cast<std::int64_t>(lengths.size());
    for (const std::int64_t length : lengths) {
      if (length < 0 || length > problem_.seq_kv) {
        return add(fmt::format("seqlens_kv states {} parts for a token, partial_out has {}", length,
                               problem_.seq_kv),
                   "write lengths between 0 and the number of parts");
      }
      if (length != problem_.seq_kv) problem_.lengths = Lengths::random;
      layout_.seqlens_kv.push_back(static_cast<std::int32_t>(length));
    }
    layout_.seqlens_q.assign(lengths.size(), 1);
    for (const std::string& wrong : validate(problem_)) add(wrong, shapes_remedy);
    return errors_.empty();
  }

  bool check_shapes() {
    const auto has = [&](const char* what, const TensorData& tensor, const Shape& expected) {
      if (tensor.shape == expected) return;
      add(fmt::format("{} {} is not {}, as partial_out {} requires", what, shape_text(tensor.shape),
                      shape_text(expected), shape_text(partial_out_->shape)),
          shapes_remedy);
    };
    Shape of_lse = partial_out_->shape;
    of_lse.pop_back();
    has("partial_lse", *partial_lse_, of_lse);
    has("out", *out_, {problem_.batch, problem_.heads_q, problem_.head_dim_vo});
    return errors_.empty();
  }

  // Hides parts with an LSE of -infinity: they have no keys. +infinity and NaN are errors.
  bool find_empty_parts(const Geometry& geometry) {
    const std::int64_t words = (problem_.seq_kv + 31) / 32;
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(problem_.batch * words), 0);
    bool has_empty = false;
    for (std::int64_t token = 0; token < problem_.batch; ++token) {
      for (std::int64_t part = 0; part < geometry.length_kv(token); ++part) {
        const double first = lse_at(geometry.k_offset(token, part, 0));
        for (std::int64_t head = 0; head < problem_.heads_kv; ++head) {
          const double lse = lse_at(geometry.k_offset(token, part, head));
          if (std::isnan(lse) || lse > std::numeric_limits<float>::max()) {
            return add(fmt::format("partial_lse is {} at token {}, part {}, head {}", lse, token,
                                   part, head),
                       "the result of a merge with it is undefined; write -infinity if a part has "
                       "no keys (vLLM reads infinity as -infinity)");
          }
          if (std::isinf(lse) != std::isinf(first)) {
            return add(fmt::format("partial_lse is -infinity in some heads of token {}, part {}",
                                   token, part),
                       "a part has keys for all heads or for none: dump the heads separately");
          }
        }
        if (std::isinf(first)) {
          has_empty = true;
        } else {
          bits[static_cast<std::size_t>(token * words + part / 32)] |= 1U << (part % 32);
        }
      }
    }
    if (!has_empty) return true;
    problem_.mask = Mask::custom;
    layout_.mask_bits = std::move(bits);
    return true;
  }
  double lse_at(std::int64_t offset) const {
    return decode_at(DType::f32, partial_lse_->data, static_cast<std::size_t>(offset));
  }

  bool copy_data() {
    if (!find_empty_parts(Geometry(problem_, layout_))) return false;
    auto k = tensors_.floats("partial_lse", *partial_lse_, DType::f32);
    auto v = tensors_.floats("partial_out", *partial_out_, problem_.dtype);
    auto out = tensors_.floats("out", *out_, problem_.out());
    Problem rows;  // with an LSE [tokens, heads] or [heads, tokens]
    rows.layout = Layout::ragged, rows.heads_q = problem_.heads_q, rows.merge = problem_.merge;
    const bool rows_fine =
        read_row_outputs(rows, problem_.batch, stated_.lse_heads_first, tensors_, dump_);
    if (!k || !v || !out || !rows_fine || !errors_.empty()) return false;
    dump_.name = name_;
    dump_.geometry = std::make_shared<const Geometry>(problem_, layout_);
    const std::vector<float> ones(static_cast<std::size_t>(dump_.geometry->q.elements), 1.0F);
    dump_.q.resize(dump_.geometry->q.bytes());
    encode(DType::f32, ones, dump_.q.data());
    dump_.k = std::move(*k), dump_.v = std::move(*v), dump_.out = std::move(*out);
    dump_.spec = stated_.spec;
    dump_.lse_base = stated_.lse_base.value_or(0);
    dump_.attributes = attributes_;
    return true;
  }

  const TensorData *partial_out_ = nullptr, *partial_lse_ = nullptr, *out_ = nullptr;
};

}  // namespace

bool is_merge_dump(const std::map<std::string, TensorData>& tensors) {
  return tensors.count("partial_out") != 0 || tensors.count("partial_lse") != 0;
}

Result<Dump> make_merge_dump(const std::string& name,
                             const std::map<std::string, TensorData>& tensors,
                             const Attributes& stated) {
  return MergeDumpMaker(name, tensors, stated).make();
}

}  // namespace plumbline
