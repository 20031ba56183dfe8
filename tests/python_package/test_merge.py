"""Merges of states: legal ones are ROUNDING, others are not."""
import numpy as np
import pytest

import plumbline

TOKENS, HEADS, DIM = 40, 4, 32


def states(parts=3):
    generator = np.random.default_rng(5)
    out = generator.standard_normal((TOKENS, parts, HEADS, DIM)).astype(np.float16)
    return out, (6 + 3 * generator.standard_normal((TOKENS, parts, HEADS))).astype(np.float32)


def merge(partial_out, partial_lse, base_2=False):
    power, log = (np.exp2, np.log2) if base_2 else (np.exp, np.log)
    largest = partial_lse.max(axis=1, keepdims=True)
    weights = power(partial_lse - largest)
    total = weights.sum(axis=1)
    out = (weights[..., None] * partial_out.astype(np.float32)).sum(axis=1) / total[..., None]
    return out.astype(np.float16), (largest[:, 0] + log(total)).astype(np.float32)


@pytest.mark.parametrize("base_2", [False, True])
def test_a_legal_merge_is_rounding(base_2):
    partial_out, partial_lse = states()
    out, lse = merge(partial_out, partial_lse, base_2)
    plumbline.assert_merge(out, partial_out, partial_lse, lse=lse, lse_base="2" if base_2 else None)
    plumbline.assert_merge(out, partial_out, partial_lse, lse_base="2" if base_2 else "e")


def test_a_wrong_base_is_a_bug():
    partial_out, partial_lse = states()
    out, lse = merge(partial_out, partial_lse, base_2=True)
    report = plumbline.check_merge(out, partial_out, partial_lse, lse=lse)
    assert report.answer == plumbline.BUG
    assert "base 2" in report.text
    with pytest.raises(AssertionError):
        plumbline.assert_merge(out, partial_out, partial_lse, lse=lse)


def test_parts_without_keys_are_left_out():
    partial_out, partial_lse = states()
    partial_lse[::3, 1] = -np.inf
    partial_out[::3, 1] = np.nan
    out, lse = merge(np.nan_to_num(partial_out), partial_lse)
    plumbline.assert_merge(out, partial_out, partial_lse, lse=lse)


def test_shapes_that_make_no_merge_are_named():
    partial_out, partial_lse = states()
    out, _ = merge(partial_out, partial_lse)
    with pytest.raises(ValueError, match="partial_lse"):
        plumbline.check_merge(out, partial_out, partial_lse[:, :2])
