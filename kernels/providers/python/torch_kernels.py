"""PyTorch's attention: the backends of scaled_dot_product_attention, and flex_attention.

`is_causal` is aligned top left, so it is used where that is what the problem asks; bottom-right masks, windows and
padding go through a boolean mask. A backend that does not take a problem is refused with PyTorch's own reason:
`sdpa_kernel` with one backend never falls back to another.
https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.scaled_dot_product_attention.html
"""

from __future__ import annotations

import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import foreign_case as foreign
from plumbline_provider import Spec, Unsupported, kernel

PROVIDER = "torch"
ALL_DTYPES = ("fp32", "fp16", "bf16")
HALF_DTYPES = ("fp16", "bf16")

# Math computes 16-bit inputs in fp32 and rounds the output only.
MATH_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma")
FLASH_SPEC = Spec(p_dtype="input", qk_accumulator="fma", pv_accumulator="fma")
# The largest relative error of fexp_u20 (ATen/cpu/vec/vec512/vec512_float.h) in [-60, 0]: the flash kernel's exp for
# 16-bit inputs.
FLASH_16_BIT_SPEC = Spec(p_dtype="input", exp2_rel_error=1.13e-4, qk_accumulator="fma", pv_accumulator="fma")


def version() -> str:
    return foreign.versions("torch") + f", {torch.backends.cpu.get_cpu_capability()}"


def heads_first(tensor: torch.Tensor) -> torch.Tensor:
    """[batch, seq, heads, dim] as SDPA has it: [batch, heads, seq, dim], without a copy."""
    return tensor.transpose(1, 2)


def attention_mask(case) -> torch.Tensor:
    """bool [batch, 1, seq_q, seq_kv]."""
    return torch.from_numpy(foreign.attended_mask(case)).unsqueeze(1).to(case.q.device)


def sdpa_arguments(case) -> dict:
    causal = foreign.is_top_left_causal(case)
    mask = attention_mask(case) if foreign.needs_mask(case) and not causal else None
    case.launched += ", is_causal" if causal else ", attn_mask" if mask is not None else ""
    return {"attn_mask": mask, "is_causal": causal, "scale": case.scale, "enable_gqa": case.heads_q != case.heads_kv}


def refused_by_pytorch(error: RuntimeError, caught: list) -> Unsupported:
    """PyTorch warns with the reason, then raises "No available kernel"."""
    reasons = [str(w.message).split(" (Triggered")[0] for w in caught if "not used because" not in str(w.message)]
    return Unsupported("; ".join(reasons) or str(error).splitlines()[0])


def try_backend(backend: SDPBackend, call) -> None:
    """Calls once outside the timing: a backend says only when it runs that it does not take a problem."""
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(backend):
        warnings.simplefilter("always")
        try:
            call()
        except RuntimeError as error:
            if "No available kernel" not in str(error):
                raise
            raise refused_by_pytorch(error, caught) from None


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
    """One call a sample, on views of the ragged tensors."""
    samples = []
    for sample in range(case.batch):
        q, k, v = (t.transpose(0, 1).unsqueeze(0) for t in case.sample(sample))  # [1, heads, tokens, dim]
        visible = torch.from_numpy(case.visible_of(sample)).to(q.device)
        if q.shape[2] > 0 and k.shape[2] > 0:  # without a key SDPA is not asked, and the rows stay zero
            samples.append((case.query_rows(sample), (q, k, v), None if visible.all() else visible))
    out = torch.zeros(case.total_q, case.heads_q, case.head_dim_vo, dtype=case.q.dtype, device=case.q.device)
    gqa = case.heads_q != case.heads_kv

    def call():
        for rows, (q, k, v), mask in samples:
            result = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=case.scale, enable_gqa=gqa)
            out[rows] = result[0].transpose(0, 1)
        return out

    def run():
        with sdpa_kernel(backend):
            return call()

    try_backend(backend, call)
    return run


def declare_backend(name: str, backend: SDPBackend, spec: Spec, dtypes: tuple[str, ...], needs_gpu: bool) -> None:
    common = {
        "dtypes": dtypes,
        "masks": foreign.MASKS_AND_BITS,
        "framework": "torch",
        "window": True,
        "spec": spec,
        "tensor_cores": "on" if needs_gpu else "none",
    }

    @kernel(name=name, layouts=foreign.PADDED, padding_policy="attended", **common)
    def padded(case):
        if needs_gpu:
            foreign.require_cuda(case)
        return padded_sdpa(case, backend)

    @kernel(name=f"{name}_varlen", layouts=("ragged",), **common)
    def varlen(case):
        if needs_gpu:
            foreign.require_cuda(case)
        return ragged_sdpa(case, backend)


