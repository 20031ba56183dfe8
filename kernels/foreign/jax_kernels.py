"""JAX's dot_product_attention:
https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html

`dpa` passes a mask if the problem needs one and is not plain causal. Padded query rows attend.
`dpa_seqlens` passes query_seq_lengths and key_value_seq_lengths, so padding is on the right and
padded query rows are zero.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import foreign_case as foreign
from plumbline.kernels import Spec, Unsupported, kernel

PROVIDER = "jax"
NEEDS = ("jax", "jaxlib")  # without these there is nothing to measure
ALL_DTYPES = ("fp32", "fp16", "bf16")
COMMON = {"layouts": foreign.PADDED, "window": True, "framework": "jax"}
DENSE = {"masks": foreign.ALL_MASKS, "padding_policy": "attended", **COMMON}
# P is rounded after the softmax has divided by its sum.
CPU_SPEC = Spec(p_dtype="input", p_normalized=True, qk_accumulator="fma", pv_accumulator="fma")
TENSOR_CORES = {"qk_accumulator": "tensor_core", "pv_accumulator": "tensor_core"}
GPU_SPEC = Spec(p_dtype="input", p_normalized=True, **TENSOR_CORES)
# The default precision of fp32 products on a GPU:
# https://docs.jax.dev/en/latest/jax.lax.html#jax.lax.Precision
GPU_FP32_SPEC = Spec(p_dtype="tf32", p_normalized=True, kv_dequantized_to="tf32", **TENSOR_CORES)
CUDNN_SPEC = Spec(p_dtype="input", **TENSOR_CORES)


def xla_spec(case) -> Spec:
    if case.device == "cpu":
        return CPU_SPEC
    return GPU_FP32_SPEC if case.dtype == "fp32" else GPU_SPEC


def xla_lse_spec(case) -> Spec:
    return dataclasses.replace(xla_spec(case), lse_dtype="input")


def version() -> str:
    return foreign.versions("jax", "jaxlib")


def refuse_unequal_head_dims(case) -> None:
    foreign.refuse_if(case.head_dim_qk != case.head_dim_vo,
                      "dot_product_attention wants key and value of the same shape")


def refuse_padding_and_rows(case) -> None:
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(
        case, "JAX replaces each logit of it by -0.7 of the largest float, and the softmax "
        "averages all keys")


def is_top_left(case) -> bool:
    """Returns true if JAX's alignment, top left within the padded tensors, fits the problem."""
    return case.mask == "causal_top_left" or bool((case.seqlens_q == case.seqlens_kv).all())


def compiled(case, implementation: str, gives_lse: bool = False, **arguments):
    """Returns a function without arguments that runs the call, compiled here, outside the timing.
    Masks and lengths are arguments of the compiled call, not constants.

    fp16 runs op by op, because inside jax.jit the CPU refuses JAX's F16_F16_F32 products
    (docs/findings.md).
    """
    static = {name: arguments.pop(name) for name in ("is_causal", "local_window_size")
              if name in arguments}

    def call(q, k, v, dynamic):
        return jax.nn.dot_product_attention(q, k, v, scale=case.scale,
                                            implementation=implementation,
                                            return_residual=gives_lse, **static, **dynamic)

    place = next(iter(case.q.devices()))
    inputs = (case.q, case.k, case.v,
              {name: jax.device_put(value, place) for name, value in arguments.items()})
    by_operation = case.dtype == "fp16" and case.device == "cpu" and "raw" not in case.options
    execute = call if by_operation else compiled_for(call, inputs)

    def run():
        result = jax.block_until_ready(execute(*inputs))
        return (result[0], result[1].astype(jnp.float32)) if gives_lse else result

    return run


def compiled_for(call, inputs):
    try:
        return jax.jit(call).lower(*inputs).compile()
    # Raised by check_is_flash_attention and similar checks in jax/_src/cudnn.
    except NotImplementedError as error:
        raise Unsupported(str(error).splitlines()[0]) from None
    except RuntimeError as error:
        if "cuDNN" not in str(error):
            raise
        raise Unsupported(str(error).splitlines()[0]) from None


def dense(case, implementation: str, gives_lse: bool = False):
    refuse_unequal_head_dims(case)
    refuse_padding_and_rows(case)
    if not foreign.needs_mask(case):
        return compiled(case, implementation, gives_lse)
    if foreign.is_top_left_causal(case):
        return compiled(case, implementation, gives_lse, is_causal=True)
    return compiled(case, implementation, gives_lse, mask=foreign.attended_mask(case)[:, None])


@kernel(name="dpa", dtypes=ALL_DTYPES, spec=xla_spec, **DENSE)
def dpa(case):
    return dense(case, "xla")


@kernel(name="dpa_lse", dtypes=ALL_DTYPES, spec=xla_lse_spec, lse=True, **DENSE)
def dpa_lse(case):
    """Like dpa with return_residual=True. JAX rounds the LSE to the dtype of its inputs."""
    return dense(case, "xla", case.lse_wanted)


@kernel(name="dpa_cudnn", dtypes=("fp16", "bf16"), devices="cuda", spec=CUDNN_SPEC,
        tensor_cores="on", **DENSE)
def dpa_cudnn(case):
    """cuDNN's kernel, without its LSE, which is rounded to the dtype of the inputs."""
    return dense(case, "cudnn")


@kernel(name="dpa_seqlens", dtypes=ALL_DTYPES, masks=("none", "causal_top_left"), spec=xla_spec,
        padding_policy="zeros", **COMMON)
def dpa_seqlens(case):
    refuse_unequal_head_dims(case)
    foreign.refuse_if(foreign.has_padding(case) and case.padding != "right",
                      "query_seq_lengths and key_value_seq_lengths count from the left: padding on "
                      "the right only")
    foreign.refuse_if(
        foreign.has_window(case) and case.mask == "none" and not is_top_left(case),
        "JAX aligns local_window_size top left")
    refuse_padding_and_rows(case)
    lengths = {
        "query_seq_lengths": np.asarray(case.seqlens_q, np.int32),
        "key_value_seq_lengths": np.asarray(case.seqlens_kv, np.int32),
    }
    window = {}
    if foreign.has_window(case):
        window["local_window_size"] = tuple(case.seq_kv if size < 0 else size
                                            for size in foreign.window(case))
    return compiled(case, "xla", is_causal=case.mask != "none", **window, **lengths)
