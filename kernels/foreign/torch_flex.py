"""FlexAttention, in Python and compiled.
https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html"""

from __future__ import annotations

import importlib.util
import warnings

import torch
from torch.nn.attention import flex_attention as flex_module

import foreign_case as foreign
from foreign_case import on_device
from plumbline.kernels import Spec, Unsupported, kernel
from torch_common import ALL_DTYPES, attention_mask, heads_first

CPU_SPEC = Spec(p_dtype="input", p_normalized=True, qk_accumulator="fma", pv_accumulator="fma")
GPU_SPEC = Spec(p_dtype="input", p_normalized=True, qk_accumulator="fma")
COMMON = {"dtypes": ALL_DTYPES, "layouts": foreign.PADDED, "masks": foreign.MASKS_AND_BITS,
          "window": True, "framework": "torch", "padding_policy": "attended", "lse": True,
          "softcap": True, "alibi": True}


def flex_score_mod(case):
    """Returns a score_mod with the softcap and ALiBi; None if there are none."""
    if case.softcap == 0 and case.alibi_slopes is None:
        return None
    slopes = None if case.alibi_slopes is None else on_device(case, case.alibi_slopes)
    length_q, length_kv = (on_device(case, lengths)
                           for lengths in (case.seqlens_q, case.seqlens_kv))
    left = case.padding == "left"
    # The diagonal of padded row i is padded key i + diagonal. With padding on the left, the last
    # row and key are already aligned.
    diagonal = torch.full_like(length_q, case.seq_kv - case.seq_q) if left else length_kv - length_q

    def score_mod(score, b, h, i, j):
        if case.softcap != 0:
            score = case.softcap * torch.tanh(score / case.softcap)
        if slopes is not None:
            score = score - slopes[h] * (i + diagonal[b] - j).abs()
        return score

    return score_mod


def arguments_of(case) -> dict:
    block_mask = None
    if foreign.needs_mask(case):
        visible = attention_mask(case)[:, 0]
        block_mask = flex_module.create_block_mask(lambda b, h, i, j: visible[b, i, j], case.batch,
                                                   None, case.seq_q, case.seq_kv,
                                                   device=case.q.device)
    request = flex_module.AuxRequest(lse=True) if case.lse_wanted else None
    return {
        "score_mod": flex_score_mod(case),
        "block_mask": block_mask,
        "scale": case.scale,
        "enable_gqa": case.heads_q != case.heads_kv,
        "return_aux": request,
    }


def runner(case, function):
    foreign.refuse_poisoned_padding(case)
    q, k, v = (heads_first(t) for t in (case.q, case.k, case.v))
    arguments = arguments_of(case)

    def run():
        result = function(q, k, v, **arguments)
        if not case.lse_wanted:
            return heads_first(result)
        out, aux = result
        return heads_first(out), heads_first(aux.lse)

    return run


@kernel(name="flex", spec=foreign.by_device(CPU_SPEC, GPU_SPEC), **COMMON)
def flex(case):
    """Runs without torch.compile, so S and P are stored in memory."""
    run = runner(case, flex_module.flex_attention)

    def quiet():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the missing compilation
            return run()

    return quiet


@kernel(name="flex_compiled", devices="cuda", tensor_cores="on",
        spec=Spec(p_dtype="input", p_max="one"), **COMMON)
def flex_compiled(case):
    """Runs the Triton kernel of torch.compile, compiled here, outside the timing."""
    foreign.refuse_if(importlib.util.find_spec("triton") is None,
                      "not measured: triton is not installed, which torch.compile needs on a GPU")
    # Beyond a limit of recompilations PyTorch runs in Python, so reset for each problem.
    torch.compiler.reset()
    run = runner(case, torch.compile(flex_module.flex_attention, dynamic=False, fullgraph=True))
    try:
        run()
    except NotImplementedError as error:
        raise Unsupported(str(error).splitlines()[0]) from None
    return run
