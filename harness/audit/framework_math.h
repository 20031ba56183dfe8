// Attention as frameworks compute it in low precision without a fused kernel. The rules of other
// projects use these as baselines.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/reference/reference.h"

namespace plumbline {

// A copy of the inputs Q, K and V, as a kernel gets them.
struct InputCopy {
  explicit InputCopy(const Geometry& geometry);
  InputView view() const { return {q.data(), k.data(), v.data()}; }
  std::vector<std::byte> q, k, v;
};

// All matrices are [R, D] over the selected rows; rows without visible keys are 0. The first three
// have values of the output dtype. Every intermediate tensor (scaled inputs, S, P, the output) is
// rounded to the dtype of Q. Sums, and the softmax inside one operator, are fp32. The three differ
// in where the softmax scale is applied:
//   flash_attention  S = Q (K scale)^T
//                    tests/test_flash_attn.py: attention_ref(upcast=False, reorder_ops=True)
//   sdpa_math        S = (Q sqrt(scale)) (K sqrt(scale))^T
//                    ATen: _scaled_dot_product_attention_math, reductions in the dtype
//   flex_eager       S = Q K^T rounded, then times scale in fp32
//                    torch/_higher_order_ops/flex_attention.py: _math_attention_inner
// fp8 inputs are first widened to the dtype of Q, or of the output if Q is fp8. Softcap and ALiBi
// are rounded if the framework computes them as separate tensors. A sink is one more logit in fp32.
struct FrameworkMath {
  std::vector<double> flash_attention, sdpa_math, flex_eager;
  std::vector<double> weighted_magnitude;  // sum_k p_k |v_kj|, P not rounded (benchdnn's floor)
};
// The largest magnitudes in the valid rows of Q, K and V, with the scales of fp8 applied.
struct LargestInputs {
  double q = 0, k = 0, v = 0;
};
LargestInputs largest_inputs(const Geometry& geometry, const InputView& inputs);

FrameworkMath framework_math(const Geometry& geometry, const InputView& inputs,
                             const RowSelection& selection);

}  // namespace plumbline
