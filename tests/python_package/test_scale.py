"""PyTorch's outputs. An output that is wrong by tenths of a percent is never ROUNDING. A legal one
is never BUG, and the report names the rounding model of its kernel."""
import pytest

import plumbline

torch = pytest.importorskip("torch")
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.attention.flex_attention import flex_attention  # noqa: E402

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
BATCH, HEADS, TOKENS, DIM = 2, 8, 128, 64


def inputs(dtype, heads_kv=HEADS, seq_q=TOKENS, seq_kv=TOKENS, dim=DIM):
    generator = torch.Generator().manual_seed(5)
    shapes = ((HEADS, seq_q), (heads_kv, seq_kv), (heads_kv, seq_kv))
    return [torch.randn(BATCH, heads, tokens, dim, generator=generator).to(DTYPES[dtype])
            for heads, tokens in shapes]


def flash(q, k, v, **arguments):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, **arguments)


def flash_with_lse(q, k, v, scale):
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, scale=scale)[:2]
    return out, lse


def math(q, k, v, **arguments):
    with sdpa_kernel(SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, **arguments)


def eager(q, k, v):
    s = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
    return torch.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype) @ v


def answer(out, q, k, v, **question):
    return plumbline.check(out, q, k, v, layout="padded_bhsd", **question)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("percent", [0.2, 0.4, 0.8])
def test_a_wrong_scale_is_never_rounding(dtype, percent):
    q, k, v = inputs(dtype)
    scale = DIM ** -0.5 * (1 + percent / 100)
    report = answer(flash(q, k, v, scale=scale), q, k, v)
    assert report.answer != "ROUNDING", report.text
    assert answer(flash(q, k, v, scale=scale), q, k, v, spec="FlashAttention-2").answer == "BUG"
    out, lse = flash_with_lse(q, k, v, scale)
    with_lse = answer(out, q, k, v, lse=lse, lse_layout="heads_first")
    assert with_lse.answer != "ROUNDING", with_lse.text


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [0.998, 0.996])
def test_an_output_that_is_too_small_is_never_rounding(dtype, factor):
    q, k, v = inputs(dtype)
    exact, lse = flash_with_lse(*(x.double() for x in (q, k, v)), DIM ** -0.5)
    for question in ({}, {"lse": lse.float(), "lse_layout": "heads_first"}):
        report = answer((exact * factor).to(q.dtype), q, k, v, **question)
        assert report.answer != "ROUNDING", report.text


def test_a_scale_rounded_to_bf16_is_never_rounding():
    q, k, v = inputs("bf16", dim=59)
    scale = torch.tensor(59 ** -0.5).to(torch.bfloat16).item()
    out, lse = flash_with_lse(q, k, v, scale)
    for question in ({}, {"spec": "FlashAttention-2"}, {"lse": lse, "lse_layout": "heads_first"}):
        report = answer(out, q, k, v, **question)
        assert report.answer != "ROUNDING", report.text


LEGAL = {
    "math": (math, {}, "FlashInfer decode"),
    "flash": (flash, {}, "FlashAttention-2"),
    "flash_gqa": (lambda q, k, v: flash(q, k, v, enable_gqa=True), {"heads_kv": 2},
                  "FlashAttention-2"),
    "flash_rectangular": (flash, {"seq_q": 40, "seq_kv": 200}, "FlashAttention-2"),
    "flash_d59": (flash, {"dim": 59}, "FlashAttention-2"),
    "flex": (flex_attention, {}, "FlexAttention"),
    "flex_compiled": (torch.compile(flex_attention), {}, "FlashAttention-2"),  # tiled, unlike eager
    "flex_flat": (flex_attention, {"seq_kv": 60}, "FlexAttention"),
    "eager": (eager, {}, "PyTorch math"),
    "eager_d59": (eager, {"dim": 59}, "PyTorch math"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LEGAL)
def test_legal_kernels_are_named_by_their_rung(dtype, name):
    kernel, shape, rung = LEGAL[name]
    q, k, v = inputs(dtype, **shape)
    if name == "flex_flat":
        k = k * 1e-3
    report = answer(kernel(q, k, v), q, k, v)
    assert report.answer != "BUG", report.text
    assert report.json["dumps"][0]["rung"] == rung, report.text
    if rung != "PyTorch math":
        assert report.answer == "ROUNDING", report.text
    assert answer(kernel(q, k, v), q, k, v, spec=rung).answer == "ROUNDING"


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_without_keys(dtype):
    q, k, v = inputs(dtype, seq_q=60, seq_kv=25)
    seen = torch.ones(60, 25, dtype=torch.bool).tril(25 - 60)
    out = math(q, k, v, attn_mask=seen)
    out[:, :, :35] = 0
    report = answer(out, q, k, v, causal="bottom_right")
    assert report.answer == "ROUNDING", report.text
