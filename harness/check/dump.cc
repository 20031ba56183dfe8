// Builds a dump's problem, inputs and outputs from its tensors, and checks them at each step.
#include "harness/check/dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "harness/check/dump_parts.h"
#include "harness/check/feature_tensors.h"
#include "harness/check/mask_tensor.h"
#include "harness/check/merge_dump.h"
#include "harness/check/row_tensors.h"
#include "harness/check/scale_tensors.h"
#include "harness/check/shapes.h"
#include "harness/check/stated_lengths.h"

namespace plumbline {
namespace {

// Statistics and value ranges are kept per (sample, head, column). Beyond this number, memory may
// run out.
constexpr std::int64_t max_head_columns = std::int64_t{1} << 28;

class DumpMaker : public DumpParts {
 public:
  using DumpParts::DumpParts;

  Result<Dump> make() {
    // Each step needs the results of the steps before it.
    const bool ok = errors_.empty() && find_tensors() && choose_layout() && set_problem() &&
                    find_lengths() && find_side_inputs() && set_mask() && copy_data();
    if (!ok) return tl::unexpected(printable_errors());
    read_in_other_dtype();
    note_unjudged_parts();
    note_padding_by_mask();
    return std::move(dump_);
  }

 private:
  bool fine() const { return errors_.empty(); }

  bool find_tensors() {
    const TensorData* const q = tensors_.need("q");
    const TensorData* const k = tensors_.need("k");
    const TensorData* const v = tensors_.need("v");
    out_ = tensors_.find("out");
    if (q == nullptr || k == nullptr || v == nullptr) return false;
    q_ = q, k_ = k, v_ = v;
    shapes_ = {q->shape, k->shape, v->shape,
               out_ != nullptr ? std::optional(out_->shape) : std::nullopt};
    return find_dtypes();
  }

  bool find_dtypes() {
    for (const auto& [name, tensor] : std::array{std::pair{"q", q_}, std::pair{"k", k_},
                                                 std::pair{"v", v_}, std::pair{"out", out_}}) {
      if (tensor == nullptr) continue;
      const auto dtype = float_dtype(tensor->dtype);
      if (!dtype)
        return add(fmt::format("tensor {} has dtype {}", name, tensor->dtype),
                   "write it as F32, F16, BF16 or fp8");
    }
    for (const auto& [name, tensor] : inputs()) {
      if (stated_.dtype || *float_dtype(tensor->dtype) != DType::f64) continue;
      return add(
          fmt::format("tensor {} has dtype F64, which no attention kernel computes in", name),
          "state the dtype that the kernel saw: dtype = fp32, fp16 or bf16");
    }
    const DType of_k = *float_dtype(k_->dtype), of_v = *float_dtype(v_->dtype);
    const bool fp8_q = is_fp8(*float_dtype(q_->dtype)), fp8_kv = is_fp8(of_k) || is_fp8(of_v);
    problem_.dtype = fp8_q && !stated_.dtype ? *float_dtype(q_->dtype) : computed_dtype();
    if (!is_wide_enough()) return false;
    if ((fp8_q || fp8_kv) && (of_k != of_v || !is_fp8(of_k))) {
      return add(fmt::format("tensor k is {}, v is {}, q is {}: these cannot be mixed", k_->dtype,
                             v_->dtype, q_->dtype),
                 "k and v must have one fp8 dtype if any of q, k and v is fp8: save what the "
                 "kernel saw");
    }
    if (fp8_kv) problem_.kv_dtype = of_k;
    return find_output_dtype();
  }

  using NamedInputs = std::array<std::pair<const char*, const TensorData*>, 3>;
  NamedInputs inputs() const { return {{{"q", q_}, {"k", k_}, {"v", v_}}}; }

  // Returns true if those of q, k and v that are not fp8 have several dtypes.
  bool are_mixed() const {
    std::set<std::string> dtypes;
    for (const auto& [name, tensor] : inputs()) {
      if (!is_fp8(*float_dtype(tensor->dtype))) dtypes.insert(tensor->dtype);
    }
    return dtypes.size() > 1;
  }

