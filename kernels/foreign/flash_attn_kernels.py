"""FlashAttention-2 through its Python package flash_attn, with the interface of version 2.8.3:
https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/flash_attn/flash_attn_interface.py
"""

from __future__ import annotations

import foreign_case as foreign
from plumbline.kernels import Spec, kernel

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
    foreign.refuse_top_left(case, "FlashAttention")
    foreign.refuse_if(case.head_dim_qk != case.head_dim_vo,
                      "FlashAttention-2 has one head dimension")
    # csrc/flash_attn/src/softmax.h, normalize_softmax_lse
    foreign.refuse_empty_row(case,
                             "FlashAttention-2 gives LSE +infinity in a row without visible keys")
    return module


def options(case) -> dict:
    """Returns the arguments that all functions of the package share."""
    window = foreign.window(case) if foreign.has_window(case) else (-1, -1)
    return {"softmax_scale": case.scale, "causal": case.mask != "none", "window_size": window,
            "softcap": case.softcap}


@kernel(name="dense", layouts=foreign.PADDED, **COMMON)
def dense(case):
    module = library(case)
    foreign.refuse_if(foreign.has_padding(case),
                      "flash_attn_func has no padding mask: unpad, and use the ragged layout")
    arguments = options(case)

    def run():
        out, lse, _ = module.flash_attn_func(case.q, case.k, case.v, return_attn_probs=True,
                                             **arguments)
        return out, lse.transpose(1, 2)  # from [batch, heads, seq_q]

    return run


@kernel(name="varlen", layouts=("ragged",), **COMMON)
def varlen(case):
    module = library(case)
    starts_q, starts_kv = (foreign.on_device(case, starts)
                           for starts in (case.cu_seqlens_q, case.cu_seqlens_kv))
    arguments = options(case)

    def run():
        out, lse, _ = module.flash_attn_varlen_func(case.q, case.k, case.v, starts_q, starts_kv,
                                                    case.seq_q, case.seq_kv, return_attn_probs=True,
                                                    **arguments)
        return out, lse.transpose(0, 1)  # from [heads, total_q]

    return run


@kernel(name="kvcache", layouts=("paged_nhd",), **COMMON)
def kvcache(case):
    """Decode on a paged cache, with one query per sample."""
    module = library(case)
    foreign.refuse_if(
        case.seq_q != 1 or case.total_q != case.batch,
        "needs one query per sample: flash_attn_with_kvcache has one query length for all")
    foreign.refuse_if(case.page_size % 256 != 0,
                      "flash_attn_with_kvcache wants a page size that is a multiple of 256")
    lengths, table = (foreign.on_device(case, a) for a in (case.seqlens_kv, case.page_table))
    arguments = options(case)

    def run():
        out, lse = module.flash_attn_with_kvcache(
            case.q.unsqueeze(1), case.k, case.v, cache_seqlens=lengths, block_table=table,
            return_softmax_lse=True, **arguments)
        return out.squeeze(1), lse.squeeze(2)  # lse from [batch, heads, 1]

    return run
