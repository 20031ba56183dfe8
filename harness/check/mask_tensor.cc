// Reads a boolean or additive mask as one key range a row, and finds the lengths it implies.
#include "harness/check/mask_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

// additive masks in use hold -inf, the dtype's lowest number, -1e4 or -1e9
constexpr double hidden_from = -1e4;
constexpr auto remedy =
    "a mask is [batch, seq_kv], [seq_q, seq_kv], [batch, seq_q, seq_kv] or [batch, heads, seq_q, "
    "seq_kv], with one contiguous range of "
    "visible keys in each row";

class MaskReader {
 public:
  MaskReader(const TensorData& tensor, const Problem& problem, TensorSet& tensors)
      : tensor_(tensor), problem_(problem), tensors_(tensors), float_(float_dtype(tensor.dtype)) {}

  std::optional<MaskTensor> read() {
    if (!find_extents()) return std::nullopt;
    MaskTensor mask;
    mask.key_padding = extent_[2] == 1 && problem_.seq_q > 1;
    mask.rows = problem_.seq_q;
    const std::int64_t rows = mask.key_padding ? 1 : problem_.seq_q;
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto range = visible_in(b, i);
        if (!range) return std::nullopt;
        mask.visible.push_back(*range);
      }
    }
    return mask;
  }

 private:
  // As [batch, heads, seq_q, seq_kv], each of them or 1.
  bool find_extents() {
    const Shape& shape = tensor_.shape;
    const std::int64_t b = problem_.batch, sq = problem_.seq_q, skv = problem_.seq_kv;
    if (shape.size() == 2) {
      const bool padding = shape[0] == b && shape[1] == skv,
                 rows = shape[0] == sq && shape[1] == skv;
      if (padding && rows && b > 1) {
        tensors_.add(
            fmt::format("tensor mask {} may be [batch, seq_kv] or [seq_q, seq_kv]: both are {}",
                        shape_text(shape), b),
            "write it as [batch, 1, seq_q, seq_kv], or [batch, 1, 1, seq_kv] for padding");
        return false;
      }
      extent_ = padding ? std::array{b, std::int64_t{1}, std::int64_t{1}, skv}
                        : std::array{std::int64_t{1}, std::int64_t{1}, shape[0], shape[1]};
    } else if (shape.size() == 3) {
      extent_ = {shape[0], 1, shape[1], shape[2]};
    } else if (shape.size() == 4) {
      extent_ = {shape[0], shape[1], shape[2], shape[3]};
    }
    const std::array wanted{b, problem_.heads_q, sq, skv};
    bool fits = shape.size() >= 2 && shape.size() <= 4 && extent_[3] == skv;
    for (std::size_t i = 0; i < 3; ++i) fits = fits && (extent_[i] == wanted[i] || extent_[i] == 1);
    if (!fits) {
      tensors_.add(
          fmt::format("tensor mask {} does not fit batch {}, {} heads, seq_q {}, seq_kv {}",
                      shape_text(shape), b, problem_.heads_q, sq, skv),
          remedy);
    }
    return fits;
  }

  std::size_t index(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const auto at = [&](std::size_t d, std::int64_t n) { return extent_[d] == 1 ? 0 : n; };
    return static_cast<std::size_t>(((at(0, b) * extent_[1] + at(1, h)) * extent_[2] + at(2, i)) *
                                    extent_[3]);
  }

  // Whether a key is visible; nullopt for a value that says neither.
  std::optional<bool> is_visible(std::size_t at) const {
    if (float_) {
      const double value = decode_at(*float_, tensor_.data, at);
      if (value == 0) return true;
      if (value <= hidden_from) return false;
      return std::nullopt;
    }
    const auto value = integer_at(tensor_, at);
    if (!value || *value < 0 || *value > 1) return std::nullopt;
    return *value == 1;
  }

  std::optional<KeyRange> visible_in(std::int64_t b, std::int64_t i) {
    KeyRange first;
    for (std::int64_t h = 0; h < extent_[1]; ++h) {
      const auto range = range_at(index(b, h, i), b, i);
      if (!range) return std::nullopt;
      if (h == 0) first = *range;
      if (*range == first) continue;
      tensors_.add(fmt::format("tensor mask: heads 0 and {} differ in sample {}, row {}: masks by "
                               "head are not supported yet",
                               h, b, i),
                   remedy);
      return std::nullopt;
    }
    return first;
  }

  std::optional<KeyRange> range_at(std::size_t start, std::int64_t b, std::int64_t i) {
    KeyRange range;
    for (std::int64_t key = 0; key < problem_.seq_kv; ++key) {
      const auto visible = is_visible(start + static_cast<std::size_t>(key));
      if (!visible) {
        tensors_.add(fmt::format("tensor mask ({}): {} at sample {}, row {}, key {} means neither "
                                 "visible nor hidden",
                                 tensor_.dtype, value_text(start + static_cast<std::size_t>(key)),
                                 b, i, key),
                     "integers and booleans: 1 = visible, 0 = hidden; numbers added to the logits: "
                     "0 = visible, -inf = hidden. Biases are "
                     "not supported yet");
        return std::nullopt;
      }
      if (!*visible) continue;
      if (range.size() == 0) range.begin = key;
      if (range.size() > 0 && range.end != key) {
        tensors_.add(fmt::format("tensor mask: sample {}, row {} sees keys {} and {} but not {}: "
                                 "masks with holes are not supported yet",
                                 b, i, range.end - 1, key, range.end),
                     remedy);
        return std::nullopt;
      }
      range.end = key + 1;
    }
    return range;
  }

  std::string value_text(std::size_t at) const {
    if (float_) return fmt::format("{:.6g}", decode_at(*float_, tensor_.data, at));
    const auto value = integer_at(tensor_, at);
    return value ? fmt::format("{}", *value) : "a value";
  }

  const TensorData& tensor_;
  const Problem& problem_;
  TensorSet& tensors_;
  std::optional<DType> float_;
  std::array<std::int64_t, 4> extent_{};
};