  // Autocast rounds wider inputs to its dtype, and its output has that dtype. So a 16-bit output
  // has the kernel's dtype. Otherwise, inputs of several dtypes are promoted to fp32.
  DType computed_dtype() const {
    if (stated_.dtype) return *stated_.dtype;
    const DType of_q = *float_dtype(q_->dtype),
                out = out_ == nullptr ? DType::f32 : *float_dtype(out_->dtype);
    if (size_in_bytes(out) == 2) return out;
    return are_mixed() ? DType::f32 : of_q;
  }

  // Returns true if inputs were saved in another dtype and the kernel rounds them to 16 bits. The
  // inputs then have several dtypes, or the output has the kernel's dtype.
  bool rounds_inputs() const {
    if (size_in_bytes(problem_.dtype) != 2) return false;
    return are_mixed() || (out_ != nullptr && *float_dtype(out_->dtype) == problem_.dtype);
  }

  bool is_wide_enough() {
    if (!stated_.dtype) return true;
    for (const auto& [name, tensor] : inputs()) {
      if (size_in_bytes(*float_dtype(tensor->dtype)) >= size_in_bytes(problem_.dtype)) return true;
    }
    return add(fmt::format("attribute dtype: {} is wider than q, which is {}",
                           plumbline::name(problem_.dtype), q_->dtype),
               "leave the attribute out");
  }

  // A kernel may write fp32 or a narrower dtype. If q and the output were saved in one wider dtype,
  // an output that fits the kernel's dtype counts as written in that dtype.
  bool find_output_dtype() {
    if (out_ == nullptr) return true;
    const DType out = *float_dtype(out_->dtype);
    if (is_fp8(out) && problem_.dtype == DType::f32) {
      return add(fmt::format("tensor out is {}, q is {}", out_->dtype, q_->dtype),
                 "an fp8 output is judged with q in F16, BF16 or fp8: save q as the kernel saw it, "
                 "or state its dtype");
    }
    problem_.out_dtype = size_in_bytes(out) > 4 ? DType::f32 : out;
    const bool saved_wide = stated_.dtype && out_->dtype == q_->dtype && !problem_.has_fp8_q() &&
                            size_in_bytes(out) > size_in_bytes(problem_.dtype);
    if (saved_wide && TensorSet::fits(*out_, problem_.dtype)) problem_.out_dtype = problem_.dtype;
    return true;
  }

  std::optional<std::vector<std::byte>> input(const char* name, const TensorData& tensor,
                                              DType dtype) {
    const DType found = *float_dtype(tensor.dtype);
    const bool rounds = found != dtype && !is_fp8(dtype) && rounds_inputs();
    if (rounds && !TensorSet::fits(tensor, dtype)) rounded_.emplace_back(name);
    using Narrowing = TensorSet::Narrowing;
    return tensors_.floats(name, tensor, dtype, rounds ? Narrowing::rounds : Narrowing::exact);
  }

  // Notes what was rounded. If the dtype is not stated but has an alternative, also makes the dump
  // in that dtype.
  void read_in_other_dtype() {
    const bool rounded = !rounded_.empty();
    if (rounded) {
      dump_.notes.push_back(fmt::format(
          "{} {} rounded to {} before the kernel, as autocast does", fmt::join(rounded_, " and "),
          rounded_.size() == 1 ? "was" : "were", plumbline::name(problem_.dtype)));
    }
    if (stated_.dtype || problem_.has_fp8_kv() || !(rounded || are_mixed())) return;
    DType other = DType::f32;
    for (const auto& [name, tensor] : inputs()) {
      const DType found = *float_dtype(tensor->dtype);
      if (!rounded && size_in_bytes(found) == 2) other = found;
    }
    if (other == problem_.dtype) return;
    Attributes attributes = attributes_;
    attributes["dtype"] = plumbline::name(other);
    auto dump = DumpMaker(name_, all_, attributes).make();
    if (dump) dump_.in_other_dtype = std::make_shared<const Dump>(*std::move(dump));
  }

  // Lists rows that are padding only because of a mask of valid keys. They are not judged unless
  // padded_rows states what they hold.
  void note_padding_by_mask() {
    const Geometry& geometry = *dump_.geometry;
    const bool is_looked_at = stated_.padded_rows == "zeros" || stated_.padded_rows == "attended";
    if (!implied_ || is_looked_at || tensors_.find("seqlens_q") != nullptr) return;
    const std::int64_t given = problem_.batch * problem_.seq_q * problem_.heads_q,
                       valid = geometry.total_q() * problem_.heads_q;
    if (valid < given)
      dump_.not_judged.push_back(
          {"rows", given - valid, given, "padding by the mask of valid keys"});
  }

