"""The arguments of PyTorch's scaled_dot_product_attention and of torch.testing.assert_close."""
import json
import struct

import numpy as np
import pytest
from conftest import attention, random_inputs

import plumbline

CALLS = {"check": plumbline.check, "assert_attention": plumbline.assert_attention}


@pytest.fixture(name="heads_first", params=["bhsd", "padded_bhsd"])
def fixture_heads_first(request):
    """q, k, v and the causal output, [batch, heads, seq, dim], and their layout's name."""
    q, k, v = random_inputs("fp16", heads_kv=4)
    out, _ = attention(q, k, v, "top_left")
    return [array.transpose(0, 2, 1, 3) for array in (out, q, k, v)], request.param


def saved(path):
    """Returns the header of a dump."""
    contents = path.read_bytes()
    return json.loads(contents[8 : 8 + struct.unpack("<Q", contents[:8])[0]])


def test_is_causal_is_the_top_left_corner(heads_first):
    arrays, layout = heads_first
    plumbline.assert_attention(*arrays, is_causal=True, layout=layout)
    assert plumbline.check(*arrays, is_causal=np.True_, layout=layout)
    assert plumbline.check(*arrays, is_causal=False, layout=layout).answer == "BUG"
    out, q, k, v = arrays
    few, keys = q[:, :, :9], k
    as_asked, _ = attention(*(a.transpose(0, 2, 1, 3) for a in (few, keys, v)), "top_left")
    as_asked = as_asked.transpose(0, 2, 1, 3)
    assert plumbline.check(as_asked, few, keys, v, is_causal=True, layout=layout)
    assert not plumbline.check(as_asked, few, keys, v, causal="bottom_right", layout=layout)
    assert plumbline.diff(out, out, q, k, v, is_causal=True, layout=layout)


def test_bshd():
    q, k, v = random_inputs("bf16")
    out, _ = attention(q, k, v, scale=0.3)
    plumbline.assert_attention(out, q, k, v, scale=0.3, layout="bshd")


def test_save_states_our_words(heads_first, tmp_path):
    (out, q, k, v), layout = heads_first
    plumbline.save(tmp_path / "a", out=out, q=q, k=k, v=v, is_causal=True, enable_gqa=False,
                   layout=layout)
    assert saved(tmp_path / "a")["__metadata__"] == {"mask": "causal_top_left",
                                                    "layout": "padded_bhsd"}
    seen, bias = np.ones((24, 24), bool), np.zeros((4, 24, 24), np.float16)
    plumbline.save(tmp_path / "b", q=q, k=k, v=v, attn_mask=seen, softcap=30, sinks=[1, 0, 0, 0],
                   alibi_slopes=(0.5, 0.25, 0.125, 0.0625))
    header = saved(tmp_path / "b")
    assert header["__metadata__"] == {"softcap": "30.0"}
    assert (header["mask"]["dtype"], header["mask"]["shape"]) == ("BOOL", [1, 1, 24, 24])
    assert (header["sinks"]["dtype"], header["alibi_slopes"]["shape"]) == ("F32", [4])
    # A mask with three extents is saved as it is; the library interprets the extents.
    plumbline.save(tmp_path / "c", q=q, k=k, v=v, attn_mask=bias)
    header = saved(tmp_path / "c")
    assert (header["attn_bias"]["dtype"], header["attn_bias"]["shape"]) == ("F16", [4, 24, 24])


@pytest.mark.parametrize("kind", ["bool", "bool_heads", "bool_of_one_query", "bias"])
def test_attn_mask_of_pytorch(kind):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 24, 32, dtype=torch.bfloat16)
    if kind == "bias":
        mask = torch.randn(4, 24, 24, dtype=q.dtype)
    elif kind == "bool_of_one_query":
        # As many queries as samples: the mask must still be read as [queries, keys].
        q = q[:, :, :2]
        mask = torch.rand(2, 24) > 0.5
        mask[:, 0] = True
    else:
        mask = torch.rand(*((4,) if kind == "bool_heads" else ()), 24, 24) > 0.3
        mask[..., 0] = True  # PyTorch returns NaN for a row without keys
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    plumbline.assert_attention(out, q, k, v, attn_mask=mask, layout="bhsd")
    other = mask.roll(1, -1) if kind == "bias" else mask | (torch.rand(mask.shape) > 0.7)
    assert plumbline.check(out, q, k, v, attn_mask=other, layout="bhsd").answer == "BUG"


