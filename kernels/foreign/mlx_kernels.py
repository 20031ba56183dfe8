"""MLX's fused attention on its CPU backend:
https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.fast.scaled_dot_product_attention.html

On a CPU it runs the fallback of mlx/fast.cpp. The fallback multiplies Q by the scale, both in the
dtype of Q, and computes two matrix products with a softmax between them.
"""

from __future__ import annotations

import mlx.core as mx
import numpy as np

import foreign_case as foreign
from plumbline.kernels import Spec, kernel

PROVIDER = "mlx"
NEEDS = ("mlx",)  # without these there is nothing to measure

# With 16-bit inputs, Q * scale, S and the normalised P are stored in the dtype of Q, and products
# are summed in fp32. With fp32 inputs, all intermediate values are fp32.
HALF_SPEC = Spec(q_prescaled="input", q_prescaled_without_log2e=True, s_rounded="input",
                 p_dtype="input", p_normalized=True, qk_accumulator="fma", pv_accumulator="fma")
FP32_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma")


def version() -> str:
    return foreign.versions("mlx", "mlx-cpu")


def heads_first(tensor: np.ndarray) -> mx.array:
    """[batch, seq, heads, dim] -> [batch, heads, seq, dim]."""
    return mx.array(np.ascontiguousarray(tensor.transpose(0, 2, 1, 3)))


def on_host(array: mx.array, dtype: np.dtype) -> np.ndarray:
    """[batch, heads, seq, dim] -> [batch, seq, heads, dim]. Copies bits: NumPy has no bf16."""
    words = mx.contiguous(array).view(mx.uint32 if dtype.itemsize == 4 else mx.uint16)
    return np.array(words).view(dtype).transpose(0, 2, 1, 3)


def mask_of(case):
    """Returns the mask for MLX, which aligns "causal" bottom right in the padded tensors."""
    if not foreign.needs_mask(case):
        return None
    aligned = case.mask == "causal_bottom_right" or (case.mask == "causal_top_left"
                                                     and case.seq_q == case.seq_kv)
    if aligned and not foreign.has_window(case) and not foreign.has_padding(case):
        return "causal"
    return mx.array(foreign.attended_mask(case)[:, None])


@kernel(name="sdpa", dtypes=("fp32", "fp16", "bf16"), layouts=foreign.PADDED,
        masks=foreign.MASKS_AND_BITS, window=True, framework="numpy", padding_policy="attended",
        spec=lambda case: FP32_SPEC if case.dtype == "fp32" else HALF_SPEC)
def sdpa(case):
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(
        case, "MLX sets all logits to the lowest finite number, so the softmax averages all keys")
    q, k, v = (heads_first(t) for t in (case.q, case.k, case.v))
    mask = mask_of(case)

    def run():
        out = mx.fast.scaled_dot_product_attention(q, k, v, scale=case.scale, mask=mask)
        return on_host(out, case.q.dtype)

    return run
