// Reads fp8 scales: from one element up to one for each sample, head and block of tokens.
#include "harness/check/scale_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace plumbline {
namespace {

struct Scale {
  const char* name;
  const char* of;
  bool is_fp8;
  std::int64_t heads, seq;
  std::vector<float> SideInputs::*values;
};

// The extents of a scale tensor by sample, head and block; extents of 1 are repeated.
struct ScaleExtents {
  std::int64_t batch = 1, heads = 1, blocks = 1;
};

class ScaleReader {
 public:
  ScaleReader(Problem& problem, std::optional<std::int64_t> scale_block, TensorSet& tensors)
      : problem_(problem), scale_block_(scale_block), tensors_(tensors) {}

  std::optional<SideInputs> read() {
    bool fine = true;
    for (std::size_t i = 0; i < scales_.size(); ++i) fine = find(scales_[i], extents_[i]) && fine;
    if (!fine || !find_blocks()) return std::nullopt;
    SideInputs side;
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      if (scales_[i].is_fp8 && !fill(scales_[i], extents_[i], side)) return std::nullopt;
    }
    if (!read_out_scale(side)) return std::nullopt;
    return side;
  }

 private:
  bool refuse(const Scale& scale, const std::string& what, std::string remedy) {
    tensors_.add(fmt::format("tensor {}{}", scale.name, what), std::move(remedy));
    return false;
  }

  // Returns true if the tensor is present with a shape that fits, or absent because it must be.
  bool find(const Scale& scale, ScaleExtents& extents) {
    const TensorData* const tensor = tensors_.find(scale.name);
    if (!scale.is_fp8) {
      return tensor == nullptr ||
             refuse(scale, fmt::format(" is there, but {} is not fp8", scale.of),
                    fmt::format("leave it out, or save {} as the kernel saw it", scale.of));
    }
    if (tensor == nullptr) {
      return refuse(scale, fmt::format(" is missing: {} is fp8", scale.of),
                    "save the factor that scales the stored values, 1.0 if there is none");
    }
    if (tensor->dtype != "F32")
      return refuse(scale, fmt::format(" has dtype {}", tensor->dtype), "write it as F32");
    return find_extents(scale, *tensor, extents);
  }

  bool read_out_scale(SideInputs& side) {
    const Scale scale{"out_scale", "out", is_fp8(problem_.out()), 1, 1, &SideInputs::out_scale};
    ScaleExtents extents;
    if (!find(scale, extents)) return false;
    if (!scale.is_fp8) return true;
    const TensorData& tensor = *tensors_.find(scale.name);
    if (element_count(tensor) != 1) {
      return refuse(scale, fmt::format(" has shape {}", shape_text(tensor.shape)),
                    "write one element: the output has one scale");
    }
    side.out_scale = {static_cast<float>(decode_at(DType::f32, tensor.data, 0))};
    return is_scale(scale, 0, side.out_scale.front());
  }

  // Returns true if element `at` of the tensor is finite and positive.
  bool is_scale(const Scale& scale, std::int64_t at, float value) {
    return (value > 0 && std::isfinite(value)) ||
           refuse(scale, fmt::format(": element {} is {}", at, value),
                  "write scales that are finite and above 0");
  }

  bool find_extents(const Scale& scale, const TensorData& tensor, ScaleExtents& extents) {
    const Shape& shape = tensor.shape;
    if (element_count(tensor) == 1) return true;
    if (shape.size() == 1) extents.heads = shape[0];
    if (shape.size() >= 2) extents.batch = shape[0], extents.heads = shape[1];
    if (shape.size() == 3) extents.blocks = shape[2];
    const bool fits =
        !shape.empty() && shape.size() <= 3 && extents.blocks > 0 &&
        (extents.batch == 1 || extents.batch == problem_.batch) &&
        (extents.heads == 1 || extents.heads == scale.heads || extents.heads == problem_.heads_kv);
    return fits || refuse(scale, fmt::format(" has shape {}", shape_text(shape)),
                          fmt::format("write one element, [{1}], [{0}, {1}] or [{0}, {1}, blocks]",
                                      problem_.batch, scale.heads));
  }

  bool find_blocks() {
    problem_.kv_scales = KvScales::batch_head;
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      const Scale& scale = scales_[i];
      const std::int64_t blocks = extents_[i].blocks;
      if (blocks == 1) continue;
      if (!scale_block_ && blocks != scale.seq) {
        return refuse(scale, fmt::format(" has {} blocks for {} tokens", blocks, scale.seq),
                      "state scale_block, the number of tokens that share a scale");
      }
      problem_.kv_scales = KvScales::block;
      problem_.scale_block = scale_block_.value_or(1);
      // Scales of saved failures have room for the longer of queries and keys.
      const std::int64_t longest = std::max(problem_.seq_q, problem_.seq_kv);
      if (blocks != scale_blocks(problem_, scale.seq) &&
          blocks != scale_blocks(problem_, longest)) {
        return refuse(scale,
                      fmt::format(" has {} blocks of {} tokens for {} tokens", blocks,
                                  problem_.scale_block, scale.seq),
                      "state the scale_block that the kernel had");
      }
    }
    if (!scale_block_ || problem_.kv_scales == KvScales::block) return true;
    // One block may hold all tokens. A kernel that scales by blocks then rounds as with several
    // blocks.
    const std::int64_t longest = std::max(problem_.seq_q, problem_.seq_kv);
    if (!problem_.has_fp8_kv() || *scale_block_ < longest) {
      tensors_.add("attribute scale_block: no scale has blocks", "leave it out");
      return false;
    }
    problem_.kv_scales = KvScales::block;
    problem_.scale_block = *scale_block_;
    return true;
  }

  bool fill(const Scale& scale, const ScaleExtents& extents, SideInputs& side) {
    const TensorData& tensor = *tensors_.find(scale.name);
    std::vector<float>& values = side.*scale.values;
    const auto repeated = [](std::int64_t index, std::int64_t extent) {
      return extent == 1 ? 0 : index;
    };
    const std::int64_t group = scale.heads / extents.heads;  // heads that share a scale
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      for (std::int64_t h = 0; h < scale.heads; ++h) {
        for (std::int64_t block = 0; block < scale_blocks(problem_, scale.seq); ++block) {
          const std::int64_t at =
              (repeated(b, extents.batch) * extents.heads + h / group) * extents.blocks +
              repeated(block, extents.blocks);
          values.push_back(
              static_cast<float>(decode_at(DType::f32, tensor.data, static_cast<std::size_t>(at))));
          if (!is_scale(scale, at, values.back())) return false;
        }
      }
    }
    return true;
  }

  Problem& problem_;
  std::optional<std::int64_t> scale_block_;
  TensorSet& tensors_;
  const std::array<Scale, 3> scales_{{{"q_scale", "q", problem_.has_fp8_q(), problem_.heads_q,
                                       problem_.seq_q, &SideInputs::q_scale},
                                      {"k_scale", "k", problem_.has_fp8_kv(), problem_.heads_kv,
                                       problem_.seq_kv, &SideInputs::k_scale},
                                      {"v_scale", "v", problem_.has_fp8_kv(), problem_.heads_kv,
                                       problem_.seq_kv, &SideInputs::v_scale}}};
  std::array<ScaleExtents, 3> extents_;
};

}  // namespace

std::optional<SideInputs> read_scales(Problem& problem, std::optional<std::int64_t> scale_block,
                                      TensorSet& tensors) {
  return ScaleReader(problem, scale_block, tensors).read();
}

}  // namespace plumbline
