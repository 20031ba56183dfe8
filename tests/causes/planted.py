"""Attention kernels in NumPy with one planted bug each: a provider for the table of causes.

Without its bug each kernel is legal under the strict default: fp32 sums, P = exp(S - max) rounded
to the dtype of Q, an unrounded denominator. A bug is a function of one stage. Shapes of a sample,
with Hq query heads and Hk key heads: q [rows, Hq, d], k and v [keys, Hk, d], s and p
[Hq, rows, keys], o [rows, Hq, d], lse [rows, Hq]. planted.toml has the case of each kernel and the
cause that it should get.
"""
import dataclasses
from typing import Callable, Optional

import numpy as np

from plumbline.kernels import kernel

F32 = np.float32
MINUS_INFINITY = F32(-np.inf)


@dataclasses.dataclass
class State:
    """One sample on its way through the stages."""
    case: object
    sample: int
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    seen: np.ndarray                     # [rows, keys]
    key_head: np.ndarray                 # [Hq], of K
    value_head: np.ndarray               # [Hq], of V
    scale: float
    s: Optional[np.ndarray] = None
    m: Optional[np.ndarray] = None       # [Hq, rows]
    l: Optional[np.ndarray] = None       # noqa: E741 (the page's name of the denominator)
    p: Optional[np.ndarray] = None
    o: Optional[np.ndarray] = None
    lse: Optional[np.ndarray] = None

    @property
    def rows(self):
        return self.q.shape[0]

    @property
    def keys(self):
        return self.k.shape[0]


STAGES = ("samples", "inputs", "logits", "weights", "outputs", "results")


def widened(case, b):
    """Q, K and V of a sample in fp32, with fp8's scales applied."""
    return tuple(x.astype(F32) * scale[..., None].astype(F32)
                 for x, scale in zip(case.sample(b), case.scales(b)))


def attend(case, bug):
    def at(stage, state):
        if stage in bug:
            bug[stage](state)

    def run():
        out, lse = case.new_out(), case.new_lse()
        states = []
        for b in range(case.batch):
            q, k, v = widened(case, b)
            heads = np.arange(case.heads_q) // (case.heads_q // case.heads_kv)
            states.append(State(case, b, q, k, v, case.visible_of(b).copy(), heads.copy(),
                                heads.copy(), float(case.scale)))
        if "samples" in bug:
            bug["samples"](states)
        for x in states:
            at("inputs", x)
            q = x.q.transpose(1, 0, 2)
            x.s = np.matmul(q, x.k[:, x.key_head].transpose(1, 2, 0)) * F32(x.scale)
            if case.softcap:
                x.s = F32(case.softcap) * np.tanh(x.s / F32(case.softcap))
            if case.alibi_slopes is not None:
                distance = np.abs(np.arange(x.rows)[:, None] + x.keys - x.rows
                                  - np.arange(x.keys)[None, :]).astype(F32)
                x.s = x.s - case.alibi_slopes[:, None, None].astype(F32) * distance
            at("logits", x)
            hidden = ~(x.seen if x.seen.ndim == 3 else x.seen[None])
            x.s = np.where(hidden, MINUS_INFINITY, x.s.astype(F32))
            x.m = x.s.max(-1, initial=-np.inf)
            if case.sinks is not None:
                x.m = np.maximum(x.m, case.sinks[:, None].astype(F32))
            safe = np.where(np.isfinite(x.m), x.m, F32(0))
            x.p = np.exp(x.s - safe[..., None]).astype(F32)
            x.l = x.p.sum(-1, dtype=F32)
            if case.sinks is not None:
                x.l = x.l + np.exp(case.sinks[:, None].astype(F32) - safe)
            if case.dtype in ("fp16", "bf16"):
                x.p = x.p.astype(case.q.dtype).astype(F32)
            at("weights", x)
            x.o = np.matmul(x.p, x.v[:, x.value_head].transpose(1, 0, 2))
            x.o = x.o / np.where(x.l > 0, x.l, F32(1))[..., None]
            with np.errstate(divide="ignore"):
                x.lse = np.where(x.l > 0, safe + np.log(x.l), MINUS_INFINITY)
            x.o, x.lse = x.o.transpose(1, 0, 2).copy(), x.lse.T.copy()
            at("outputs", x)
        if "results" in bug:
            bug["results"](states)
        for x in states:
            rows = case.query_rows(x.sample)
            out[rows], lse[rows] = x.o.astype(out.dtype), x.lse
        return (out, lse) if case.lse_wanted else out
    return run