def test_enable_gqa():
    q, k, v = random_inputs("fp16")  # 4 heads over 2
    out, _ = attention(q, k, v)
    for stated in ({}, {"enable_gqa": True}):
        plumbline.assert_attention(out, q, k, v, layout="bshd", **stated)
    heads_first = [array.transpose(0, 2, 1, 3) for array in (out, q, k, v)]
    fewer_keys = [array[:, :, :20] if i > 1 else array for i, array in enumerate(heads_first)]
    for arrays, layout in (((out, q, k, v), "bshd"), (heads_first, "bhsd"), (fewer_keys, None)):
        with pytest.raises(ValueError, match="enable_gqa=False, but q has 4 heads and k has 2"):
            plumbline.check(*arrays, enable_gqa=False, layout=layout)
    with pytest.raises(ValueError, match="state layout"):  # as bshd, q and k have 24 heads each
        plumbline.check(*heads_first, enable_gqa=False)
    equal = [np.repeat(array, 2, axis=2) for array in (k, v)]
    plumbline.assert_attention(out, q, *equal, enable_gqa=False, layout="bshd")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error, words, message", [
    (TypeError, {"is_causal": True, "causal": "top_left"}, "is_causal and causal are both given"),
    (TypeError, {"is_causal": "bottom_right"}, 'causal="bottom_right" names the other corner'),
    (TypeError, {"enable_gqa": 1}, "enable_gqa=1 is neither True nor False"),
    (TypeError, {"attn_mask": np.ones((24, 24), bool), "mask": np.ones((24, 24), bool)},
     "attn_mask and mask are both given"),
    (TypeError, {"attn_mask": np.ones((24, 24), np.float16),
                 "attn_bias": np.ones((24, 24), np.float16)}, "attn_mask and attn_bias are both"),
    (ValueError, {"attn_mask": np.ones((24, 24), bool), "is_causal": True},
     "also refused by PyTorch: put the triangle"),
    (ValueError, {"attn_mask": np.ones((24, 24), np.int32)}, "integers, 1 = seen, are for mask="),
    (TypeError, {"dropout": 0.1}, "unexpected keyword argument 'dropout'.*is_causal"),
])
def test_contradictions(heads_first, call, error, words, message):
    arrays, layout = heads_first
    with pytest.raises(error, match=message):
        CALLS[call](*arrays, layout=layout, **words)


def test_is_causal_false_goes_with_an_attn_mask(heads_first):
    arrays, layout = heads_first
    triangle = np.tril(np.ones((24, 24), bool))
    plumbline.assert_attention(*arrays, attn_mask=triangle, is_causal=False, layout=layout)


def test_msg(heads_first):
    arrays, layout = heads_first
    asked = {"is_causal": False, "layout": layout}
    with pytest.raises(AssertionError, match="^mine$"):
        plumbline.assert_attention(*arrays, msg="mine", **asked)
    with pytest.raises(AssertionError, match="^step 7: BUG: "):
        plumbline.assert_attention(*arrays, msg=lambda text: f"step 7: {text}", **asked)
    plumbline.assert_attention(*arrays, is_causal=True, layout=layout, msg=lambda text: 1 / 0)
    with pytest.raises(TypeError, match="msg"):
        plumbline.check(*arrays, msg="mine", **asked)


def test_msg_of_a_merge():
    parts = np.ones((3, 2, 4, 8), np.float32), np.zeros((3, 2, 4), np.float32)
    with pytest.raises(AssertionError, match="^mine$"):
        plumbline.assert_merge(np.zeros((3, 4, 8), np.float32), *parts, msg="mine")
