"""Calls the operators of PyTorch's fused backends that return the LSE.

    padded                  aten::_scaled_dot_product_flash_attention, _efficient_attention,
                            _cudnn_attention
    dense, ragged, paged    aten::_flash_attention_forward, aten::_efficient_attention_forward

torch.nn.attention.varlen also calls aten::_flash_attention_forward. The operators check less than
scaled_dot_product_attention, so this file also refuses what that function refuses
(aten/src/ATen/native/transformers/cuda/sdp_utils.cpp). The LSE's shapes are in
torch/_meta_registrations.py.
"""

from __future__ import annotations

import math

import torch

import foreign_case as foreign
from foreign_case import on_device
from plumbline.kernels import Spec, kernel
from torch_common import (ALL_DTYPES, HALF_DTYPES, heads_first, mask_beside_causal, on_gpu,
                          repeated, sdpa_arguments, takes)

aten = torch.ops.aten
CPU_FLASH_SPEC = Spec(p_dtype="input", qk_accumulator="fma", pv_accumulator="fma")
# The CPU flash kernel's exp for 16-bit inputs, fexp_u20 (ATen/cpu/vec/vec512/vec512_float.h), has
# a relative error of at most 1.13e-4 in [-60, 0].
CPU_FLASH_16_BIT_SPEC = Spec(p_dtype="input", exp2_rel_error=1.13e-4, qk_accumulator="fma",
                             pv_accumulator="fma")
FUSED_SPEC = Spec(p_dtype="input", p_max="one", qk_accumulator="tensor_core",
                  pv_accumulator="tensor_core")
# cuDNN can rescale lazily (CUDNN_RESCALE_THRESHOLD), so its row maximum may be an earlier one.
CUDNN_SPEC = Spec(p_dtype="input", qk_accumulator="tensor_core", pv_accumulator="tensor_core")
PADDED_LSE = {"layouts": foreign.PADDED, "framework": "torch", "window": True, "lse": True}
ON_GPU = {"framework": "torch", "devices": "cuda", "lse": True, "tensor_cores": "on"}
LARGEST_HEAD_DIM = 256  # FlashAttention-2
PAGE_MULTIPLE = 256  # FlashAttention-2
NO_LSE = "FlashAttention-2 gives LSE +infinity in a row without visible keys"


def refuse_empty_tensors(case) -> None:
    foreign.refuse_if(min(case.seq_q, case.seq_kv, case.batch) == 0,
                      "fused kernels do not take empty tensors")


def refuse_two_head_dims(case) -> None:
    foreign.refuse_if(case.head_dim_qk != case.head_dim_vo,
                      "Flash attention requires q,k,v to have the same last dimension")


def refuse_for_flash(case) -> None:
    refuse_empty_tensors(case)
    refuse_two_head_dims(case)
    foreign.refuse_if(case.head_dim_qk > LARGEST_HEAD_DIM or case.head_dim_qk % 8 != 0,
                      f"Flash attention takes head dimensions that are multiples of 8, up to "
                      f"{LARGEST_HEAD_DIM}")


def additive(mask, dtype: torch.dtype):
    """Returns a boolean mask as numbers to add to the logits; None stays None."""
    if mask is None:
        return None
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


# ---- padded, with scaled_dot_product_attention's own masks ----


def flash_on_cpu(case):
    refuse_two_head_dims(case)
    foreign.refuse_poisoned_padding(case)
    q = heads_first(case.q)
    k, v = (repeated(case, heads_first(t), 1) for t in (case.k, case.v))
    arguments = sdpa_arguments(case)
    mask = additive(arguments["attn_mask"], case.q.dtype)
    foreign.refuse_empty_rows(case,
                              "its output is right, but the kernel gives LSE 0, not -infinity")

    def run():
        out, lse = aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, is_causal=arguments["is_causal"], attn_mask=mask, scale=case.scale
        )
        return heads_first(out), heads_first(lse)

    return run


