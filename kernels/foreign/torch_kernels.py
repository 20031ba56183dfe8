"""PyTorch's attention, on the CPU and on CUDA devices; PyTorch 2.11 to 2.13.

The backends of scaled_dot_product_attention, the operators below them (torch_operators.py) and
flex_attention (torch_flex.py).

`is_causal` is aligned top left, so it is used only for such problems. Other masks, windows and
padding become a boolean mask. If a backend does not support a problem, the case is refused with
PyTorch's own reason: `sdpa_kernel` with one backend never falls back to another.
https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.scaled_dot_product_attention.html
"""

from __future__ import annotations

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import foreign_case as foreign
import torch_flex  # noqa: F401  declares kernels
import torch_operators
from plumbline.kernels import Spec, kernel
from torch_common import ALL_DTYPES, HALF_DTYPES, heads_first, sdpa_arguments, try_backend

PROVIDER = "torch"
NEEDS = ("torch",)  # without these there is nothing to measure

# The math backend computes 16-bit inputs in fp32 and rounds only the output.
MATH_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma")
FLASH_SPEC = foreign.by_device(torch_operators.CPU_FLASH_SPEC, torch_operators.FUSED_SPEC)


def version() -> str:
    text = foreign.versions("torch") + f", {torch.backends.cpu.get_cpu_capability()}"
    return (text if torch.version.cuda is None
            else f"{text}, CUDA {torch.version.cuda}, cuDNN {cudnn_version()}")


def cudnn_version() -> str:
    try:
        return str(torch.backends.cudnn.version())
    except RuntimeError as error:  # another cuDNN is loaded
        return str(error).splitlines()[0]


def padded_sdpa(case, backend: SDPBackend):
    foreign.refuse_poisoned_padding(case)
    q, k, v = (heads_first(t) for t in (case.q, case.k, case.v))
    arguments = sdpa_arguments(case)

    def call():
        return scaled_dot_product_attention(q, k, v, **arguments)

    def run():
        with sdpa_kernel(backend):
            return heads_first(call())

    try_backend(backend, call)
    return run


def ragged_sdpa(case, backend: SDPBackend):
    """Calls SDPA once per sample, on views of the ragged tensors."""
    samples = []
    for sample in range(case.batch):
        # [1, heads, tokens, dim]
        q, k, v = (t.transpose(0, 1).unsqueeze(0) for t in case.sample(sample))
        visible = foreign.on_device(case, case.visible_of(sample))
        # Without a key there is no call, and the rows stay zero.
        if q.shape[2] > 0 and k.shape[2] > 0:
            samples.append((case.query_rows(sample), (q, k, v), None if visible.all() else visible))
    out = torch.zeros(case.total_q, case.heads_q, case.head_dim_vo, dtype=case.q.dtype,
                      device=case.q.device)
    gqa = case.heads_q != case.heads_kv

    def call():
        for rows, (q, k, v), mask in samples:
            result = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=case.scale,
                                                  enable_gqa=gqa)
            out[rows] = result[0].transpose(0, 1)
        return out

    def run():
        with sdpa_kernel(backend):
            return call()

    try_backend(backend, call)
    return run


def declare_backend(name: str, backend: SDPBackend, spec, dtypes: tuple[str, ...],
                    devices: tuple[str, ...], tensor_cores: str = "none") -> None:
    common = {
        "dtypes": dtypes,
        "masks": foreign.MASKS_AND_BITS,
        "framework": "torch",
        "devices": devices,
        "window": True,
        "spec": spec,
        "tensor_cores": tensor_cores,
    }

    @kernel(name=name, layouts=foreign.PADDED, padding_policy="attended", **common)
    def padded(case):
        return padded_sdpa(case, backend)

    @kernel(name=f"{name}_varlen", layouts=("ragged",), **common)
    def varlen(case):
        return ragged_sdpa(case, backend)


BOTH, GPU = ("cpu", "cuda"), ("cuda",)
FUSED_SPEC, CUDNN_SPEC = torch_operators.FUSED_SPEC, torch_operators.CUDNN_SPEC
declare_backend("sdpa_math", SDPBackend.MATH, MATH_SPEC, ALL_DTYPES, BOTH)
declare_backend("sdpa_flash", SDPBackend.FLASH_ATTENTION, FLASH_SPEC, ALL_DTYPES, BOTH,
                tensor_cores="on")
declare_backend("sdpa_efficient", SDPBackend.EFFICIENT_ATTENTION, FUSED_SPEC, ALL_DTYPES, GPU,
                tensor_cores="on")
declare_backend("sdpa_cudnn", SDPBackend.CUDNN_ATTENTION, CUDNN_SPEC, HALF_DTYPES, GPU,
                tensor_cores="on")