def planted(name, **bug):
    assert set(bug) <= set(STAGES), name

    @kernel(name=name, dtypes=("fp32", "fp16", "bf16", "e4m3"),
            kv_dtypes=("fp32", "fp16", "bf16", "e4m3", "e5m2"),
            out_dtypes=("fp32", "fp16", "bf16"),
            masks=("none", "causal_top_left", "causal_bottom_right", "custom"),
            layouts=("padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd"), lse=True,
            window=True, softcap=True, alibi=True, sinks=True, padding_policy="untouched")
    def function(case):
        return attend(case, bug)
    return function


def stage(function: Callable) -> Callable:
    """A stage from a function that returns {field: value}."""
    def change(state):
        for field, value in function(state).items():
            setattr(state, field, value)
    return change


def for_all(function):
    """A stage of all samples, from a function that returns a dictionary for each."""
    def change(states):
        for state, fields in zip(states, function(states)):
            for field, value in fields.items():
                setattr(state, field, value)
    return change


def edited(array, where, value):
    result = array.copy()
    result[where] = value
    return result


def lse_over(x, keys):
    """The LSE over some of the keys."""
    s = x.s[:, :, keys]
    m = s.max(-1, initial=-np.inf)
    safe = np.where(np.isfinite(m), m, F32(0))
    with np.errstate(divide="ignore"):
        return (safe + np.log(np.exp(s - safe[..., None]).sum(-1))).T.astype(F32)


planted("none")

# ---- The LSE alone ----
planted("lse_base_10", outputs=stage(lambda x: {"lse": x.lse * F32(1 / np.log(10))}))
planted("lse_base_2", outputs=stage(lambda x: {"lse": x.lse * F32(1 / np.log(2))}))
planted("lse_negated", outputs=stage(lambda x: {"lse": -x.lse}))
planted("lse_plus_infinity", outputs=stage(
    lambda x: {"lse": np.where(np.isneginf(x.lse), F32(np.inf), x.lse)}))
planted("lse_of_smoothed_keys", outputs=stage(lambda x: {
    "lse": x.lse - F32(x.scale) * np.einsum("rhd,hd->rh", x.q, x.k.mean(0)[x.key_head])}))
