"""Converts between numbers of plumbline_provider.h and words, and descriptions to their wire form.
"""
from __future__ import annotations

import csv
import pathlib
from typing import Any, Dict, Mapping, Optional, Tuple

from .kernels import (DTYPES, LAYOUTS, MASKS, P_MAXIMA, PADDING_POLICIES, PROMISE_LEVELS, PROMISES,
                      QUESTIONS, Kernel, Spec)

PADDINGS = ("right", "left")  # plumbline_padding
MEMORY_SPACES = ("host", "cuda", "emulated")  # plumbline_memory_space

FMA = {"dtype": DTYPES.index("fp32"), "toward_zero": 0, "fraction_bits": 24, "products_per_step": 1}


def _tensor_cores() -> Dict[str, Tuple[int, int, int]]:
    """Returns (fraction bits, products per step of 16-bit inputs, of tf32) by architecture: columns
    of emulator/architectures.csv, which a build copies to this folder."""
    path = pathlib.Path(__file__).resolve().with_name("architectures.csv")
    if not path.exists():
        path = path.parents[3] / "emulator" / path.name
    with path.open(encoding="utf-8", newline="") as file:
        return {row["name"]: (int(row["fraction_bits"]), int(row["products_16_bit"]),
                              int(row["products_tf32"]))
                for row in csv.DictReader(file) if row["fraction_bits"] != "0"}


TENSOR_CORES = _tensor_cores()
# For an unknown architecture, as in harness/problem/arch.h.
UNKNOWN_TENSOR_CORE = (24, 8, 8)
# for fp8 inputs, on each known architecture
FP8_TENSOR_CORE = {"dtype": DTYPES.index("fp32"), "toward_zero": 1, "fraction_bits": 13,
                   "products_per_step": 16}
FP8_DTYPES = ("e4m3", "e5m2")


def tensor_core(arch: str, dtype: str) -> Dict[str, int]:
    """Returns how an architecture's tensor cores sum products of inputs in `dtype`; fp32 inputs are
    taken as tf32."""
    if dtype in FP8_DTYPES and arch in TENSOR_CORES:
        return FP8_TENSOR_CORE
    bits, products_16_bit, products_tf32 = TENSOR_CORES.get(arch, UNKNOWN_TENSOR_CORE)
    return {"dtype": DTYPES.index("fp32"), "toward_zero": 1, "fraction_bits": bits,
            "products_per_step": products_tf32 if dtype == "fp32" else products_16_bit}


def word(words: tuple, number: int) -> str:
    """Returns the word of a number from plumbline; a newer plumbline may send an unknown one."""
    return words[number] if number < len(words) else f"number {number}"


def problem_words(problem: Mapping[str, Any]) -> Dict[str, str]:
    return {
        "dtype": word(DTYPES, problem["dtype_q"]), "dtype_kv": word(DTYPES, problem["dtype_kv"]),
        "dtype_out": word(DTYPES, problem["dtype_out"]), "layout": word(LAYOUTS, problem["layout"]),
        "mask": word(MASKS, problem["mask"]), "padding": word(PADDINGS, problem["padding"]),
    }


def asked_question(problem: Mapping[str, Any]) -> str:
    """Returns the operation. A plumbline without merges sends no question."""
    return word(QUESTIONS, problem.get("question", 0))


def merge_lse_base(problem: Mapping[str, Any]) -> str:
    """Returns "e" or "2" for a merge, otherwise ""."""
    if asked_question(problem) != "merge":
        return ""
    return "2" if problem["merge_lse_base"] == 2 else "e"


def _accumulator(value: object, default: Dict[str, int],
                 of_tensor_cores: Dict[str, int]) -> Dict[str, int]:
    if value is None:
        return default
    if isinstance(value, Mapping):
        return {"dtype": DTYPES.index(value["dtype"]), "toward_zero": int(value["toward_zero"]),
                "fraction_bits": int(value["fraction_bits"]),
                "products_per_step": int(value["products_per_step"])}
    if value in ("fma", "tensor_core"):
        return FMA if value == "fma" else of_tensor_cores
    dtype, direction, bits, products = str(value).split("/")
    return {"dtype": DTYPES.index(dtype), "toward_zero": int(direction == "toward_zero"),
            "fraction_bits": int(bits), "products_per_step": int(products)}


def _dtype(value: Optional[str], words: Mapping[str, str]) -> int:
    return DTYPES.index({"input": words["dtype"], "output": words["dtype_out"]}.get(value, value))


def _rounding_step(value: Optional[str], words: Mapping[str, str]) -> int:
    """Rounding to fp32 is not a step, because the rounded values are fp32 anyway."""
    number = _dtype("none" if value is None else value, words)
    return 0 if number == DTYPES.index("fp32") else number


