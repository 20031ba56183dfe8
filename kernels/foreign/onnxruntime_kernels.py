"""ONNX Runtime's attention operators on its CPU provider.

MultiHeadAttention and GroupQueryAttention of com.microsoft:
https://github.com/microsoft/onnxruntime/blob/v1.31.1/docs/ContribOperators.md

Each case is a model of one node, made with onnx.helper.
"""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import foreign_case as foreign
from plumbline.kernels import Spec, Unsupported, kernel

PROVIDER = "onnxruntime"
NEEDS = ("onnxruntime", "onnx")  # without these there is nothing to measure
TENSOR_TYPES = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16,
                "bf16": TensorProto.BFLOAT16}
COMMON = {"dtypes": ("fp32", "fp16", "bf16"), "layouts": foreign.PADDED,
          "masks": foreign.ALL_MASKS, "window": True, "framework": "numpy",
          "padding_policy": "attended"}
# fp16 is widened to fp32 first; P is never rounded.
CPU_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma")


def version() -> str:
    return foreign.versions("onnxruntime", "onnx")


def model(case, operator: str, inputs: dict[str, tuple[int, tuple]], names: list[str],
          outputs: list[str], **attributes) -> bytes:
    """Returns a model of one node. inputs: name -> (tensor type, shape); names: the node's inputs
    in order, "" = left out."""
    node = helper.make_node(operator, names, outputs, domain="com.microsoft",
                            num_heads=case.heads_q, scale=case.scale, **attributes)
    values = [helper.make_tensor_value_info(name, kind, shape)
              for name, (kind, shape) in inputs.items()]
    results = [helper.make_tensor_value_info(name, TENSOR_TYPES[case.dtype], None)
               for name in outputs[:1]]
    graph = helper.make_graph([node], operator, values, results)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def session(serialized: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
        raise Unsupported(str(error).splitlines()[0]) from None


def hidden(tensor: np.ndarray) -> np.ndarray:
    """[batch, seq, heads, dim] -> [batch, seq, heads * dim], contiguous."""
    return np.ascontiguousarray(tensor).reshape(*tensor.shape[:2], -1)


def runner(case, operator: str, feeds: dict[str, np.ndarray], names: list[str],
           outputs: list[str], **attributes):
    """Returns a function that runs the model. names and attributes: see model()."""
    runtime = session(model(case, operator, shapes_of(case, feeds), names, outputs, **attributes))
    output = [runtime.get_outputs()[0].name]

    def run():
        return runtime.run(output, feeds)[0].reshape(case.batch, case.seq_q, case.heads_q,
                                                     case.head_dim_vo)

    return run


def shapes_of(case, feeds: dict[str, np.ndarray]) -> dict[str, tuple[int, tuple]]:
    integers = {"key_padding_mask", "seqlens_k", "total_sequence_length"}
    return {
        name: (TensorProto.INT32 if name in integers else TENSOR_TYPES[case.dtype], value.shape)
        for name, value in feeds.items()
    }


@kernel(name="mha", spec=CPU_SPEC, **COMMON)
def mha(case):
    """Repeats K and V to the number of query heads, as exporters do, because the operator has one
    head count."""
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(
        case, "the mask is a finite number added to the logits, and the softmax averages all keys"
    )
    group = case.heads_q // case.heads_kv
    feeds = {
        "query": hidden(case.q),
        "key": hidden(np.repeat(case.k, group, axis=2)),
        "value": hidden(np.repeat(case.v, group, axis=2)),
    }
    unidirectional = 0
    if foreign.is_top_left_causal(case) and case.seq_q == case.seq_kv:
        unidirectional = 1
    elif case.mask == "none" and not foreign.has_window(case) and foreign.has_padding(case):
        feeds["key_padding_mask"] = case.key_padding_mask().astype(np.int32)
    elif foreign.needs_mask(case):
        bias = np.where(foreign.attended_mask(case), 0.0, np.finfo(np.float32).min)[:, None]
        feeds["attention_bias"] = bias.astype(case.q.dtype)
    names = ["query", "key", "value", "",
             *(name if name in feeds else "" for name in ("key_padding_mask", "attention_bias"))]
    # The default of -10000 does not hide masked keys if logits are large: docs/findings.md.
    filter_value = -10000.0 if "raw" in case.options else float(np.finfo(np.float32).min)
    return runner(case, "MultiHeadAttention", feeds, names, ["output"],
                  unidirectional=unidirectional, mask_filter_value=filter_value)


def refuse_what_gqa_lacks(case) -> None:
    for lacks, reason in (
            (case.head_dim_qk != case.head_dim_vo, "GroupQueryAttention has one head size"),
            (foreign.has_padding(case), "GroupQueryAttention has no padding mask for queries"),
            (case.mask == "causal_top_left" and case.seq_q != case.seq_kv,
             "GroupQueryAttention aligns its causal mask bottom right"),
            (case.seq_q > case.seq_kv, "GroupQueryAttention needs a key for each query"),
            (case.mask == "none" and foreign.has_window(case),
             "local_window_size must be -1 when causal is 0"),
            (case.batch > 1 and 1 < case.seq_q < case.seq_kv, "GroupQueryAttention takes several "
             "queries with past keys only if the batch is one"),
            (case.head_dim_qk % 8 != 0,
             "GroupQueryAttention needs a head_size that is a multiple of 8")):
        foreign.refuse_if(lacks, reason)


@kernel(name="gqa", spec=CPU_SPEC, **COMMON)
def gqa(case):
    """The last seq_q keys are new, and the earlier ones are the past of the KV cache."""
    refuse_what_gqa_lacks(case)
    past = case.seq_kv - case.seq_q
    feeds = {"query": hidden(case.q), "key": hidden(case.k[:, past:]),
             "value": hidden(case.v[:, past:])}
    for name, tensor in (("past_key", case.k), ("past_value", case.v)):
        feeds[name] = np.ascontiguousarray(tensor[:, :past].transpose(0, 2, 1, 3))
    feeds["seqlens_k"] = np.full(case.batch, case.seq_kv - 1, np.int32)
    feeds["total_sequence_length"] = np.array(case.seq_kv, np.int32)
    attributes = {"kv_num_heads": case.heads_kv, "causal": int(case.mask != "none")}
    if foreign.has_window(case):
        attributes["local_window_size"] = case.window_left + 1
    return runner(case, "GroupQueryAttention", feeds, list(feeds),
                  ["output", "present_key", "present_value"], **attributes)
