"""xFormers' memory_efficient_attention with its CUTLASS and FlashAttention-2 operators
(https://facebookresearch.github.io/xformers/components/ops.html, 0.0.32).
"""

from __future__ import annotations

import foreign_case as foreign
from plumbline_provider import Spec, Unsupported, kernel

PROVIDER = "xformers"
COMMON = {
    "masks": foreign.ALL_MASKS,
    "framework": "torch",
    "spec": Spec(p_dtype="input"),
    "tensor_cores": "on",
    "lse": True,
}


def version() -> str:
    return foreign.versions("xformers", "torch")


def dense_bias(bias, case):
    """A mask object of xformers.ops.fmha.attn_bias for a padded layout."""
    if foreign.has_padding(case):
        raise Unsupported("padding: xFormers has block-diagonal masks for samples laid end to end (the ragged layout)")
    if case.mask == "none":
        return None
    return bias.LowerTriangularMask() if case.mask == "causal_top_left" else bias.LowerTriangularFromBottomRightMask()


def ragged_bias(bias, case):
    mask = bias.BlockDiagonalMask.from_seqlens(case.seqlens_q.tolist(), case.seqlens_kv.tolist())
    if case.mask == "none":
        return mask
    return mask.make_causal() if case.mask == "causal_top_left" else mask.make_causal_from_bottomright()


def attention(case, operator: str):
    ops = foreign.require_gpu_library("xformers.ops", "xformers", case)
    from xformers.ops.fmha import attn_bias

    forward = getattr(ops.fmha, operator).FwOp
    ragged = case.layout == "ragged"
    group = case.heads_q // case.heads_kv
    # [batch, tokens, heads, dim], key heads repeated: the four-dimensional form has one number of heads.
    q, k, v = (t.unsqueeze(0) if ragged else t for t in (case.q, case.k, case.v))
    k, v = (t.unsqueeze(3).expand(-1, -1, -1, group, -1).flatten(2, 3) for t in (k, v))
    bias = ragged_bias(attn_bias, case) if ragged else dense_bias(attn_bias, case)
    reasons = forward.not_supported_reasons(ops.fmha.Inputs(query=q, key=k, value=v, attn_bias=bias, scale=case.scale))
    if reasons:
        raise Unsupported("; ".join(reasons))

    def run():
        out, lse = ops.memory_efficient_attention_forward_requires_grad(
            q, k, v, attn_bias=bias, scale=case.scale, op=forward
        )
        lse = lse[..., : q.shape[1]].transpose(
            1, 2
        )  # from [batch, heads, tokens], which CUTLASS pads to a multiple of 32
        return (out[0], lse[0]) if ragged else (out, lse)

    return run


for name, dtypes in (("cutlass", ("fp32", "fp16", "bf16")), ("flash", ("fp16", "bf16"))):
    kernel(name=name, dtypes=dtypes, layouts=(*foreign.PADDED, "ragged"), **COMMON)(
        lambda case, operator=name: attention(case, operator)
    )