def flash_on_gpu(case):
    refuse_for_flash(case)
    causal = foreign.is_top_left_causal(case)
    foreign.refuse_if(foreign.needs_mask(case) and not causal,
                      "Flash Attention does not support non-null attn_mask.")
    foreign.refuse_if(
        causal and case.seq_q != case.seq_kv,
        "Flash attention does not support the is_causal flag when seqlen_q != seqlen_k.")
    q, k, v = (heads_first(t) for t in (case.q, case.k, case.v))

    def run():
        out, lse, *_ = (
            aten._scaled_dot_product_flash_attention(q, k, v, is_causal=causal, scale=case.scale))
        return heads_first(out), heads_first(lse)  # lse is [batch, heads, seq_q]

    return run


@kernel(name="sdpa_flash_lse", dtypes=HALF_DTYPES, masks=foreign.ALL_MASKS, tensor_cores="on",
        spec=foreign.by_device(CPU_FLASH_16_BIT_SPEC, FUSED_SPEC), padding_policy="attended",
        **PADDED_LSE)
def sdpa_flash_lse(case):
    return flash_on_gpu(case) if on_gpu(case) else flash_on_cpu(case)


@kernel(name="sdpa_flash_lse_fp32", dtypes="fp32", masks=foreign.ALL_MASKS, devices="cpu",
        spec=CPU_FLASH_SPEC, padding_policy="attended", **PADDED_LSE)
def sdpa_flash_lse_fp32(case):
    return flash_on_cpu(case)


@kernel(name="sdpa_efficient_lse", dtypes=ALL_DTYPES, masks=foreign.MASKS_AND_BITS, spec=FUSED_SPEC,
        layouts=foreign.PADDED, window=True, padding_policy="attended", **ON_GPU)
def sdpa_efficient_lse(case):
    refuse_empty_tensors(case)
    refuse_for_efficient(case)
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(case, "the LSE that the kernel gives there is unknown")
    k, v = (repeated(case, heads_first(t), 1) for t in (case.k, case.v))
    # the operator pads its LSE to a multiple of 32 rows
    return with_bias(case, aten._scaled_dot_product_efficient_attention, k, v, aligned_bias(case),
                     lambda lse: lse[..., : case.seq_q])


def with_bias(case, operator, k, v, bias, lse_of):
    """Returns a call of `operator`. `lse_of` converts its LSE to [batch, heads, rows]."""
    q, causal = heads_first(case.q), foreign.is_top_left_causal(case)

    def run():
        out, lse, *_ = operator(q, k, v, bias, True, is_causal=causal, scale=case.scale)
        return heads_first(out), heads_first(lse_of(lse))

    return run


def refuse_for_efficient(case) -> None:
    alignment = 4 if case.dtype == "fp32" else 8
    foreign.refuse_if(
        case.head_dim_qk % alignment or case.head_dim_vo % alignment,
        f"Mem efficient attention requires last dimension of inputs to be divisible by "
        f"{alignment}.")


