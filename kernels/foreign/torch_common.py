"""Shared by PyTorch's kernels: layouts, masks, arguments of SDPA, and refusals."""

from __future__ import annotations

import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import foreign_case as foreign
from plumbline.kernels import Unsupported

ALL_DTYPES = ("fp32", "fp16", "bf16")
HALF_DTYPES = ("fp16", "bf16")


def on_gpu(case) -> bool:
    return case.device != "cpu"


def heads_first(tensor: torch.Tensor) -> torch.Tensor:
    """[batch, seq, heads, dim] -> [batch, heads, seq, dim] for SDPA, without a copy."""
    return tensor.transpose(1, 2)


def attention_mask(case) -> torch.Tensor:
    """Returns bool [batch, 1, seq_q, seq_kv]."""
    return foreign.on_device(case, foreign.attended_mask(case)).unsqueeze(1)


def mask_beside_causal(case) -> torch.Tensor | None:
    """Returns attention_mask(); None if no mask is needed or is_causal is enough."""
    mask = foreign.mask_beside_causal(case)
    return None if mask is None else foreign.on_device(case, mask)


def repeated(case, tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Repeats the heads of K or V for operators that need as many key heads as query heads."""
    return tensor.repeat_interleave(case.heads_q // case.heads_kv, dim=dim)


def sdpa_arguments(case) -> dict:
    causal = foreign.is_top_left_causal(case)
    mask = mask_beside_causal(case)
    case.launched += ", is_causal" if causal else ", attn_mask" if mask is not None else ""
    return {"attn_mask": mask, "is_causal": causal, "scale": case.scale,
            "enable_gqa": case.heads_q != case.heads_kv}


def takes(operator, argument: str) -> bool:
    """Returns true if the operator has the argument in this release of PyTorch."""
    return any(known.name == argument for known in operator.default._schema.arguments)


def refused_by_pytorch(error: RuntimeError, caught: list) -> Unsupported:
    """Returns PyTorch's reason. PyTorch warns with the reasons of each backend, then raises "No
    available kernel". Its warnings about disabled backends are dropped."""
    texts = [str(w.message).split(" (Triggered")[0] for w in caught]
    reasons = [text for text in texts if "not used because" not in text
               and "runtime disabled" not in text]
    return Unsupported("; ".join(dict.fromkeys(reasons)) or str(error).splitlines()[0])


def try_backend(backend: SDPBackend, call) -> None:
    """Calls once outside the timing, because a backend refuses a problem only when it runs."""
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(backend):
        warnings.simplefilter("always")
        try:
            call()
        except RuntimeError as error:
            if "No available kernel" not in str(error):
                raise
            raise refused_by_pytorch(error, caught) from None
