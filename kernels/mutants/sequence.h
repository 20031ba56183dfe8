// Which keys a query sees, and where a token's row is in memory: masks, layouts and heads. Only
// this part of the kernel knows them.
#pragma once

#include "kernels/cpu/sequences.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

using cpu::Range;

inline constexpr std::int64_t block_rows = 16;  // query rows computed together

class Sequence {
 public:
  Sequence(const plumbline_problem& problem, const plumbline_tensors& tensors, Change change);

  bool is(Change change) const { return change_ == change; }
  const plumbline_problem& problem() const { return attention_.problem; }
  const cpu::Attention& attention() const { return attention_; }
  std::int64_t group() const { return attention_.group(); }

  std::int64_t samples() const;
  std::int64_t length_q(std::int64_t sample) const { return attention_.lengths_q[sample]; }
  std::int64_t length_kv(std::int64_t sample) const;
  // Query tokens; negative ones and those from the length on are padding.
  Range computed_tokens(std::int64_t sample) const;
  // Returns the end of the keys that exist: [0, length), regardless of the mask.
  std::int64_t end_of_keys(std::int64_t sample) const;
  // Returns the range of visible keys. For a mask of bits it may have gaps; see sees().
  Range visible_keys(std::int64_t sample, std::int64_t head, std::int64_t token) const;
  bool has_bits() const { return attention_.mask.data != nullptr; }
  bool sees(std::int64_t sample, std::int64_t token, std::int64_t key) const;

  std::int64_t head_of_keys(std::int64_t head) const;
  std::int64_t head_of_values(std::int64_t head) const;
  // Return a query head's factor for products of loaded K or V: 1 if K and V are not fp8, or if
  // loading applies the scale. Loading applies scales of tokens, and always the scale of Q.
  float k_scale(std::int64_t sample, std::int64_t head) const;
  float v_scale(std::int64_t sample, std::int64_t head) const;

  // Convert rows to and from fp32. Elements outside the tensor are read as zeros, as a tensor-map
  // load does, and are not written.
  void load_query(std::int64_t sample, std::int64_t token, std::int64_t head, float* to) const;
  void load_key(std::int64_t sample, std::int64_t token, std::int64_t head, float* to) const;
  void load_value(std::int64_t sample, std::int64_t token, std::int64_t head, float* to) const;
  bool is_stored(std::int64_t sample, std::int64_t token, std::int64_t head) const;
  void store_output(std::int64_t sample, std::int64_t token, std::int64_t head, const float* from,
                    std::int64_t columns) const;
  void store_lse(std::int64_t sample, std::int64_t token, std::int64_t head, float lse) const;

 private:
  struct Row {  // element offset in its tensor
    const cpu::TokenTensor* map;
    std::int64_t offset;
  };
  Row query_row(std::int64_t sample, std::int64_t token, std::int64_t head) const;
  Row key_row(const cpu::TokenTensor& map, std::int64_t sample, std::int64_t token,
              std::int64_t head) const;
  Row paged_row(const cpu::TokenTensor& map, std::int64_t sample, std::int64_t token,
                std::int64_t head) const;
  std::int64_t longest_sample() const;
  std::int64_t pages_of(std::int64_t sample) const;
  std::int64_t token_of_packed(std::int64_t token, std::int64_t row) const;
  std::int64_t window_row(std::int64_t sample, std::int64_t token, std::int64_t packed) const;
  Range keys_of_bits(std::int64_t sample, std::int64_t token) const;
  float scale_at(const cpu::TokenScales& scales, std::int64_t sample, std::int64_t head,
                 std::int64_t token, std::int64_t length) const;
  float kv_scale_at(const cpu::TokenScales& scales, std::int64_t sample, std::int64_t head,
                    std::int64_t key) const;
  float q_scale_at(std::int64_t sample, std::int64_t token, std::int64_t head) const;
  bool scales_when_loaded() const {
    return attention_.scales_tokens() || is(Change::legal_kv_scaled_when_loaded);
  }
  bool is_packed() const;
  Row value_row(std::int64_t sample, std::int64_t token, std::int64_t head) const;
  std::int64_t narrowed(const cpu::TokenTensor& map, std::int64_t offset) const;
  bool lies_within(const Row& row, std::int64_t elements, std::uint64_t bytes) const;
  void load(const Row& whole, std::int64_t elements, std::uint64_t bytes, float* to) const;

  cpu::Attention attention_;
  const plumbline_tensors& tensors_;
  Change change_;
};

}  // namespace plumbline::mutants
