"""FlashInfer's batch wrappers: ragged prefill, and paged decode on CUDA cores and tensor cores.

https://docs.flashinfer.ai/api/attention.html, flashinfer-python 0.7.2. Planning belongs to
preparation; only `run` is timed.

The backend is fixed. "auto" uses FlashAttention-3 on Hopper and cuDNN on Blackwell
(determine_attention_backend in utils.py, _blackwell_ragged_auto_upgrade in prefill.py), which
round differently from the specs below.
"""

from __future__ import annotations

import numpy as np

import foreign_case as foreign
from plumbline.kernels import Spec, kernel

PROVIDER = "flashinfer"
WORKSPACE_BYTES = 128 << 20  # what FlashInfer's documentation recommends
BACKEND = "fa2"
COMMON = {"dtypes": ("fp16", "bf16"), "window": True, "softcap": True, "framework": "torch",
          "devices": "cuda", "lse": True}
TANH_ERROR = 2.0**-11  # PTX manual, tanh.approx.f32 (math::tanh in math.cuh)
# The prefill kernels sum the denominator from P in 16 bits (compute_sfm_v in prefill.cuh). Split-KV
# stores partial outputs in the output dtype (DTypeO* tmp_v in prefill.cuh and decode.cuh). The LSE
# has base 2.
SHARED = {"split_partial_dtype": "output", "tanh_rel_error": TANH_ERROR, "lse_base": "2"}
PREFILL_SPEC = Spec(p_dtype="input", p_max="one", denominator_from_rounded_p=True, **SHARED)
DECODE_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma", **SHARED)


def version() -> str:
    return foreign.versions("flashinfer-python", "torch")


def library(case):
    module = foreign.require_gpu_library("flashinfer", "flashinfer-python", case)
    foreign.refuse_if(case.mask == "none" and case.window_right >= 0,
                      "FlashInfer has a window on the left only")
    return module


def workspace(case):
    import torch

    return torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=case.q.device)


def on_device(case, values: np.ndarray):
    return foreign.on_device(case, values.astype(np.int32))


def plan_options(case) -> dict:
    return {
        "sm_scale": case.scale,
        "window_left": case.window_left,
        "logits_soft_cap": case.softcap or None,
        "q_data_type": case.q.dtype,
        "kv_data_type": case.k.dtype,
    }


@kernel(name="ragged_prefill", layouts=("ragged",), masks=foreign.ALL_MASKS, spec=PREFILL_SPEC,
        tensor_cores="on", **COMMON)
def ragged_prefill(case):
    module = library(case)
    foreign.refuse_top_left(case, "FlashInfer")
    wrapper = module.BatchPrefillWithRaggedKVCacheWrapper(workspace(case), "NHD", backend=BACKEND)
    wrapper.plan(on_device(case, case.cu_seqlens_q), on_device(case, case.cu_seqlens_kv),
                 case.heads_q, case.heads_kv, case.head_dim_qk, head_dim_vo=case.head_dim_vo,
                 causal=case.mask != "none", **plan_options(case))
    return lambda: wrapper.run(case.q, case.k, case.v, return_lse=True)


def paged_decode(case, use_tensor_cores: bool):
    module = library(case)
    foreign.refuse_if(case.seq_q != 1 or case.total_q != case.batch,
                      "a decode wrapper has one query a sample")
    foreign.refuse_if(case.head_dim_qk != case.head_dim_vo,
                      "a decode wrapper has one head dimension")
    pages = -(-case.seqlens_kv // case.page_size)
    table = np.concatenate([row[:count] for row, count in zip(case.page_table, pages)])
    last_page = np.where(pages > 0, case.seqlens_kv - (pages - 1) * case.page_size, 0)
    wrapper = module.BatchDecodeWithPagedKVCacheWrapper(
        workspace(case), "NHD" if case.layout == "paged_nhd" else "HND",
        use_tensor_cores=use_tensor_cores, backend=BACKEND)
    wrapper.plan(on_device(case, np.concatenate([[0], np.cumsum(pages)])), on_device(case, table),
                 on_device(case, last_page), case.heads_q, case.heads_kv, case.head_dim_qk,
                 case.page_size, **plan_options(case))
    # The views are [page, token, head, dim], but HND needs the storage order.
    cache = ((case.k, case.v) if case.layout == "paged_nhd"
             else (case.k.transpose(1, 2), case.v.transpose(1, 2)))
    return lambda: wrapper.run(case.q, cache, return_lse=True)


PAGED = {"layouts": ("paged_nhd", "paged_hnd"), "masks": ("none", "causal_bottom_right")}


@kernel(name="paged_decode", spec=DECODE_SPEC, tensor_cores="off", **PAGED, **COMMON)
def paged_decode_cuda_cores(case):
    return paged_decode(case, use_tensor_cores=False)


@kernel(name="paged_decode_tensor_cores", spec=PREFILL_SPEC, tensor_cores="on", **PAGED, **COMMON)
def paged_decode_tensor_cores(case):
    return paged_decode(case, use_tensor_cores=True)
