"""FlashAttention-2 through its Python package flash_attn, by the interface of version 2.8.3:
https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/flash_attn/flash_attn_interface.py
"""

from __future__ import annotations

import foreign_case as foreign
from plumbline.kernels import Spec, Unsupported, kernel

PROVIDER = "flash_attn"
COMMON = {
    "dtypes": ("fp16", "bf16"),
    "masks": foreign.ALL_MASKS,
    "window": True,
    "softcap": True,
    "framework": "torch",
    "devices": "cuda",
    # cutlass::fast_tanh is tanh.approx.f32, whose relative error is up to 2^-11 (the PTX manual).
    "spec": Spec(p_dtype="input", p_max="one", tanh_rel_error=2.0**-11),
    "tensor_cores": "on",
    "lse": True,
}


def version() -> str:
    return foreign.versions("flash-attn", "torch")


def library(case):
    module = foreign.require_gpu_library("flash_attn", "flash-attn", case)
    if case.mask == "causal_top_left" and not (case.seqlens_q == case.seqlens_kv).all():
        raise Unsupported("FlashAttention aligns its causal mask bottom right")
    if case.head_dim_qk != case.head_dim_vo:
        raise Unsupported("FlashAttention-2 has one head dimension")
    if foreign.has_empty_row(case) and "raw" not in case.options:
        # csrc/flash_attn/src/softmax.h, normalize_softmax_lse
        raise Unsupported("FlashAttention-2 gives LSE +infinity in a row without visible keys")
    return module


def options(case) -> dict:
    """Arguments that all of its functions share.
    A window with a causal mask has nothing on the right."""
    right = 0 if case.mask != "none" else case.window_right
    window = (case.window_left, right) if foreign.has_window(case) else (-1, -1)
    return {"softmax_scale": case.scale, "causal": case.mask != "none", "window_size": window,
            "softcap": case.softcap}


@kernel(name="dense", layouts=foreign.PADDED, **COMMON)
def dense(case):
    module = library(case)
    if foreign.has_padding(case):
        raise Unsupported("flash_attn_func has no padding mask: unpad, and use the ragged layout")
    arguments = options(case)

    def run():
        out, lse, _ = module.flash_attn_func(case.q, case.k, case.v, return_attn_probs=True,
                                             **arguments)
        return out, lse.transpose(1, 2)  # from [batch, heads, seq_q]

    return run


def device_lengths(case, *names: str) -> list:
    import torch

    return [torch.from_numpy(getattr(case, name)).to(case.q.device) for name in names]


@kernel(name="varlen", layouts=("ragged",), **COMMON)
def varlen(case):
    module = library(case)
    starts_q, starts_kv = device_lengths(case, "cu_seqlens_q", "cu_seqlens_kv")
    arguments = options(case)

    def run():
        out, lse, _ = module.flash_attn_varlen_func(case.q, case.k, case.v, starts_q, starts_kv,
                                                    case.seq_q, case.seq_kv, return_attn_probs=True,
                                                    **arguments)
        return out, lse.transpose(0, 1)  # from [heads, total_q]

    return run


@kernel(name="kvcache", layouts=("paged_nhd",), **COMMON)
def kvcache(case):
    """Decode on a paged cache: one query a sample."""
    module = library(case)
    if case.seq_q != 1 or case.total_q != case.batch:
        raise Unsupported(
            "one query a sample: flash_attn_with_kvcache has one query length for the batch")
    if case.page_size % 256 != 0:
        raise Unsupported("flash_attn_with_kvcache wants a page size that is a multiple of 256")
    lengths, table = device_lengths(case, "seqlens_kv", "page_table")
    arguments = options(case)

    def run():
        out, lse = module.flash_attn_with_kvcache(
            case.q.unsqueeze(1),
            case.k,
            case.v,
            cache_seqlens=lengths,
            block_table=table,
            return_softmax_lse=True,
            **arguments,
        )
        return out.squeeze(1), lse.squeeze(2)  # lse from [batch, heads, 1]

    return run