def _flag_of_step(flag: Optional[bool], step: Optional[str], words: Mapping[str, str]) -> int:
    """Returns the flag of a rounding step; 0 if the stated step does not round for the dtypes of
    this problem."""
    is_none_here = step not in (None, "none") and _rounding_step(step, words) == 0
    return int(bool(flag) and not is_none_here)


def spec_to_wire(spec: Spec, words: Mapping[str, str], arch: str = "",
                 lse_base: str = "") -> Dict[str, Any]:
    """Returns the plumbline_rounding_spec. Unset fields are those of the strict default: P in the
    dtype of Q (e4m3: times 256), accumulators of FMA for fp32 and otherwise of the tensor cores of
    `arch` ("sm_90"), nothing else rounded. For a merge, whose LSEs have base `lse_base`: P in
    fp32, FMA, and an LSE of that base."""
    of_tensor_cores = tensor_core(arch, words["dtype"])
    accumulator = FMA if words["dtype"] == "fp32" or lse_base else of_tensor_cores
    p_dtype = _dtype(spec.p_dtype or ("fp32" if lse_base else "input"), words)
    prescale = 256 if p_dtype == DTYPES.index("e4m3") else 1
    return {
        "p_dtype": p_dtype,
        "p_prescale": float(prescale if spec.p_prescale is None else spec.p_prescale),
        "denominator_from_rounded_p": int(bool(spec.denominator_from_rounded_p)),
        "s_rounded": _rounding_step(spec.s_rounded, words),
        "q_prescaled": _rounding_step(spec.q_prescaled, words),
        "split_partial_dtype": _dtype(spec.split_partial_dtype or "fp32", words),
        "qk_accumulator": _accumulator(spec.qk_accumulator, accumulator, of_tensor_cores),
        "pv_accumulator": _accumulator(spec.pv_accumulator, accumulator, of_tensor_cores),
        "exp2_rel_error": float(spec.exp2_rel_error or 0),
        "tanh_rel_error": float(spec.tanh_rel_error or 0),
        "kv_dequantized_to": _dtype(spec.kv_dequantized_to or "none", words),
        "out_dtype": DTYPES.index(words["dtype_out"]),
        "lse_base": 2 if str(spec.lse_base or lse_base) == "2" else 0,
        "lse_excludes_sink": int(spec.lse_includes_sink is False),
    }


def more_roundings_to_wire(spec: Spec, words: Mapping[str, str]) -> Dict[str, Any]:
    """Returns the plumbline_more_roundings."""
    return {
        "p_normalized": int(bool(spec.p_normalized)),
        "p_max": P_MAXIMA.index(spec.p_max or "running"),
        "p_toward_zero": int(bool(spec.p_toward_zero)),
        "s_rounded_twice": _flag_of_step(spec.s_rounded_twice, spec.s_rounded, words),
        "s_rounded_before_bias": _flag_of_step(spec.s_rounded_before_bias, spec.s_rounded, words),
        "s_rounded_before_softcap": _flag_of_step(spec.s_rounded_before_softcap, spec.s_rounded,
                                                  words),
        "lse_without_row_bias": int(bool(spec.lse_without_row_bias)),
        "product_rel_error": float(spec.product_rel_error or 0),
        "skipped_below": float(spec.skipped_below or 0),
        "p_stochastic": int(bool(spec.p_stochastic)),
        "out_stochastic": int(bool(spec.out_stochastic)),
        "inputs_toward_zero": int(bool(spec.inputs_toward_zero)),
        "ring_update": int(bool(spec.ring_update)),
        "q_prescaled_without_log2e": _flag_of_step(spec.q_prescaled_without_log2e,
                                                   spec.q_prescaled, words),
        "o_between_tiles": _rounding_step(spec.o_between_tiles, words),
        "out_toward_zero": int(bool(spec.out_toward_zero)),
        "lse_dtype": _rounding_step(spec.lse_dtype, words),
        "reciprocal_rel_error": float(spec.reciprocal_rel_error or 0),
    }


def description(kernel: Kernel, spec: Spec, words: Mapping[str, str], launched: str, build_id: str,
                arch: str = "", device: str = "cpu", lse_base: str = "") -> Dict[str, Any]:
    """Returns the plumbline_description. `arch` is the GPU's; "" on the CPU, on which a kernel for
    cpu and cuda uses no tensor cores."""
    tensor_cores = "none" if device == "cpu" and "cuda" in kernel.devices else kernel.tensor_cores
    return {
        "launched": launched, "build_id": build_id, "tensor_cores": tensor_cores,
        "padding_policy": PADDING_POLICIES.index(kernel.padding_policy),
        "spec": spec_to_wire(spec, words, arch, lse_base),
        "more_roundings": more_roundings_to_wire(spec, words),
        "promises": {name: PROMISE_LEVELS.index(kernel.promises.get(name, "none"))
                     for name in PROMISES},
        "registers_per_thread": -1, "spill_bytes_per_thread": -1, "shared_memory_bytes": -1,
        "stack_bytes_per_thread": -1, "device_arch": arch,
    }
