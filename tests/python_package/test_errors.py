"""Errors name the wrong argument and what is wrong with it."""
import numpy as np
import pytest
from conftest import attention, random_inputs

import plumbline


@pytest.fixture(name="call")
def fixture_call():
    q, k, v = random_inputs("fp16")
    arrays = {"out": attention(q, k, v)[0], "q": q, "k": k, "v": v, "layout": "padded_bshd"}
    return lambda **changes: plumbline.check(**{**arrays, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"k": np.zeros((2, 24, 2, 16), np.float16)}, "k"),
        ({"v": np.zeros((2, 23, 2, 32), np.float16)}, "v"),
        ({"out": np.zeros((2, 24, 3, 32), np.float16)}, "out"),
        ({"k": np.zeros((2, 24, 3, 32), np.float16), "v": np.zeros((2, 24, 3, 32), np.float16)},
         "heads"),
        ({"q": np.zeros((2, 24, 4, 32), np.int32)}, "tensor q has dtype I32"),
        ({"q": np.zeros((2, 24, 4, 32), np.float64)}, "F64"),
        ({"layout": "padded"}, "layout"),
        ({"spec": "FlashAttention-17"}, "FlashAttention-17"),
        ({"scale": -1.0}, "scale"),
        ({"causal": "left"}, "top_left"),
        ({"lse": np.zeros((2, 24, 3), np.float32)}, "lse"),
        ({"seqlens_kv": [24, 25]}, "length of kv in sample 1 is 25"),
        ({"cu_seqlens": [0, 10]}, "q has lengths of"),
        ({"padded_rows": "ones"}, "padded_rows"),
        ({"out": None}, "out"),
    ],
)
def test_value_errors_name_the_argument(call, changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_all_errors_come_at_once(call):
    with pytest.raises(ValueError, match="(?s)layout.*scale"):
        call(layout="padded", scale=-1.0)


@pytest.mark.parametrize("value",
                         [object(), "text", [[1, 2], [3]], np.array(["a"]),
                          np.zeros(3, np.complex64)])
def test_what_is_no_array_is_a_type_error(call, value):
    with pytest.raises((TypeError, ValueError)) as raised:
        call(mask=value)
    assert raised.type is not AssertionError


def test_unknown_keywords(call):
    with pytest.raises(TypeError, match="sclae"):
        call(sclae=0.1)
    q, k, v = random_inputs("fp16")
    with pytest.raises(TypeError, match="sclae"):
        plumbline.save("never.safetensors", q=q, k=k, v=v, sclae=0.1)
    with pytest.raises(TypeError, match="spec_a and spec_b"):
        plumbline.diff(q, q, q, k, v, spec="FlashAttention-2")


def test_diff_of_two_shapes():
    q, k, v = random_inputs("fp16")
    out, _ = attention(q, k, v)
    with pytest.raises(ValueError, match="b: .*out"):
        plumbline.diff(out, out[:, :, :3], q, k, v, layout="padded_bshd")
