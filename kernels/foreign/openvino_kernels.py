"""OpenVINO's ScaledDotProductAttention on its CPU plugin:
https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/scaled-dot-product-attention.html

Each case is a model of one operation. `sdpa` and `sdpa_bf16` set INFERENCE_PRECISION_HINT to f32,
`sdpa_f16` to f16. With the provider option `raw` they do not set it. The plugin then uses its
default, which is bf16 if the CPU has AVX512-BF16 or AMX.
"""

from __future__ import annotations

import numpy as np
import openvino
from openvino import opset13

import foreign_case as foreign
from plumbline.kernels import Spec, kernel

PROVIDER = "openvino"
NEEDS = ("openvino",)  # without these there is nothing to measure
ELEMENTS = {"fp32": openvino.Type.f32, "fp16": openvino.Type.f16, "bf16": openvino.Type.bf16}

FMA = {"qk_accumulator": "fma", "pv_accumulator": "fma"}
# With the hint f32, models in fp16 and fp32 compute in fp32.
WIDENED_SPEC = Spec(p_dtype="fp32", **FMA)
# K * scale, S (if the head dimension is a multiple of 32) and the normalised P are stored in the
# dtype of the model. s_rounded_twice stands for K * scale, for which the spec has no field.
STORED_SPEC = Spec(s_rounded="input", s_rounded_twice=True, p_dtype="input", p_normalized=True,
                   **FMA)
COMMON = {"layouts": foreign.PADDED, "masks": foreign.MASKS_AND_BITS, "window": True,
          "framework": "numpy", "padding_policy": "attended"}


def version() -> str:
    return f"openvino {openvino.get_version()}"


def tensor_of(array: np.ndarray, dtype: str) -> openvino.Tensor:
    """Returns a copy, because a Tensor in NumPy's memory does not keep the array alive."""
    tensor = openvino.Tensor(ELEMENTS[dtype], array.shape)
    np.copyto(tensor.data.view(array.dtype), array)  # OpenVINO's bf16 is not that of ml_dtypes
    return tensor


def heads_first(tensor: np.ndarray, group: int = 1) -> np.ndarray:
    """[batch, seq, heads, dim] -> [batch, heads * group, seq, dim]. Repeats K and V as exporters
    do, because the operation has one head count."""
    return np.repeat(tensor.transpose(0, 2, 1, 3), group, axis=1)


def sdpa_model(case, inputs: dict[str, openvino.Tensor]) -> openvino.Model:
    """Returns a model of one operation. It takes the scale as a tensor in the dtype of Q, which
    rounds the scale."""
    parameters = {name: opset13.parameter(tensor.shape, tensor.element_type, name)
                  for name, tensor in inputs.items()}

    def constant(value: float):
        return opset13.constant(tensor_of(np.array(value, case.q.dtype), case.dtype))

    result = opset13.scaled_dot_product_attention(
        parameters["q"], parameters["k"], parameters["v"],
        parameters.get("mask", constant(0)),  # 0: no mask
        constant(case.scale), causal=foreign.is_top_left_causal(case))
    return openvino.Model([result], list(parameters.values()), "sdpa")


def attention(case, hint: str):
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(
        case, "OpenVINO adds -infinity to each of its logits, and the softmax is NaN")
    group = case.heads_q // case.heads_kv
    inputs = {"q": tensor_of(heads_first(case.q), case.dtype),
              "k": tensor_of(heads_first(case.k, group), case.dtype),
              "v": tensor_of(heads_first(case.v, group), case.dtype)}
    mask = foreign.mask_beside_causal(case)
    if mask is not None:
        inputs["mask"] = openvino.Tensor(np.ascontiguousarray(mask))
    hints = {} if "raw" in case.options else {"INFERENCE_PRECISION_HINT": hint}
    compiled = openvino.Core().compile_model(sdpa_model(case, inputs), "CPU", hints)
    request = compiled.create_infer_request()
    for at, tensor in enumerate(inputs.values()):
        request.set_input_tensor(at, tensor)
    case.launched = f"hint {compiled.get_property('INFERENCE_PRECISION_HINT').to_string()}"

    def run():
        request.infer()
        out = np.array(request.get_output_tensor(0).data).view(case.q.dtype)
        return out.transpose(0, 2, 1, 3)

    return run


@kernel(name="sdpa", dtypes=("fp32", "fp16"), spec=WIDENED_SPEC, **COMMON)
def sdpa(case):
    return attention(case, "f32")


@kernel(name="sdpa_bf16", dtypes=("bf16",), spec=STORED_SPEC, **COMMON)
def sdpa_bf16(case):
    """The hint has no effect on bf16 models: their products stay in bf16."""
    return attention(case, "f32")


@kernel(name="sdpa_f16", dtypes=("fp16",), spec=STORED_SPEC, **COMMON)
def sdpa_f16(case):
    return attention(case, "f16")
