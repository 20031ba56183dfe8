// Reads boolean and additive masks and biases, and finds the lengths and visible keys they state.
#include "harness/check/mask_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace plumbline {
namespace {

// Additive masks in use hide keys with -inf, the dtype's lowest number, -1e4 or -1e9.
constexpr double hidden_from = -1e4;
constexpr double max_mask_bits = 0x1p33;  // 1 GiB
constexpr auto remedy =
    "a mask is [batch, seq_kv], [seq_q, seq_kv], [batch, seq_q, seq_kv], [heads, seq_q, seq_kv] or "
    "[batch, heads, seq_q, seq_kv]; write it with four extents; all but the last may be 1";

bool hides_key(const TensorData& tensor, std::size_t at) {
  if (const auto dtype = float_dtype(tensor.dtype))
    return decode_at(*dtype, tensor.data, at) <= hidden_from;
  return integer_at(tensor, at) == 0;
}

}  // namespace

std::size_t MaskTensor::index(std::int64_t sample, std::int64_t head, std::int64_t row,
                              std::int64_t key) const {
  const auto at = [&](std::size_t d, std::int64_t n) { return extent_[d] == 1 ? 0 : n; };
  return static_cast<std::size_t>(
      ((at(0, sample) * extent_[1] + at(1, head)) * extent_[2] + at(2, row)) * extent_[3] +
      at(3, key));
}

bool MaskTensor::sees(std::int64_t head, std::int64_t sample, std::int64_t row,
                      std::int64_t key) const {
  return !hides_key(tensor_, index(sample, head, row, key));
}

const KeyRange& MaskTensor::range(std::int64_t head, std::int64_t sample, std::int64_t row) const {
  return visible[static_cast<std::size_t>(((heads == 1 ? 0 : head) * batch_ + sample) * rows +
                                          (key_padding ? 0 : row))];
}

class MaskReader {
 public:
  MaskReader(const std::string& name, const TensorData& tensor, const Problem& problem,
             TensorSet& tensors)
      : name_(name),
        tensor_(tensor),
        problem_(problem),
        tensors_(tensors),
        float_(float_dtype(tensor.dtype)) {}

  std::optional<MaskTensor> read() {
    if (name_ == "attn_bias" && !float_) {
      refuse(fmt::format("has dtype {}", tensor_.dtype),
             "write a bias as F32, F16 or BF16; to hide keys, use the tensor mask");
      return std::nullopt;
    }
    mask_.tensor_ = tensor_;
    mask_.batch_ = problem_.batch;
    if (!find_extents() || !check_values()) return std::nullopt;
    mask_.key_padding = mask_.extent_[2] == 1 && problem_.seq_q > 1;
    mask_.rows = mask_.key_padding ? 1 : problem_.seq_q;
    mask_.heads = mask_.extent_[1];
    for (std::int64_t h = 0; h < mask_.heads; ++h) {
      for (std::int64_t b = 0; b < problem_.batch; ++b) {
        for (std::int64_t i = 0; i < mask_.rows; ++i) mask_.visible.push_back(range_at(b, h, i));
      }
    }
    if (is_bias_ && !copy_bias()) return std::nullopt;
    return std::move(mask_);
  }

 private:
  bool refuse(const std::string& what, std::string how) {
    tensors_.add(fmt::format("tensor {} {}", name_, what), std::move(how));
    return false;
  }

