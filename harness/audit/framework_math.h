// Attention as frameworks compute it without a fused kernel, in low precision. The rules in use
// elsewhere measure against these baselines.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Q, K and V of a problem, as a kernel gets them.
struct InputCopy {
  explicit InputCopy(const Geometry& geometry);
  InputView view() const { return {q.data(), k.data(), v.data()}; }
  std::vector<std::byte> q, k, v;
};

// All matrices are [R, D] over the selected rows, values of the output dtype; rows without visible
// keys are 0. Every intermediate tensor (scaled inputs, S, P, the output) is rounded to the dtype
// of Q; sums and the softmax inside one operator are fp32. The three differ in where the softmax
// scale goes:
//   flash_attention  S = Q (K scale)^T
//                    tests/test_flash_attn.py: attention_ref(upcast=False, reorder_ops=True)
//   sdpa_math        S = (Q sqrt(scale)) (K sqrt(scale))^T
//                    ATen: _scaled_dot_product_attention_math, reductions in the dtype
//   flex_eager       S = Q K^T rounded, then times scale in fp32
//                    torch/_higher_order_ops/flex_attention.py: _math_attention_inner
// fp8 K and V are widened to the dtype of Q first; softcap and ALiBi are tensors of their own, too,
// where the framework has them as such; a sink is one more logit, in fp32.
struct FrameworkMath {
  std::vector<double> flash_attention, sdpa_math, flex_eager;
  std::vector<double> weighted_magnitude;  // sum_k p_k |v_kj|, P not rounded (benchdnn's floor)
};
FrameworkMath framework_math(const Geometry& geometry, const InputView& inputs,
                             const RowSelection& selection);

}  // namespace plumbline
