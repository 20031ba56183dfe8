"""Keras's dot_product_attention on its TensorFlow backend, as keras.layers.MultiHeadAttention and
GroupedQueryAttention call it: https://keras.io/api/ops/nn/#dot_product_attention-function

The backends TensorFlow and NumPy compute Keras's own attention. The backends JAX, PyTorch and
OpenVINO call the attention of their library.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "tensorflow"  # read when keras is imported
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow  # noqa: E402,F401  so that an error names it if it is missing

import foreign_case as foreign  # noqa: E402
from plumbline.kernels import Spec, kernel  # noqa: E402

PROVIDER = "keras"
NEEDS = ("keras", "tensorflow")  # without these there is nothing to measure

# Q K^T is stored in the input dtype and scaled in fp32. The softmax is in fp32, and its result is
# rounded to the input dtype.
SPEC = Spec(s_rounded="input", p_dtype="input", p_normalized=True, qk_accumulator="fma",
            pv_accumulator="fma")
FP32_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma")


def version() -> str:
    return foreign.versions("keras", "tensorflow", "tensorflow-cpu")


@kernel(name="dpa", dtypes=("fp32", "fp16", "bf16"), layouts=foreign.PADDED,
        masks=foreign.MASKS_AND_BITS, window=True, framework="numpy", padding_policy="attended",
        spec=lambda case: FP32_SPEC if case.dtype == "fp32" else SPEC)
def dpa(case):
    foreign.refuse_if(case.heads_kv == 1 < case.heads_q and "raw" not in case.options,
                      "one key head for several query heads: K and V are not repeated, and "
                      "TensorFlow's Einsum refuses their shape")
    foreign.refuse_poisoned_padding(case)
    foreign.refuse_empty_rows(
        case, "Keras sets all its logits to -0.7 times the largest fp32 number, and the softmax "
        "averages all keys")
    q, k, v = (keras.ops.convert_to_tensor(np.ascontiguousarray(t))
               for t in (case.q, case.k, case.v))
    causal = foreign.is_top_left_causal(case)
    mask = foreign.mask_beside_causal(case)
    if mask is not None:
        mask = keras.ops.convert_to_tensor(mask)

    def run():
        out = keras.ops.dot_product_attention(q, k, v, mask=mask, scale=case.scale,
                                              is_causal=causal)
        return np.asarray(out)

    return run