  bool choose_layout() {
    const bool lengths =
        tensors_.find("cu_seqlens") != nullptr || tensors_.find("cu_seqlens_q") != nullptr;
    std::array<Layout, 2> candidates{Layout::padded_bshd, Layout::padded_bhsd};
    if (tensors_.find("page_table") != nullptr) {
      candidates = {Layout::paged_nhd, Layout::paged_hnd};
    } else if (lengths) {
      candidates = {Layout::ragged, Layout::ragged};
    }
    if (stated_.layout) candidates = {*stated_.layout, *stated_.layout};
    std::array<std::vector<std::string>, 2> misfits;
    for (std::size_t i = 0; i < 2; ++i) misfits[i] = misfits_of(candidates[i]);
    if (misfits[0].empty() && misfits[1].empty() && candidates[0] != candidates[1] &&
        shapes_.q.size() != 2 && shapes_.q.size() != 3) {
      return add(
          fmt::format("q {}, k {} fit {} and {}", shape_text(shapes_.q), shape_text(shapes_.k),
                      plumbline::name(candidates[0]), plumbline::name(candidates[1])),
          fmt::format("state layout = {} or {}{}", plumbline::name(candidates[0]),
                      plumbline::name(candidates[1]),
                      candidates[0] == Layout::padded_bshd
                          ? ": PyTorch's scaled_dot_product_attention takes padded_bhsd, "
                            "FlashAttention padded_bshd"
                          : ""));
    }
    const std::size_t chosen = misfits[0].empty() ? 0 : misfits[1].empty() ? 1 : 0;
    if (!misfits[chosen].empty()) return report_misfits(candidates, misfits);
    problem_.layout = candidates[chosen];
    std::vector<std::string> none;
    sizes_ = read_sizes(problem_.layout, shapes_, none);
    return true;
  }

  // Returns why a layout does not fit: by the shapes, by the last extent of a mask (seq_kv), or by
  // the tokens of a page (page_size).
  std::vector<std::string> misfits_of(Layout layout) const {
    std::vector<std::string> misfits;
    const DumpSizes sizes = read_sizes(layout, shapes_, misfits);
    if (!misfits.empty()) return misfits;
    for (const char* name : {"mask", "attn_bias"}) {
      const TensorData* mask = tensors_.find(name);
      if (mask == nullptr || sizes.seq_kv == 0 || mask->shape.empty() ||
          mask->shape.back() == sizes.seq_kv || mask->shape.back() == 1)
        continue;
      misfits.push_back(fmt::format("the last extent of {} {} is not the number of keys, {}", name,
                                    shape_text(mask->shape), sizes.seq_kv));
    }
    if (stated_.page_size && sizes.page_size != 0 && sizes.page_size != *stated_.page_size) {
      misfits.push_back(fmt::format("a page of k {} holds {} tokens, but page_size is {}",
                                    shape_text(shapes_.k), sizes.page_size, *stated_.page_size));
    }
    return misfits;
  }

  bool report_misfits(const std::array<Layout, 2>& candidates,
                      const std::array<std::vector<std::string>, 2>& misfits) {
    for (std::size_t i = 0; i < (candidates[0] == candidates[1] ? 1U : 2U); ++i) {
      for (const std::string& misfit : misfits[i]) {
        add(fmt::format("as {}: {}", plumbline::name(candidates[i]), misfit),
            "docs/dump-format.md has the shapes of each layout");
      }
    }
    return false;
  }

  bool set_problem() {
    problem_.heads_q = sizes_.heads_q, problem_.heads_kv = sizes_.heads_kv;
    problem_.head_dim_qk = sizes_.head_dim_qk, problem_.head_dim_vo = sizes_.head_dim_vo;
    problem_.batch = std::max<std::int64_t>(sizes_.batch, problem_.is_padded() ? 0 : 1);
    if (problem_.is_padded()) problem_.seq_q = sizes_.seq_q, problem_.seq_kv = sizes_.seq_kv;
    if (problem_.is_paged()) problem_.page_size = sizes_.page_size;
    problem_.window_left = stated_.window_left, problem_.window_right = stated_.window_right;
    problem_.scale = stated_.scale;
    problem_.softcap = stated_.softcap;
    problem_.padding = stated_.padding.value_or(Padding::right);
    problem_.lse = tensors_.find("lse") != nullptr;
    problem_.mask = stated_.mask.value_or(Mask::none);
    return check_problem();
  }

