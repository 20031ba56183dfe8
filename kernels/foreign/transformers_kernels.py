"""Hugging Face Transformers' attention functions, as a Llama layer calls them.

Masks come from Transformers' own masking_utils.

`sdpa_unpad` replaces FlashAttention-2's path on a CPU, where flash_attn does not run. It calls
Transformers' own unpadding, SDPA for each sample instead of flash_attn_varlen_func, and
Transformers' own padding, which writes zeros into padded rows. transformers_emulated_kernels.py has
this path with FlashAttention-2's own kernels on the emulator.
"""

from __future__ import annotations

import types

import numpy as np
import torch
from transformers.integrations.flash_attention import flash_attention_forward
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import (and_masks, bidirectional_mask_function,
                                        causal_mask_function, eager_mask, sdpa_mask,
                                        sliding_window_bidirectional_overlay,
                                        sliding_window_overlay)
from transformers.modeling_flash_attention_utils import _pad_input, _unpad_input
from transformers.models.llama.modeling_llama import (LlamaConfig, LlamaModel,
                                                      eager_attention_forward)

import foreign_case as foreign
from foreign_case import on_device
from plumbline.kernels import Spec, Unsupported, kernel

PROVIDER = "transformers"
NEEDS = ("transformers", "torch")  # without these there is nothing to measure
COMMON = {"layouts": foreign.PADDED, "masks": foreign.ALL_MASKS, "window": True,
          "framework": "torch"}
# Two matrix products and a softmax in fp32 between them: S and P go through memory in the input
# dtype. On a GPU the products of 16-bit inputs run on tensor cores.
FMA = {"qk_accumulator": "fma", "pv_accumulator": "fma"}
EAGER = {"s_rounded": "input", "s_rounded_twice": True, "p_dtype": "input", "p_normalized": True}
EAGER_SPEC = foreign.by_device(Spec(**EAGER, **FMA), Spec(**EAGER))
SDPA_SPEC = foreign.by_device(Spec(p_dtype="input", **FMA), Spec(p_dtype="input"))


def version() -> str:
    return foreign.versions("transformers", "torch")


def layer(case, implementation: str) -> types.SimpleNamespace:
    """Returns the fields of a module that the attention functions read."""
    return types.SimpleNamespace(
        num_key_value_groups=case.heads_q // case.heads_kv,
        training=False,
        is_causal=case.mask != "none",
        config=types.SimpleNamespace(_attn_implementation=implementation),
        layer_idx=0,
    )


def query_offset(case) -> int:
    """Returns the key position of query 0 within the padded tensors. Transformers has one position
    for all samples of a batch."""
    length_q, length_kv = np.asarray(case.seqlens_q), np.asarray(case.seqlens_kv)
    left = case.padding == "left"
    first_query, first_key = ((case.seq_q - length_q, case.seq_kv - length_kv) if left
                              else (0 * length_q, 0 * length_kv))
    offsets = (first_key - first_query
               + (0 if case.mask == "causal_top_left" else length_kv - length_q))
    if case.mask != "none" or foreign.has_window(case):
        foreign.refuse_if(not (offsets == offsets[0]).all(),
                          "Transformers aligns the mask of all samples of a batch alike")
        foreign.refuse_if(case.seq_q == 1 and offsets[0] != case.seq_kv - 1,
                          "Transformers treats a single query as the last, which sees all keys")
        return int(offsets[0])
    return 0


def mask_function(case):
    if case.mask != "none" and case.window_left >= 0:
        return and_masks(causal_mask_function, sliding_window_overlay(case.window_left + 1))
    if case.mask != "none":
        return causal_mask_function
    if not foreign.has_window(case):
        return bidirectional_mask_function
    foreign.refuse_if(case.window_left != case.window_right,
                      "Transformers' window without a causal mask is symmetric")
    return and_masks(bidirectional_mask_function,
                     sliding_window_bidirectional_overlay(case.window_left))


def mask_arguments(case) -> dict:
    """Returns arguments of eager_mask and sdpa_mask, as create_causal_mask and
    create_bidirectional_mask pass them."""
    padding = on_device(case, case.key_padding_mask()) if foreign.has_padding(case) else None
    window = case.window_left + 1 if foreign.has_window(case) else None
    return {
        "batch_size": case.batch,
        "q_length": case.seq_q,
        "kv_length": case.seq_kv,
        "q_offset": query_offset(case),
        "mask_function": mask_function(case),
        "attention_mask": padding,
        "local_size": window,
        "dtype": case.q.dtype,
        "device": case.q.device,
        "allow_is_causal_skip": case.mask != "none",
        "allow_is_bidirectional_skip": case.mask == "none",
    }


def attention(case, implementation: str, function, mask):
    module = layer(case, implementation)
    q, k, v = (t.transpose(1, 2) for t in (case.q, case.k, case.v))

    def run():
        out, _ = function(module, q, k, v, mask, scaling=case.scale, is_causal=module.is_causal)
        return out  # [batch, seq, heads, dim]

    return run