def aligned_bias(case) -> torch.Tensor | None:
    """Returns [batch, heads, seq_q, seq_kv] with rows aligned to 16 elements, for vector loads."""
    bias = additive(mask_beside_causal(case), case.q.dtype)
    if bias is None:
        return None
    columns = -(-case.seq_kv // 16) * 16
    aligned = torch.zeros((case.batch, 1, case.seq_q, columns), dtype=bias.dtype,
                          device=bias.device)
    aligned[..., : case.seq_kv] = bias
    return aligned[..., : case.seq_kv].expand(-1, case.heads_q, -1, -1)


@kernel(name="sdpa_cudnn_lse", dtypes=HALF_DTYPES, masks=foreign.MASKS_AND_BITS, spec=CUDNN_SPEC,
        layouts=foreign.PADDED, window=True, padding_policy="attended", **ON_GPU)
def sdpa_cudnn_lse(case):
    refuse_empty_tensors(case)
    foreign.refuse_if(case.head_dim_qk % 8 or case.head_dim_vo % 8
                      or max(case.head_dim_qk, case.head_dim_vo) > 128,
                      "cuDNN SDPA takes head dimensions that are multiples of 8, up to 128")
    foreign.refuse_if(case.seq_kv == 1,
                      "cudnn SDPA does not support key/value sequence length 1.")
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(case, "the LSE that the kernel gives there is unknown")
    return with_bias(case, aten._scaled_dot_product_cudnn_attention, heads_first(case.k),
                     heads_first(case.v), additive(mask_beside_causal(case), case.q.dtype),
                     lambda lse: lse.reshape(case.batch, case.heads_q, case.seq_q))


# ---- FlashAttention-2 and CUTLASS in their own layouts ----


def flash_arguments(case) -> dict:
    """Returns the scale and window for FlashAttention-2, which aligns masks bottom right."""
    refuse_for_flash(case)
    foreign.refuse_top_left(case, "FlashAttention")
    if case.lse_wanted:
        foreign.refuse_empty_row(case, NO_LSE)
    arguments = {"scale": case.scale}
    if foreign.has_window(case):
        left, right = foreign.window(case)
        arguments.update(window_size_left=left, window_size_right=right)
    return arguments


def starts(case) -> tuple:
    return on_device(case, case.cu_seqlens_q), on_device(case, case.cu_seqlens_kv)


def flash_forward(case, starts_q, starts_kv, arguments: dict):
    def run():
        out, lse, *_ = aten._flash_attention_forward(
            case.q, case.k, case.v, starts_q, starts_kv, case.seq_q, case.seq_kv, 0.0,
            case.mask != "none", False, **arguments)
        return out, lse.transpose(-2, -1)  # lse is [batch, heads, seq_q] or [heads, total_q]

    return run


@kernel(name="flash_dense", dtypes=HALF_DTYPES, masks=foreign.ALL_MASKS, layouts=foreign.PADDED,
        window=True, spec=FUSED_SPEC, padding_policy="attended", **ON_GPU)
def flash_dense(case):
    foreign.refuse_if(foreign.has_padding(case),
                      "FlashAttention has no padding mask: unpad, and use the ragged layout")
    return flash_forward(case, None, None, flash_arguments(case))


@kernel(name="flash_varlen", dtypes=HALF_DTYPES, masks=foreign.ALL_MASKS, layouts="ragged",
        window=True, spec=FUSED_SPEC, **ON_GPU)
def flash_varlen(case):
    arguments = flash_arguments(case)
    return flash_forward(case, *starts(case), arguments)


@kernel(name="flash_paged", dtypes=HALF_DTYPES, masks=("none", "causal_bottom_right"),
        layouts="paged_nhd", window=True, spec=FUSED_SPEC, **ON_GPU)
def flash_paged(case):
    """Calls the operator as torch.nn.attention.varlen does with a block table."""
    foreign.refuse_if(
        not takes(aten._flash_attention_forward, "block_table"),
        f"torch {torch.__version__} has no block_table in aten::_flash_attention_forward")
    foreign.refuse_if(case.page_size % PAGE_MULTIPLE != 0,
                      f"FlashAttention wants a page size that is a multiple of {PAGE_MULTIPLE}")
    arguments = flash_arguments(case)
    arguments.update(seqused_k=on_device(case, case.seqlens_kv),
                     block_table=on_device(case, case.page_table))
    return flash_forward(case, *starts(case), arguments)


CUTLASS_MASKS = {"none": 0, "causal_top_left": 1, "causal_bottom_right": 2}  # sdp::CustomMaskType


@kernel(name="efficient_varlen", dtypes=ALL_DTYPES, masks=foreign.ALL_MASKS, layouts="ragged",
        spec=FUSED_SPEC, **ON_GPU)
def efficient_varlen(case):
    refuse_empty_tensors(case)
    refuse_for_efficient(case)
    foreign.refuse_empty_row(
        case, "a row without visible keys: the LSE that the kernel gives there is unknown")
    q = case.q.unsqueeze(0)
    k, v = (repeated(case, t, 1).unsqueeze(0) for t in (case.k, case.v))
    starts_q, starts_kv = starts(case)
    sample, row = foreign.rows_of_padded_lse(case)  # CUTLASS pads rows to a multiple of 32

    def run():
        out, lse, *_ = aten._efficient_attention_forward(
            q, k, v, None, starts_q, starts_kv, case.seq_q, case.seq_kv, 0.0,
            CUTLASS_MASKS[case.mask], True, scale=case.scale)
        return out[0], lse[sample, :, row]

    return run
