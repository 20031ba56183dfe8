"""xFormers' memory_efficient_attention with its CUTLASS and FlashAttention-2 operators.

https://facebookresearch.github.io/xformers/components/ops.html, version 0.0.35.
"""

from __future__ import annotations

import foreign_case as foreign
from plumbline.kernels import Spec, kernel

PROVIDER = "xformers"
COMMON = {
    "masks": foreign.ALL_MASKS,
    "framework": "torch",
    "devices": "cuda",
    "spec": Spec(p_dtype="input", p_max="one", qk_accumulator="tensor_core",
                 pv_accumulator="tensor_core"),
    "tensor_cores": "on",
    "lse": True,
}


def version() -> str:
    return foreign.versions("xformers", "torch")


def dense_bias(bias, case):
    """Returns a mask object of xformers.ops.fmha.attn_bias for a padded layout."""
    foreign.refuse_if(foreign.has_padding(case),
                      "padding: xFormers has block-diagonal masks for samples laid end to end (the "
                      "ragged layout)")
    if case.mask == "none":
        return None
    return (bias.LowerTriangularMask() if case.mask == "causal_top_left"
            else bias.LowerTriangularFromBottomRightMask())


def ragged_bias(bias, case):
    mask = bias.BlockDiagonalMask.from_seqlens(case.seqlens_q.tolist(), case.seqlens_kv.tolist())
    if case.mask == "none":
        return mask
    return (mask.make_causal() if case.mask == "causal_top_left"
            else mask.make_causal_from_bottomright())


def attention(case, operator: str):
    ops = foreign.require_gpu_library("xformers.ops", "xformers", case)
    from xformers.ops.fmha import attn_bias

    forward = getattr(ops.fmha, operator).FwOp
    ragged = case.layout == "ragged"
    group = case.heads_q // case.heads_kv
    # [batch, tokens, heads, dim]. Key heads are repeated, because this form has one head count.
    q, k, v = (t.unsqueeze(0) if ragged else t for t in (case.q, case.k, case.v))
    k, v = (t.unsqueeze(3).expand(-1, -1, -1, group, -1).flatten(2, 3) for t in (k, v))
    bias = ragged_bias(attn_bias, case) if ragged else dense_bias(attn_bias, case)
    reasons = forward.not_supported_reasons(ops.fmha.Inputs(query=q, key=k, value=v, attn_bias=bias,
                                                            scale=case.scale))
    foreign.refuse_if(bool(reasons), "; ".join(reasons or ()))
    foreign.refuse_empty_row(
        case,
        "a row without visible keys: its LSE is +infinity with flash, undefined with cutlass")
    rows = (None if getattr(forward, "VARLEN_LSE_PACKED", True) or not ragged
            else foreign.rows_of_padded_lse(case))

    def run():
        out, lse = ops.memory_efficient_attention_forward_requires_grad(
            q, k, v, attn_bias=bias, scale=case.scale, op=forward
        )
        if rows is not None:
            return out[0], lse[rows[0], :, rows[1]]
        # From [batch, heads, tokens], where CUTLASS pads tokens to a multiple of 32.
        lse = lse[..., : q.shape[1]].transpose(1, 2)
        return (out[0], lse[0]) if ragged else (out, lse)

    return run


for name, dtypes in (("cutlass", ("fp32", "fp16", "bf16")), ("flash", ("fp16", "bf16"))):
    kernel(name=name, dtypes=dtypes, layouts=(*foreign.PADDED, "ragged"), **COMMON)(
        lambda case, operator=name: attention(case, operator)
    )