// The end at which a range leaves keys out; nullopt where it leaves none or both.
enum class Side { none, begin, end, both };
Side hidden_side(const KeyRange& range, std::int64_t keys) {
  if (range.size() == 0) return Side::end;  // no valid key
  if (range.begin > 0 && range.end < keys) return Side::both;
  if (range.begin > 0) return Side::begin;
  return range.end < keys ? Side::end : Side::none;
}

// The keys that some row sees, if the rows outside of that range are padding, too: they see
// nothing, or what all rows see.
std::optional<KeyRange> valid_keys_of_square(const KeyRange* rows, std::int64_t count) {
  KeyRange all;
  bool alike = true;
  for (std::int64_t i = 0; i < count; ++i) {
    alike = alike && rows[i] == rows[0];
    if (rows[i].size() == 0) continue;
    all = all.size() == 0
              ? rows[i]
              : KeyRange{std::min(all.begin, rows[i].begin), std::max(all.end, rows[i].end)};
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const bool outside = i < all.begin || i >= all.end;
    if (outside && rows[i].size() > 0 && !alike) return std::nullopt;
  }
  return all;
}

}  // namespace

std::optional<MaskTensor> read_mask(const TensorData& tensor, const Problem& problem,
                                    TensorSet& tensors) {
  return MaskReader(tensor, problem, tensors).read();
}

std::optional<ImpliedLengths> implied_lengths(const MaskTensor& mask, const Problem& problem) {
  if (!mask.key_padding && problem.seq_q != problem.seq_kv) return std::nullopt;
  ImpliedLengths implied;
  bool any = false, left = false, right = false;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const KeyRange* rows = mask.visible.data() + (mask.key_padding ? b : b * mask.rows);
    const auto range =
        mask.key_padding ? std::optional(rows[0]) : valid_keys_of_square(rows, mask.rows);
    if (!range) return std::nullopt;
    const Side side = hidden_side(*range, problem.seq_kv);
    if (side == Side::both) return std::nullopt;
    any = any || side != Side::none;
    left = left || side == Side::begin;
    right = right || (side == Side::end && range->size() > 0);
    implied.lengths.push_back(static_cast<std::int32_t>(range->size()));
  }
  if (!any || (left && right)) return std::nullopt;
  implied.padding = left ? Padding::left : Padding::right;
  return implied;
}

}  // namespace plumbline