  // Finds the extents [batch, heads, seq_q, seq_kv], each of them full or 1.
  bool find_extents() {
    const Shape& shape = tensor_.shape;
    auto& extent = mask_.extent_;
    const std::int64_t b = problem_.batch, h = problem_.heads_q, sq = problem_.seq_q,
                       skv = problem_.seq_kv;
    if (shape.size() == 2) {
      const bool padding = name_ == "mask" && shape[0] == b && shape[1] == skv,
                 rows = shape[0] == sq && shape[1] == skv;
      if (padding && rows && b > 1) {
        return refuse(
            fmt::format("{} may be [batch, seq_kv] or [seq_q, seq_kv]: batch and seq_q are {}",
                        shape_text(shape), b),
            "write it as [batch, 1, seq_q, seq_kv], or [batch, 1, 1, seq_kv] for padding");
      }
      extent = padding ? std::array{b, std::int64_t{1}, std::int64_t{1}, skv}
                       : std::array{std::int64_t{1}, std::int64_t{1}, shape[0], shape[1]};
    } else if (shape.size() == 3) {
      if (shape[0] == b && b == h && b > 1 && parts_differ(b)) {
        return refuse(fmt::format("{} may be [batch, seq_q, seq_kv] or [heads, seq_q, seq_kv]: "
                                  "batch and heads are {}",
                                  shape_text(shape), b),
                      "write it as [batch, 1, seq_q, seq_kv] or [1, heads, seq_q, seq_kv]");
      }
      extent = shape[0] == h && h != b ? std::array{std::int64_t{1}, h, shape[1], shape[2]}
                                       : std::array{shape[0], std::int64_t{1}, shape[1], shape[2]};
    } else if (shape.size() == 4) {
      extent = {shape[0], shape[1], shape[2], shape[3]};
    }
    const std::array wanted{b, h, sq, skv};
    bool fits = shape.size() >= 2 && shape.size() <= 4;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool may_be_longer = i >= 2 && !problem_.is_padded();
      fits = fits &&
             (extent[i] == wanted[i] || extent[i] == 1 || (may_be_longer && extent[i] > wanted[i]));
    }
    return fits || refuse(fmt::format("{} does not fit batch {}, {} heads, seq_q {}, seq_kv {}",
                                      shape_text(shape), b, h, sq, skv),
                          remedy);
  }

  // Returns true if the `parts` equal parts of the first extent hold different bits.
  bool parts_differ(std::int64_t parts) const {
    const std::size_t size = tensor_.bytes / static_cast<std::size_t>(parts);
    for (std::size_t at = size; at + size <= tensor_.bytes; at += size) {
      if (std::memcmp(tensor_.data, tensor_.data + at, size) != 0) return true;
    }
    return false;
  }

  // Refuses values without a meaning, and sets is_bias_ if any value is a bias.
  bool check_values() {
    for (std::size_t at = 0, count = element_count(tensor_); at < count; ++at) {
      if (!float_) {
        const auto value = integer_at(tensor_, at);
        if (value && (*value == 0 || *value == 1)) continue;
        return refuse(fmt::format("({}): {} at {} means neither visible nor hidden", tensor_.dtype,
                                  value ? fmt::format("{}", *value) : "a value", place(at)),
                      "write integers and booleans as 1 = visible, 0 = hidden");
      }
      const double value = decode_at(*float_, tensor_.data, at);
      if (std::isnan(value) || value == std::numeric_limits<double>::infinity()) {
        return refuse(fmt::format("({}): {} at {} cannot be added to a logit", tensor_.dtype, value,
                                  place(at)),
                      "write 0 for a visible key, -inf for a hidden one, another number as a bias");
      }
      is_bias_ = is_bias_ || (value != 0 && value > hidden_from);
    }
    return true;
  }

  std::string place(std::size_t at) const {
    const auto index = static_cast<std::int64_t>(at), keys = mask_.extent_[3],
               rows = mask_.extent_[2], of_heads = mask_.extent_[1];
    std::string text = fmt::format("sample {}", index / keys / rows / of_heads);
    if (of_heads > 1) text += fmt::format(", head {}", index / keys / rows % of_heads);
    return text + fmt::format(", row {}, key {}", index / keys % rows, index % keys);
  }

  KeyRange range_at(std::int64_t b, std::int64_t h, std::int64_t i) {
    KeyRange range;
    std::int64_t seen = 0;
    for (std::int64_t key = 0; key < problem_.seq_kv; ++key) {
      if (!mask_.sees(h, b, i, key)) continue;
      if (seen++ == 0) range.begin = key;
      range.end = key + 1;
    }
    mask_.hides = mask_.hides || seen < problem_.seq_kv;
    mask_.has_holes = mask_.has_holes || seen < range.size();
    return range;
  }

  bool copy_bias() {
    auto bias = std::make_shared<LogitBias>();
    const auto [samples, of_heads, rows, extent] = mask_.extent_;
    const std::int64_t keys = std::max(extent, problem_.seq_kv);
    for (std::int64_t row = 0; row < samples * of_heads * rows; ++row) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const auto at = static_cast<std::size_t>(row * extent + (extent == 1 ? 0 : key));
        const double value = decode_at(*float_, tensor_.data, at);
        bias->values.push_back(value <= hidden_from ? 0 : static_cast<float>(value));
      }
    }
    bias->stride = {samples == 1 ? 0 : of_heads * rows * keys, of_heads == 1 ? 0 : rows * keys,
                    rows == 1 ? 0 : keys};
    mask_.bias = std::move(bias);
    return true;
  }

  const std::string& name_;
  const TensorData& tensor_;
  const Problem& problem_;
  TensorSet& tensors_;
  std::optional<DType> float_;
  MaskTensor mask_;
  bool is_bias_ = false;
};

namespace {

// The end at which a range omits keys.
enum class Side { none, begin, end, both };
Side hidden_side(const KeyRange& range, std::int64_t keys) {
  if (range.size() == 0) return Side::end;  // no valid key
  if (range.begin > 0 && range.end < keys) return Side::both;
  if (range.begin > 0) return Side::begin;
  return range.end < keys ? Side::end : Side::none;
}

// The keys that rows see by the masks, the mask type and the window. Rows and keys count from a
// sample's first valid ones.
class VisibleKeys {
 public:
  VisibleKeys(const std::vector<MaskTensor>& masks, const Geometry& geometry)
      : masks_(masks), geometry_(geometry), problem_(geometry.problem()) {}