  bool check_problem() {
    Problem known = problem_;
    // validate() accepts only outputs in the dtype of Q or fp32, but a user's kernel may differ.
    if (!known.has_fp8_q() && !is_fp8(known.out()) && known.out() != known.dtype)
      known.out_dtype = DType::f32;
    for (const std::string& wrong : validate(known))
      add(wrong, "docs/dump-format.md says what can be judged");
    if (fine() && problem_.batch * problem_.heads_q >
                      max_head_columns / std::max(problem_.head_dim_qk, problem_.head_dim_vo)) {
      add(fmt::format("{} samples of {} heads are too many to be judged at once", problem_.batch,
                      problem_.heads_q),
          "dump fewer samples");
    }
    return fine();
  }

  bool find_lengths() {
    if (problem_.is_padded() && !read_mask_tensors()) return false;
    if (implied_ && stated_.padding.value_or(implied_->padding) != implied_->padding) {
      return add(fmt::format("attribute padding: {} is stated, the mask tensor is padded {}",
                             plumbline::name(*stated_.padding), plumbline::name(implied_->padding)),
                 "leave the attribute out");
    }
    if (implied_) problem_.padding = implied_->padding;
    auto lengths = stated_lengths(problem_, sizes_, tensors_, implied_);
    if (!lengths) return false;
    layout_ = std::move(*lengths);
    problem_.batch = static_cast<std::int64_t>(layout_.seqlens_q.size());
    if (!problem_.is_padded()) {
      problem_.seq_q = longest(layout_.seqlens_q);
      problem_.seq_kv = longest(layout_.seqlens_kv);
    }
    const auto shorter = [](const std::vector<std::int32_t>& lengths_of, std::int64_t full) {
      return std::ranges::any_of(lengths_of, [&](std::int32_t n) { return n != full; });
    };
    if (shorter(layout_.seqlens_q, problem_.seq_q) || shorter(layout_.seqlens_kv, problem_.seq_kv))
      problem_.lengths = Lengths::random;
    return check_problem() && (problem_.is_padded() || read_mask_tensors());
  }

  bool find_side_inputs() {
    layout_.side = read_scales(problem_, stated_.scale_block, tensors_);
    return layout_.side && read_features(problem_, *layout_.side, tensors_) && check_problem();
  }

  static std::int64_t longest(const std::vector<std::int32_t>& lengths) {
    return std::max<std::int64_t>(1, lengths.empty() ? 1 : *std::ranges::max_element(lengths));
  }

  bool read_mask_tensors() {
    for (const char* name : {"mask", "attn_bias"}) {
      const TensorData* tensor = tensors_.find(name);
      if (tensor == nullptr) continue;
      auto mask = read_mask(name, *tensor, problem_, tensors_);
      if (!mask) return false;
      if (mask->bias != nullptr && layout_bias_ != nullptr) {
        return add(
            "tensors mask and attn_bias both hold biases",
            "write their sum as attn_bias, or leave out the one that the kernel did not add");
      }
      if (mask->bias != nullptr) layout_bias_ = mask->bias;
      // A bias that hides no key is not a mask.
      if (mask->hides || mask->bias == nullptr) masks_.push_back(*std::move(mask));
    }
    const bool lengths_stated = tensors_.find("seqlens_kv") != nullptr ||
                                tensors_.find("cu_seqlens_kv") != nullptr ||
                                tensors_.find("cu_seqlens") != nullptr;
    if (!masks_.empty() && !lengths_stated && problem_.is_padded())
      implied_ = implied_lengths(masks_.front(), problem_);
    return true;
  }

