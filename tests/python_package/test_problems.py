"""Layouts, masks and dtypes: good outputs pass, planted bugs do not."""
import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES, attention, random_inputs

import plumbline


def ragged(array, lengths):
    """Converts [batch, seq, ...] to [total, ...]."""
    return np.concatenate([array[sample, :length] for sample, length in enumerate(lengths)])


def paged(array, lengths, page_size=8):
    """Converts [batch, seq, heads, dim] to shuffled pages [page, token, heads, dim] and the table
    [batch, pages per sample]."""
    pages, table = [], np.zeros((len(lengths), -(-max(lengths) // page_size)), np.int32)
    for sample, length in enumerate(lengths):
        for page in range(-(-length // page_size)):
            contents = np.full((page_size, *array.shape[2:]), 99, array.dtype)
            tokens = array[sample, page * page_size : min(length, (page + 1) * page_size)]
            contents[: len(tokens)] = tokens
            table[sample, page] = len(pages)
            pages.append(contents)
    order = np.random.default_rng(1).permutation(len(pages))
    place = np.argsort(order).astype(np.int32)
    return np.stack([pages[i] for i in order]), place[table]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [None, "top_left", "bottom_right"])
def test_padded(dtype, causal):
    q, k, v = random_inputs(dtype, seq_q=20, seq_kv=24)
    out, lse = attention(q, k, v, causal)
    plumbline.assert_attention(out, q, k, v, causal=causal, lse=lse, layout="padded_bshd")
    heads_first = [array.transpose(0, 2, 1, 3) for array in (out, q, k, v)]
    plumbline.assert_attention(*heads_first, causal=causal, layout="padded_bhsd")


@pytest.mark.parametrize("dtype", DTYPES)
def test_ragged(dtype):
    lengths = [24, 9]
    q, k, v = random_inputs(dtype)
    alone = [[array[i : i + 1, :n] for array in (q, k, v)] for i, n in enumerate(lengths)]
    out = np.concatenate([attention(*sample, "top_left")[0][0] for sample in alone])
    arguments = [ragged(array, lengths) for array in (q, k, v)]
    plumbline.assert_attention(out, *arguments, causal=True, cu_seqlens=[0, 24, 33])
    wrong = plumbline.check(out, *arguments, causal=True, cu_seqlens=[0, 20, 33])
    assert wrong.answer == "BUG"


@pytest.mark.parametrize("dtype", DTYPES)
def test_paged_decode(dtype):
    lengths = [21, 13]
    q, k, v = random_inputs(dtype, seq_q=1)
    out, lse = attention(q, k, v, keys=lengths)
    (k_pages, table), (v_pages, _) = paged(k, lengths), paged(v, lengths)
    paging = {"page_table": table, "seqlens_kv": lengths, "layout": "paged_nhd"}
    plumbline.assert_attention(out, q, k_pages, v_pages, lse=lse, **paging)
    wrong_keys, _ = attention(q, k, v, keys=[20, 13])
    report = plumbline.check(wrong_keys, q, k_pages, v_pages, **paging)
    assert report.answer == "BUG"
    assert "sample 0" in report.text


def fp8(array, block):
    """Returns the array in e4m3, its scales for each sample, head and block of rows, and the
    products of the two."""
    rows = array.shape[1]
    scales = np.stack([np.abs(array[:, first : first + block].astype(np.float32)).max(axis=(1, 3))
                       for first in range(0, rows, block)], axis=-1) / np.float32(400)
    by_row = scales.repeat(block, axis=-1)[..., :rows].transpose(0, 2, 1)[..., None]
    stored = (array / by_row).astype(ml_dtypes.float8_e4m3fn)
    return stored, scales, stored.astype(np.float32) * by_row


@pytest.mark.parametrize("block", [1, 10, 24])
def test_fp8_with_scales(block):
    inputs = [fp8(array, block) for array in random_inputs("fp32")]
    stored, scales = [each[0] for each in inputs], [each[1] for each in inputs]
    out, lse = attention(*(each[2] for each in inputs), "bottom_right")
    question = {"causal": "bottom_right", "layout": "padded_bshd", "lse": lse,
                "k_scale": scales[1], "v_scale": scales[2]}
    if block == 10:
        question["scale_block"] = block
    out = out.astype(ml_dtypes.bfloat16)
    plumbline.assert_attention(out, *stored, q_scale=scales[0], **question)
    assert plumbline.check(out, *stored, q_scale=1.5 * scales[0], **question).answer == "BUG"
    assert plumbline.check(out, *stored, q_scale=0.01, **question).answer == "BUG"
    with pytest.raises(ValueError, match="tensor q_scale is missing: q is fp8"):
        plumbline.check(out, *stored, **question)


def test_lengths_of_padded_samples():
    q, k, v = random_inputs("bf16", seq_q=1)
    out, _ = attention(q, k, v, keys=[24, 7])
    plumbline.assert_attention(out, q, k, v, seqlens_kv=np.array([24, 7]), layout="padded_bshd")
    assert plumbline.check(out, q, k, v, layout="padded_bshd").answer == "BUG"


def test_window_scale_and_mask():
    q, k, v = random_inputs("fp16")
    seen = np.tril(np.ones((24, 24), bool))
    out, _ = attention(q, k, v, "top_left", scale=0.3)
    plumbline.assert_attention(out, q, k, v, mask=seen, scale=0.3, layout="padded_bshd")
    plumbline.assert_attention(out, q, k, v, causal=True, window=(23, 0), scale=0.3,
                               layout="padded_bshd")
    assert (plumbline.check(out, q, k, v, causal=True, window=5, scale=0.3,
                            layout="padded_bshd").answer == "BUG")
    assert plumbline.check(out, q, k, v, causal=True, layout="padded_bshd").answer == "BUG"


@pytest.mark.parametrize("dtype", DTYPES)
def test_planted_bugs(dtype):
    q, k, v = random_inputs(dtype)
    question = {"causal": "top_left", "layout": "padded_bshd"}
    good, _ = attention(q, k, v, "top_left")
    off_by_one = good.copy()
    off_by_one[:, 1:] = attention(q, k, v)[0][:, 1:]
    not_a_number = good.copy()
    not_a_number[1, 2, 3, 4] = np.nan
    swapped = good[:, :, [1, 0, 2, 3]]
    for wrong in (off_by_one, not_a_number, swapped, good * np.asarray(1.1, good.dtype),
                  np.zeros_like(good)):
        with pytest.raises(AssertionError, match="^BUG"):
            plumbline.assert_attention(wrong, q, k, v, **question)
    plumbline.assert_attention(good, q, k, v, **question)


def test_lse_in_base_2():
    q, k, v = random_inputs("fp16")
    out, lse = attention(q, k, v)
    plumbline.assert_attention(out, q, k, v, lse=lse / np.log(2).astype(np.float32), lse_base=2,
                               layout="padded_bshd")
    assert plumbline.check(out, q, k, v, lse=lse, lse_base=2, layout="padded_bshd").answer == "BUG"
    unstated = plumbline.check(out, q, k, v, lse=lse / np.log(2).astype(np.float32),
                               layout="padded_bshd")
    assert unstated.answer == "UNDECIDED" and "state lse_base = 2" in unstated.sentence


def with_rounded_logits(q, k, v):
    """Returns attention with S and P in bf16, as in plain framework code."""
    bf16 = ml_dtypes.bfloat16
    group = q.shape[2] // k.shape[2]
    q32, k32, v32 = (x.astype(np.float32)
                     for x in (q, np.repeat(k, group, axis=2), np.repeat(v, group, axis=2)))
    s = (np.einsum("bqhd,bkhd->bhqk", q32, k32).astype(bf16)
         * bf16(q.shape[3] ** -0.5)).astype(np.float32)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p = (p / p.sum(axis=-1, keepdims=True)).astype(bf16).astype(np.float32)
    return np.einsum("bhqk,bkhd->bqhd", p, v32).astype(bf16)


def test_a_looser_spec_than_stated_is_undecided():
    q, k, v = random_inputs("bf16", seq_q=64, seq_kv=64, dim=64)
    q = (q.astype(np.float32) * 6).astype(q.dtype)  # logits large enough that their rounding shows
    out = with_rounded_logits(q, k, v)
    plumbline.assert_attention(out, q, k, v, spec="PyTorch math", layout="padded_bshd")
    with pytest.raises(AssertionError, match="(?s)^UNDECIDED.*PyTorch math"):
        plumbline.assert_attention(out, q, k, v, spec="FlashAttention-2", layout="padded_bshd")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("causal", [None, "top_left"])
def test_pytorch_scaled_dot_product_attention(dtype, causal):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 96, 64).to(getattr(torch, dtype))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal is not None)
    plumbline.assert_attention(out, q, k, v, causal=causal, layout="padded_bhsd")
