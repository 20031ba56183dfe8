// A kernel whose roundings and faults a test chooses, and the dump of its output. Its inputs are
// generated, in any layout.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/check/dump.h"
#include "harness/problem/safetensors.h"

namespace plumbline::test {

// Everything is in fp32 except what is rounded here. The output has the problem's output dtype.
struct Emulated {
  DType inputs = DType::none;  // dtype to which Q, K and V are rounded
  bool toward_zero = false;    // inputs and P are truncated instead
  // Products of Q K^T and P V are sums of products of bf16 parts: high * high + high * low + low *
  // high.
  bool bf16_parts = false;
  DType p = DType::none;         // dtype of P = exp(s - m) before P V; none = fp32
  DType s = DType::none;         // dtype to which S is rounded
  bool normalise_first = false;  // P is divided by the denominator before it is rounded
  double p_prescale = 1;         // factor of P before its rounding
  bool rounded_denominator = false;
  double scale_factor = 1;  // faults from here on
  bool forget_q_scale = false;
  double denominator_factor = 1;
  int drop_last_keys = 0;        // of the visible keys
  bool wrong_head = false;       // the last query head of the last sample reads key head 0
  Mask wrong_mask = Mask::none;  // used instead of the problem's if `other_mask`
  bool other_mask = false;
  bool forget_softcap = false, forget_alibi = false, forget_sinks = false, forget_bias = false;
  bool scaled_bias = false;  // multiplied by the softmax scale

  // Inputs that a dump may hold and no generated problem has.
  std::vector<float> bias;  // [batch, heads, seq_q, seq_kv], 1 for any but the last extent
  std::vector<std::int64_t> bias_shape;
  std::vector<float> slopes;  // [batch, heads]
  // Hides keys in addition to the problem's own mask.
  std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t key)> sees;
};

// Tensors by name, with their storage. Copies share nothing.
class DumpTensors {
 public:
  void set(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape,
           std::vector<std::byte> data);
  void set_integers(const std::string& name, std::vector<std::int64_t> shape,
                    const std::vector<std::int32_t>& values);
  void erase(const std::string& name) { tensors_.erase(name); }
  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }
  std::vector<std::byte>& data(const std::string& name) { return tensors_.at(name).data; }
  std::vector<std::int64_t>& shape(const std::string& name) { return tensors_.at(name).shape; }
  std::string& dtype(const std::string& name) { return tensors_.at(name).dtype; }

  std::map<std::string, TensorData> view() const;
  // Returns the bytes of a safetensors file.
  std::vector<std::byte> file(const Attributes& metadata) const;

 private:
  struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> data;
  };
  std::map<std::string, Tensor> tensors_;
};

// Returns q, k, v, out, lse, scales of fp8 as [batch, heads, blocks], slopes, sinks, bias, a mask
// if it has holes, and the index tensors of the layout. Padded rows of out and lse are zero.
DumpTensors run_emulated(const Problem& problem, const Emulated& kernel);

// Returns the attributes that state the problem.
Attributes attributes_of(const Problem& problem);

}  // namespace plumbline::test