declare_backend("sdpa_math", SDPBackend.MATH, MATH_SPEC, ALL_DTYPES, needs_gpu=False)
declare_backend("sdpa_flash", SDPBackend.FLASH_ATTENTION, FLASH_SPEC, ALL_DTYPES, needs_gpu=False)
declare_backend("sdpa_efficient", SDPBackend.EFFICIENT_ATTENTION, Spec(), ALL_DTYPES, needs_gpu=True)
declare_backend("sdpa_cudnn", SDPBackend.CUDNN_ATTENTION, Spec(), HALF_DTYPES, needs_gpu=True)


def flash_with_lse(case):
    """The operator below the flash backend on a CPU, which keeps the LSE for the backward pass."""
    if case.device != "cpu":
        raise Unsupported("aten::_scaled_dot_product_flash_attention_for_cpu is for the CPU")
    if case.head_dim_qk != case.head_dim_vo:
        raise Unsupported("Flash attention requires q,k,v to have the same last dimension")
    foreign.refuse_poisoned_padding(case)
    group = case.heads_q // case.heads_kv
    q = heads_first(case.q)
    k, v = (heads_first(t).repeat_interleave(group, dim=1) for t in (case.k, case.v))
    arguments = sdpa_arguments(case)
    mask = arguments["attn_mask"]
    if mask is not None:
        mask = torch.zeros(mask.shape, dtype=case.q.dtype).masked_fill(~mask, float("-inf"))
    foreign.refuse_empty_rows(case, "its output is right, but the kernel gives LSE 0, not -infinity")

    def run():
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, is_causal=arguments["is_causal"], attn_mask=mask, scale=case.scale
        )
        return heads_first(out), heads_first(lse)

    return run


for suffix, dtypes, spec in (("", HALF_DTYPES, FLASH_16_BIT_SPEC), ("_fp32", ("fp32",), FLASH_SPEC)):
    kernel(
        name=f"sdpa_flash_lse{suffix}",
        dtypes=dtypes,
        layouts=foreign.PADDED,
        masks=foreign.ALL_MASKS,
        window=True,
        framework="torch",
        spec=spec,
        padding_policy="attended",
        lse=True,
    )(flash_with_lse)


def flex_score_mod(case):
    """Softcap and ALiBi of a logit, or None."""
    if case.softcap == 0 and case.alibi_slopes is None:
        return None
    device = case.q.device
    slopes = None if case.alibi_slopes is None else torch.from_numpy(case.alibi_slopes).to(device)
    length_q, length_kv = (torch.from_numpy(x).to(device) for x in (case.seqlens_q, case.seqlens_kv))
    left = case.padding == "left"
    # Of padded positions: row i + diagonal stands on its sample's key i. On the left both ends are aligned already.
    diagonal = torch.full_like(length_q, case.seq_kv - case.seq_q) if left else length_kv - length_q

    def score_mod(score, b, h, i, j):
        if case.softcap != 0:
            score = case.softcap * torch.tanh(score / case.softcap)
        if slopes is not None:
            score = score - slopes[h] * (i + diagonal[b] - j).abs()
        return score

    return score_mod


@kernel(
    name="flex",
    dtypes=ALL_DTYPES,
    layouts=foreign.PADDED,
    masks=foreign.MASKS_AND_BITS,
    window=True,
    framework="torch",
    spec=FLASH_SPEC,
    padding_policy="attended",
    lse=True,
    softcap=True,
    alibi=True,
)
def flex(case):
    """flex_attention as Python runs it, without torch.compile: materialises S and P. Softcap and ALiBi by score_mod."""
    foreign.refuse_poisoned_padding(case)
    q, k, v = (heads_first(t) for t in (case.q, case.k, case.v))
    block_mask = None
    if foreign.needs_mask(case):
        visible = attention_mask(case)[:, 0]
        block_mask = create_block_mask(
            lambda b, h, i, j: visible[b, i, j], case.batch, None, case.seq_q, case.seq_kv, device=q.device
        )
    score_mod = flex_score_mod(case)
    request = AuxRequest(lse=True) if case.lse_wanted else None

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # says that it is not compiled
            result = flex_attention(
                q,
                k,
                v,
                score_mod=score_mod,
                block_mask=block_mask,
                scale=case.scale,
                enable_gqa=case.heads_q != case.heads_kv,
                return_aux=request,
            )
        if request is None:
            return heads_first(result)
        out, aux = result
        return heads_first(out), heads_first(aux.lse)

    return run