  bool sees(std::int64_t head, std::int64_t sample, std::int64_t row, std::int64_t key) const {
    return geometry_.sees(sample, row, key) &&
           std::ranges::all_of(masks_, [&](const MaskTensor& mask) {
             return mask.sees(head, sample, first_row(sample) + row, first_key(sample) + key);
           });
  }

  KeyRange range(std::int64_t head, std::int64_t sample, std::int64_t row) const {
    KeyRange all = geometry_.visible_keys(sample, row);
    for (const MaskTensor& mask : masks_) {
      const KeyRange stated = mask.range(head, sample, first_row(sample) + row);
      all = {std::max(stated.begin - first_key(sample), all.begin),
             std::min(stated.end - first_key(sample), all.end)};
    }
    return all.size() > 0 ? all : KeyRange{};
  }

  // Returns [heads, batch, seq_q, words] as in Geometry::mask_bits.
  std::vector<std::uint32_t> bits(std::int64_t heads) const {
    const std::int64_t words = (problem_.seq_kv + 31) / 32;
    std::vector<std::uint32_t> result(
        static_cast<std::size_t>(heads * problem_.batch * problem_.seq_q * words), 0);
    for (std::int64_t n = 0; n < heads * problem_.batch; ++n) {
      const std::int64_t head = n / problem_.batch, sample = n % problem_.batch;
      for (std::int64_t row = 0; row < geometry_.length_q(sample); ++row) {
        const KeyRange keys = range(head, sample, row);
        std::uint32_t* of_row = result.data() + (n * problem_.seq_q + row) * words;
        for (std::int64_t key = keys.begin; key < keys.end; ++key) {
          if (sees(head, sample, row, key)) of_row[key / 32] |= 1U << (key % 32);
        }
      }
    }
    return result;
  }

 private:
  bool left() const { return problem_.padding == Padding::left; }
  std::int64_t first_row(std::int64_t sample) const {
    return left() ? problem_.seq_q - geometry_.length_q(sample) : 0;
  }
  std::int64_t first_key(std::int64_t sample) const {
    return left() ? problem_.seq_kv - geometry_.length_kv(sample) : 0;
  }

  const std::vector<MaskTensor>& masks_;
  const Geometry& geometry_;
  const Problem& problem_;
};

}  // namespace

std::optional<MaskTensor> read_mask(const std::string& name, const TensorData& tensor,
                                    const Problem& problem, TensorSet& tensors) {
  return MaskReader(name, tensor, problem, tensors).read();
}

std::optional<ImpliedLengths> implied_lengths(const MaskTensor& mask, const Problem& problem) {
  if (!mask.key_padding || mask.heads > 1) return std::nullopt;
  ImpliedLengths implied;
  bool any = false, left = false, right = false;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const KeyRange range = mask.range(0, b, 0);
    const Side side = hidden_side(range, problem.seq_kv);
    if (side == Side::both) return std::nullopt;
    any = any || side != Side::none;
    left = left || side == Side::begin;
    right = right || (side == Side::end && range.size() > 0);
    implied.lengths.push_back(static_cast<std::int32_t>(range.size()));
  }
  if (!any || (left && right)) return std::nullopt;
  implied.padding = left ? Padding::left : Padding::right;
  return implied;
}

std::optional<std::string> add_visible_keys(const std::vector<MaskTensor>& masks, Problem& problem,
                                            StatedLayout& layout) {
  const Geometry geometry(problem, layout);
  const VisibleKeys keys(masks, geometry);
  bool are_ranges = true, by_head = false;
  for (const MaskTensor& mask : masks) {
    are_ranges = are_ranges && !mask.has_holes;
    by_head = by_head || mask.heads > 1;
  }
  for (std::int64_t b = 0; b < problem.batch && are_ranges; ++b) {
    for (std::int64_t i = 0; i < geometry.length_q(b) && are_ranges; ++i) {
      const KeyRange range = keys.range(0, b, i);
      for (std::int64_t h = 1; by_head && h < problem.heads_q; ++h)
        are_ranges = are_ranges && keys.range(h, b, i) == range;
      layout.visible.push_back(range);
    }
  }
  if (are_ranges) return std::nullopt;
  layout.visible.clear();
  const std::int64_t heads = by_head ? problem.heads_q : 1;
  if (static_cast<double>(heads * problem.batch) * static_cast<double>(problem.seq_q) *
          static_cast<double>(problem.seq_kv) >
      max_mask_bits) {
    return fmt::format(
        "a mask of {} heads x batch {} x seq_q {} x seq_kv {} bits is larger than "
        "1 GiB",
        heads, problem.batch, problem.seq_q, problem.seq_kv);
  }
  layout.mask_bits = keys.bits(heads);
  layout.mask_heads = heads;
  problem.mask = Mask::custom;
  problem.window_left = problem.window_right = -1;
  return std::nullopt;
}

}  // namespace plumbline