  bool set_mask() {
    if (stated_.causal && problem_.mask == Mask::none) {
      if (layout_.seqlens_q != layout_.seqlens_kv) {
        return add(
            "attribute causal: if queries and keys differ in number, causal has two meanings",
            "state mask = causal_top_left (query i sees keys j <= i: PyTorch is_causal) or "
            "causal_bottom_right (the last query sees all keys: "
            "FlashAttention, FlashInfer)");
      }
      problem_.mask = Mask::causal_bottom_right;
    }
    layout_.bias = layout_bias_;
    const bool only_lengths = masks_.size() == 1 && implied_ && masks_.front().key_padding &&
                              masks_.front().heads == 1 && !masks_.front().has_holes;
    if (masks_.empty() || only_lengths) return fine();
    dump_.mask_tensor = true;
    const auto message = add_visible_keys(masks_, problem_, layout_);
    return message ? add(*message, "dump fewer samples or heads") : fine();
  }

  bool copy_data() {
    auto q = input("q", *q_, problem_.dtype);
    auto k = input("k", *k_, problem_.kv());
    auto v = input("v", *v_, problem_.kv());
    auto out =
        out_ != nullptr ? tensors_.floats("out", *out_, problem_.out()) : std::vector<std::byte>{};
    const bool rows_fine =
        read_row_outputs(problem_, total_rows(), stated_.lse_heads_first, tensors_, dump_);
    if (!q || !k || !v || !out || !rows_fine || !fine()) return false;
    layout_.page_count = sizes_.page_count;
    dump_.name = name_;
    dump_.geometry = std::make_shared<const Geometry>(problem_, std::move(layout_));
    dump_.q = std::move(*q), dump_.k = std::move(*k), dump_.v = std::move(*v),
    dump_.out = std::move(*out);
    if (!sizes_agree()) return false;
    dump_.spec = stated_.spec;
    dump_.padded_rows = stated_.padded_rows;
    dump_.lse_base = stated_.lse_base.value_or(0);
    dump_.attributes = attributes_;
    return true;
  }

  // Returns the number of query rows of a sample (padded) or of all samples.
  std::int64_t total_rows() const {
    if (problem_.is_padded()) return problem_.seq_q;
    return std::accumulate(layout_.seqlens_q.begin(), layout_.seqlens_q.end(), std::int64_t{0});
  }

  // A last check, so that nothing reads beyond a tensor's end even if a step above missed an error.
  bool sizes_agree() {
    const Geometry& geometry = *dump_.geometry;
    const bool agree =
        dump_.q.size() == geometry.q.bytes() && dump_.k.size() == geometry.k.bytes() &&
        dump_.v.size() == geometry.v.bytes() &&
        (dump_.out.empty() || dump_.out.size() == geometry.out.bytes()) &&
        std::all_of(dump_rows.values_.begin(), dump_rows.values_.end(), [&](auto of) {
          return (dump_.*of).empty() || (dump_.*of).size() == geometry.row_shape.bytes();
        });
    return agree || add("the tensors' shapes do not fit their lengths",
                        "docs/dump-format.md has the shapes of each layout");
  }

  const TensorData *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *out_ = nullptr;
  DumpShapes shapes_;
  std::vector<std::string> rounded_;  // inputs that lost bits by rounding
  DumpSizes sizes_;
  std::vector<MaskTensor> masks_;
  std::shared_ptr<const LogitBias> layout_bias_;
  std::optional<ImpliedLengths> implied_;
};

}  // namespace

OutputView Dump::outputs() const {
  OutputView view{.out = out.data(), .lse_base = lse_base};
  for (const RowOutput output : all<RowOutput>()) {
    const std::vector<std::byte>& data = this->*dump_rows[output];
    if (!data.empty()) view.*row_output_data[output] = data.data();
  }
  return view;
}

Result<Dump> make_dump(const std::string& name, const std::map<std::string, TensorData>& tensors,
                       const Attributes& stated) {
  return is_merge_dump(tensors) ? make_merge_dump(name, tensors, stated)
                                : DumpMaker(name, tensors, stated).make();
}

Result<Dump> read_dump(const std::filesystem::path& path, const Attributes& stated) {
  auto file = read_safetensors(path);
  if (!file) return tl::unexpected(file.error());
  Attributes attributes = stated;
  attributes.insert(file->metadata.begin(), file->metadata.end());
  return make_dump(path.string(), file->tensors, attributes);
}

}  // namespace plumbline
