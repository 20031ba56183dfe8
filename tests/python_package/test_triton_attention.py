"""A flash-attention kernel in Triton, on emulated GPUs, against fp64."""
import numpy as np
import pytest

pytest.importorskip("triton", reason="no Triton (ci/setup.sh --python)")

from conftest import random_inputs  # noqa: E402
from triton_kernels import flash_attention  # noqa: E402

import plumbline  # noqa: E402
import plumbline.triton as emulated  # noqa: E402
from plumbline import _ptx  # noqa: E402

ARCHITECTURES = tuple(_ptx.architectures())
BATCH, HEADS, SEQ, DIM = 1, 2, 100, 64


def attention(arch, dtype="bf16", **how):
    """Returns q, k, v, out, lse."""
    q, k, v = random_inputs(dtype, BATCH, HEADS, HEADS, SEQ, SEQ, DIM)
    out = np.full_like(q, np.nan)
    lse = np.full((BATCH, SEQ, HEADS), np.nan, np.float32)
    with emulated.emulate(arch, **how):
        flash_attention[-(-SEQ // 64), BATCH * HEADS](
            *(emulated.Array(x) for x in (q, k, v, out, lse)), HEADS, SEQ,
            DIM ** -0.5 * np.log2(np.e).item(), DIM=DIM, ROWS=64, KEYS=32)
    return q, k, v, out, lse


def bits(arrays):
    return [array.view(np.uint8).tobytes() for array in arrays]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_rounding_explains_the_output(arch):
    q, k, v, out, lse = attention(arch)
    plumbline.assert_attention(out, q, k, v, causal="top_left", layout="padded_bshd", lse=lse,
                               spec="FlashAttention-2")


def test_a_wrong_scale_is_a_bug():
    q, k, v, out, lse = attention("sm_90")
    report = plumbline.check(out, q, k, v, causal="top_left", layout="padded_bshd", lse=lse,
                             spec="FlashAttention-2", scale=0.9 * DIM ** -0.5)
    assert report.answer == plumbline.BUG


@pytest.mark.parametrize("arch", ("sm_80", "sm_90"))
def test_schedules_and_lanes_give_the_same_bits(arch):
    expected = bits(attention(arch)[3:])
    for how in ({"schedule": "reversed"}, {"schedule": "random", "seed": 7},
                {"lanes": "independent", "schedule": "random"}):
        assert bits(attention(arch, **how)[3:]) == expected, how


def test_architectures_with_one_tensor_core_have_the_same_bits():
    by_arch = {arch: bits(attention(arch)[3:]) for arch in ARCHITECTURES}
    assert by_arch["sm_80"] == by_arch["sm_86"] == by_arch["sm_89"]
    assert by_arch["sm_90"] == by_arch["sm_100"]
    assert by_arch["sm_80"] != by_arch["sm_90"]


def test_fp16():
    q, k, v, out, lse = attention("sm_86", "fp16")
    plumbline.assert_attention(out, q, k, v, causal="top_left", layout="padded_bshd", lse=lse,
                               spec="FlashAttention-2")