@kernel(name="eager", dtypes=("fp32", "fp16", "bf16"), spec=EAGER_SPEC, padding_policy="attended",
        **COMMON)
def eager(case):
    """Adds finfo.min to masked logits, so a row without visible keys averages all keys."""
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(
        case, "the eager mask adds finfo.min to every logit of it, and the softmax averages "
        "all keys", padded_too=True)
    return attention(case, "eager", eager_attention_forward, eager_mask(**mask_arguments(case)))


@kernel(name="sdpa", dtypes=("fp32", "fp16", "bf16"), spec=SDPA_SPEC, padding_policy="attended",
        **COMMON)
def sdpa(case):
    foreign.refuse_poisoned_padding(case)
    return attention(case, "sdpa", sdpa_attention_forward, sdpa_mask(**mask_arguments(case)))


@kernel(
    name="flash_attention_2", dtypes=("fp16", "bf16"), spec=Spec(p_max="one"),
    padding_policy="zeros", tensor_cores="on", devices="cuda", **COMMON
)
def flash_attention_2(case):
    refuse_what_transformers_refuses(case)
    return through_transformers(case, "flash_attention_2")


def through_transformers(case, implementation: str):
    """With padding, unpads, calls the implementation's flash_attn_varlen_func and pads. Without
    padding, calls its flash_attn_func."""
    if foreign.has_padding(case) and case.seq_q != case.seq_kv and case.seq_q != 1:
        raise Unsupported("flash_attention_2 has one padding mask for queries and keys")
    if case.mask == "causal_top_left" and case.seq_q != case.seq_kv:
        raise Unsupported("FlashAttention aligns its causal mask bottom right")
    padding = on_device(case, case.key_padding_mask()) if foreign.has_padding(case) else None
    window = case.window_left + 1 if foreign.has_window(case) else None
    module = layer(case, implementation)
    q, k, v = (t.transpose(1, 2) for t in (case.q, case.k, case.v))

    def run():
        return flash_attention_forward(module, q, k, v, padding, scaling=case.scale,
                                       sliding_window=window, is_causal=module.is_causal)[0]

    return run


def refuse_what_transformers_refuses(case) -> None:
    """Refuses with the reason that a model with flash_attention_2 raises."""
    foreign.refuse_if(not foreign.installed_version("flash-attn"),
                      "not measured: flash-attn is not installed, which Transformers' "
                      "flash_attention_2 calls")
    config = LlamaConfig(hidden_size=64, intermediate_size=64, num_hidden_layers=1,
                         num_attention_heads=1, vocab_size=8, dtype=case.q.dtype,
                         attn_implementation="flash_attention_2")
    try:
        LlamaModel(config)
    except (ImportError, ValueError) as error:
        raise Unsupported(str(error)) from None


@kernel(name="sdpa_unpad", dtypes=("fp16", "bf16"), spec=SDPA_SPEC, padding_policy="zeros",
        **COMMON)
def sdpa_unpad(case):
    """Replaces flash_attention_2 on a CPU: _unpad_input, SDPA for each sample, _pad_input.
    All three are timed."""
    valid_q, valid_kv = ~foreign.padded_rows(case), case.key_padding_mask()
    mask_q, mask_kv = on_device(case, valid_q), on_device(case, valid_kv)
    masks = [on_device(case, v[q][:, k])[None, None]
             for v, q, k in zip(case.visible(), valid_q, valid_kv)]
    causal = [case.mask != "none" and not foreign.has_window(case) and m.shape[2] == m.shape[3]
              for m in masks]
    masks = [None if c or m.all() else m for c, m in zip(causal, masks)]
    gqa = case.heads_q != case.heads_kv

    def run():
        q, indices, starts_q, _, _ = _unpad_input(case.q, mask_q)
        k, _, starts_kv, _, _ = _unpad_input(case.k, mask_kv)
        v = _unpad_input(case.v, mask_kv)[0]
        starts_q, starts_kv = starts_q.tolist(), starts_kv.tolist()
        out = q.new_zeros(q.shape[0], case.heads_q, case.head_dim_vo)
        for sample in range(case.batch):
            queries, keys = slice(*starts_q[sample : sample + 2]), slice(
                *starts_kv[sample : sample + 2])
            if queries.start < queries.stop and keys.start < keys.stop:
                parts = [t.transpose(0, 1)[None] for t in (q[queries], k[keys], v[keys])]
                result = torch.nn.functional.scaled_dot_product_attention(
                    *parts, attn_mask=masks[sample], is_causal=causal[sample], scale=case.scale,
                    enable_gqa=gqa)
                out[queries] = result[0].transpose(0, 1)
        return _pad_input(out, indices, case.batch, case.seq_q)

    return run