planted("lse_of_first_half", outputs=stage(
    lambda x: {"lse": lse_over(x, slice(0, x.keys // 2))}))
planted("lse_of_last_half", outputs=stage(
    lambda x: {"lse": lse_over(x, slice(x.keys // 2, None))}))
planted("lse_heads_reversed", outputs=stage(lambda x: {"lse": x.lse[:, ::-1]}))
planted("lse_transposed", outputs=stage(
    lambda x: {"lse": x.lse.T.reshape(x.lse.shape)}))
planted("lse_of_next_row", outputs=stage(lambda x: {"lse": np.roll(x.lse, -1, 0)}))
planted("lse_maximum_alone", outputs=stage(lambda x: {"lse": x.m.T}))
planted("lse_without_maximum", outputs=stage(
    lambda x: {"lse": np.where(np.isfinite(x.lse), np.log(x.l).T, x.lse)}))
planted("lse_stale_maximum", outputs=stage(lambda x: {
    "lse": x.lse - x.m.T + x.s[:, :, :32].max(-1, initial=-np.inf).T}))
planted("lse_without_row_part_of_alibi", outputs=stage(lambda x: {
    "lse": x.lse + x.case.alibi_slopes.astype(F32)[None]
    * (np.arange(x.rows) + x.keys - x.rows).astype(F32)[:, None]}))
planted("lse_in_bf16", outputs=stage(lambda x: {
    "lse": (x.lse.view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)}))

# ---- What is read and written where ----
planted("rows_reversed", outputs=stage(lambda x: {"o": x.o[::-1], "lse": x.lse[::-1]}))
planted("rows_late", outputs=stage(
    lambda x: {"o": np.roll(x.o, 1, 0), "lse": np.roll(x.lse, 1, 0)}))
planted("samples_exchanged", results=for_all(
    lambda all_: [{"o": y.o, "lse": y.lse} for y in all_[::-1]]))
planted("keys_of_next_sample", samples=for_all(
    lambda all_: [{"k": y.k, "v": y.v} for y in all_[1:] + all_[:1]]))
planted("queries_of_first_sample", samples=for_all(
    lambda all_: [{"q": all_[0].q} for _ in all_]))
planted("heads_exchanged", outputs=stage(
    lambda x: {"o": x.o[:, [1, 0, *range(2, x.o.shape[1])]],
               "lse": x.lse[:, [1, 0, *range(2, x.o.shape[1])]]}))
planted("key_heads_exchanged", inputs=stage(
    lambda x: {"key_head": x.key_head ^ 1, "value_head": x.value_head ^ 1}))
planted("value_heads_exchanged", inputs=stage(lambda x: {"value_head": x.value_head ^ 1}))
planted("output_heads_before_rows", outputs=stage(
    lambda x: {"o": x.o.transpose(1, 0, 2).reshape(x.o.shape)}))
planted("queries_heads_before_rows", inputs=stage(
    lambda x: {"q": x.q.transpose(1, 0, 2).reshape(x.q.shape)}))
planted("values_transposed", inputs=stage(
    lambda x: {"v": x.v.transpose(2, 1, 0).reshape(x.v.shape)}))
planted("queries_and_keys_exchanged", inputs=stage(lambda x: {"q": x.k, "k": x.q}))
planted("keys_and_values_exchanged", inputs=stage(lambda x: {"k": x.v, "v": x.k}))
planted("keys_as_values", inputs=stage(lambda x: {"v": x.k}))
planted("column_halves_exchanged", outputs=stage(
    lambda x: {"o": np.roll(x.o, x.o.shape[-1] // 2, -1)}))
planted("dimensions_repeated", inputs=stage(lambda x: {
    "k": np.concatenate([x.k[..., :x.k.shape[-1] // 2]] * 2, -1)}))
planted("dimensions_cut", inputs=stage(
    lambda x: {"q": edited(x.q, (..., slice(-16, None)), 0)}))
planted("columns_of_last_key_lost", inputs=stage(
    lambda x: {"v": edited(x.v, (-1, slice(None), slice(0, 8)), 0)}))
planted("keys_from_64_on_from_the_start", inputs=stage(lambda x: {
    "k": np.concatenate([x.k[:64], x.k[:max(0, x.keys - 64)]]),
    "v": np.concatenate([x.v[:64], x.v[:max(0, x.keys - 64)]])}))
planted("keys_from_64_on_are_zero", inputs=stage(lambda x: {
    "k": edited(x.k, slice(64, None), 0), "v": edited(x.v, slice(64, None), 0)}))
planted("values_of_next_key", inputs=stage(lambda x: {"v": np.roll(x.v, -1, 0)}))
planted("query_heads_from_16_on", inputs=stage(lambda x: {
    "key_head": np.arange(len(x.key_head)) // 16 * 16
    // (len(x.key_head) // x.k.shape[1]),
    "value_head": np.arange(len(x.key_head)) // 16 * 16
    // (len(x.key_head) // x.k.shape[1])}))


def by_pages(x, page_of):
    """K and V of a paged sample, read from the pages that page_of(table, pages) returns."""
    case, size = x.case, x.case.page_size
    table = np.asarray(case.page_table)[x.sample]
    pages = -(-x.keys // size)
    read = page_of(table[:pages].astype(np.int64), pages)
    out = {}
    for field, cache in (("k", case.k), ("v", case.v)):
        cache = cache.transpose(0, 2, 1, 3) if case.layout == "paged_hnd" else cache
        out[field] = np.concatenate([cache[page] for page in read])[:x.keys].astype(F32)
    return out


planted("pages_modulo_16", inputs=stage(lambda x: by_pages(x, lambda t, n: t % 16)))
planted("pages_reversed", inputs=stage(lambda x: by_pages(x, lambda t, n: t[::-1])))
planted("pages_of_values_reversed", inputs=stage(
    lambda x: {"v": by_pages(x, lambda t, n: t[::-1])["v"]}))
planted("pages_in_order_of_the_pool", inputs=stage(
    lambda x: by_pages(x, lambda t, n: np.arange(n))))

# ---- Masks, windows, lengths, biases ----
planted("mask_ignored", inputs=stage(lambda x: {"seen": np.ones_like(x.seen)}))
planted("mask_causal_instead", inputs=stage(lambda x: {
    "seen": np.arange(x.keys)[None] <= np.arange(x.rows)[:, None] + x.keys - x.rows}))
planted("mask_transposed", inputs=stage(lambda x: {"seen": x.seen.T}))
planted("mask_of_rows_16_to_31_ignored", inputs=stage(
    lambda x: {"seen": edited(x.seen, slice(16, 32), True)}))
planted("window_by_chunk", inputs=stage(lambda x: {
    "seen": x.seen | ((np.arange(x.keys)[None] >= (np.arange(x.rows)[:, None] + x.keys - x.rows)
                       // 32 * 32 - x.case.window_left)
                      & (np.arange(x.keys)[None] <= np.arange(x.rows)[:, None] + x.keys
                         - x.rows))}))
planted("window_on_the_right", inputs=stage(lambda x: {"seen": x.seen[::-1, ::-1]}))
planted("last_16_keys_lost", inputs=stage(
    lambda x: {"seen": edited(x.seen, (slice(None), slice(-16, None)), False)}))
planted("every_eighth_key_lost", inputs=stage(
    lambda x: {"seen": edited(x.seen, (slice(None), slice(7, None, 8)), False)}))
planted("hidden_keys_in_denominator", weights=stage(lambda x: {
    "l": x.l + (~x.seen).sum(-1).astype(F32)[None] * np.exp(-x.m)}))


def by_slopes(x, slopes):
    """Logits with other ALiBi slopes than the stated ones."""
    distance = np.abs(np.arange(x.rows)[:, None] + x.keys - x.rows - np.arange(x.keys)[None])
    change = (x.case.alibi_slopes - slopes).astype(F32)
    return {"s": x.s + change[:, None, None] * distance.astype(F32)}


planted("alibi_of_next_head", logits=stage(
    lambda x: by_slopes(x, np.roll(x.case.alibi_slopes, -1))))
planted("alibi_of_key_head", logits=stage(
    lambda x: by_slopes(x, x.case.alibi_slopes[x.key_head])))
planted("alibi_of_next_power_of_two", logits=stage(lambda x: by_slopes(
    x, 2.0 ** (-8 * np.arange(1, len(x.key_head) + 1)
               / 2 ** int(np.ceil(np.log2(len(x.key_head))))))))

# ---- Values ----
planted("zeros", outputs=stage(lambda x: {"o": np.zeros_like(x.o)}))
planted("negated", outputs=stage(lambda x: {"o": -x.o}))
planted("doubled", outputs=stage(lambda x: {"o": 2 * x.o}))
planted("dropout", weights=stage(lambda x: {
    "p": x.p * (np.random.default_rng(7).random(x.p.shape) < 0.9) / F32(0.9)}))
planted("one_element", outputs=stage(lambda x: {
    "o": edited(x.o, (1, 0, 3), x.o[1, 0, 3] * F32(2)) if x.sample == 0 else x.o}))
planted("two_elements", outputs=stage(lambda x: {
    "o": edited(x.o, (1, 0, [3, 17]), x.o[1, 0, [3, 17]] * F32(2)) if x.sample == 0 else x.o}))
planted("one_row", outputs=stage(lambda x: {
    "o": edited(x.o, (2, 1), x.o[2, 1] * F32(1.05)) if x.sample == 0 else x.o}))
planted("one_column", outputs=stage(lambda x: {"o": edited(x.o, (..., 5), x.o[..., 4])}))
planted("rows_as_without_keys", outputs=stage(lambda x: {
    "o": edited(x.o, slice(0, 3), 0), "lse": edited(x.lse, slice(0, 3), -np.inf)}))
planted("values_of_one_head_larger", inputs=stage(
    lambda x: {"v": edited(x.v, (slice(None), 1), x.v[:, 1] * F32(1.1))}))
planted("key_columns_larger", inputs=stage(
    lambda x: {"k": edited(x.k, (..., slice(-16, None)), x.k[..., -16:] * F32(1.1))}))
planted("inputs_in_bf16", inputs=stage(lambda x: {
    name: ((getattr(x, name).view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000))
    .view(F32) for name in "qkv"}))
planted("fp8_as_fnuz", inputs=stage(lambda x: {"k": x.k / 2, "v": x.v / 2}))
planted("scale_of_padded_dimensions", inputs=stage(
    lambda x: {"scale": 1 / np.sqrt(-(-x.q.shape[-1] // 32) * 32)}))
