"""Attention in NumPy with every choice that a legal kernel has. A Way is one set of choices.

All arithmetic is fp32, unless a way says otherwise. Rows of one key head are computed together:
R = rows x query heads of the group.
"""
import dataclasses
from typing import Callable, Optional, Sequence, Union

import ml_dtypes
import numpy as np
from legal_arithmetic import (F32, LN2, LOG2E, TYPES, Draws, at_random, blas, exp2_hardware, to)

from plumbline.kernels import Unsupported

FP8 = ("e4m3", "e5m2")
# seq_q and seq_kv, beyond which a slow way refuses.
SLOW_QUERIES, SLOW_KEYS = 260, 1100
LARGEST_FP16_SUM = 60000


@dataclasses.dataclass(frozen=True)
class Way:
    tile: int = 64
    reverse: bool = False
    splits: Union[int, Sequence[float], None] = None  # number of equal parts, or edges in (0, 1)
    merge: str = "weights"        # weights, ring, pairs
    split_dtype: Optional[str] = None
    qk: Callable = blas
    pv: Callable = blas
    pv_carries: bool = False      # the accumulator of P V is O itself
    exp2: Callable = exp2_hardware
    natural: bool = False         # exp(s - m) instead of exp2(s log2(e) - m log2(e))
    scale_at: str = "s"           # s, q, q_log2e, exponent, root
    q_dtype: Optional[str] = None
    # the dtype that scale x stored value of fp8 is rounded to; None: scales multiply sums
    dequantized_to: Optional[str] = None
    # after, before, scores, twice: S is rounded after / before the bias, before the softcap, or
    # before the scale and after the bias
    s_round: Optional[str] = None
    tanh: Callable = np.tanh
    alibi: str = "distance"       # distance; column: slope j, as FlashAttention-2 adds it
    lse_without_row: bool = False  # the LSE is that of logits with the bias slope j
    p_dtype: Optional[str] = "input"
    p_factor: Optional[float] = None  # None: 256 if P is in e4m3, otherwise 1
    p_random: bool = False        # P is rounded up or down at random
    p_normalized: bool = False
    rounded_sum: bool = False     # the denominator sums the rounded P
    top: str = "running"          # running, one, ceil2, bf16, shared, lazy
    skip_below: float = 0         # skips tiles whose exp(s - m) are all below this
    skips_blocks: bool = False    # skips a tile only if it may be skipped in all rows
    sink_first: bool = False
    o_dtype: Optional[str] = None
    reciprocal: Optional[Callable] = None
    out_cut: bool = False
    out_random: bool = False
    out_scale_inverted: bool = False  # O times 1 / scale instead of O / scale
    lse_base2: bool = False
    qk_overflows: bool = False    # q k is an fp16 number before its scale
    slow: bool = False


@dataclasses.dataclass
class Head:
    """One key head of a sample, with the rows of its query heads."""
    q: np.ndarray                 # [R, d]
    k: np.ndarray                 # [keys, d]
    v: np.ndarray                 # [keys, dv]
    see: np.ndarray               # [R, keys]
    row: np.ndarray               # [R]
    rows: int
    slope: Optional[np.ndarray]   # [R]
    sink: Optional[np.ndarray]    # [R]
    factor: Optional[np.ndarray] = None      # scales of fp8 Q times K, [R, keys]
    key_factor: Optional[np.ndarray] = None  # scales of V's tokens, which multiply P, [keys]
    out_factor: Optional[np.float32] = None  # scale of fp8 V

    @property
    def keys(self):
        return len(self.k)

    def row_bias(self):
        """The part of a causal ALiBi bias that a row's keys share, without its sign, [R]."""
        place = (self.row + self.keys - self.rows).astype(F32)
        return np.where(self.see.any(-1), self.slope * place, F32(0))


def own(case, dtype):
    return case.dtype if dtype == "input" else dtype


def tiles_of(begin, end, way):
    edges = [(a, min(a + way.tile, end)) for a in range(begin, end, way.tile)]
    return edges[::-1] if way.reverse else edges


def parts_of(keys, way):
    if way.splits is None or keys == 0:
        return [(0, keys)]
    if isinstance(way.splits, int):
        size = -(-keys // way.splits)
        return [(a, min(a + size, keys)) for a in range(0, keys, size)]
    edges = [0, *sorted({int(keys * f) for f in way.splits} - {0, keys}), keys]
    return list(zip(edges, edges[1:]))


# ---- Inputs ----

def shares_row_bias(case):
    """FlashAttention-2 adds slope j under a causal mask without a left window."""
    return (case.alibi_slopes is not None and case.mask.startswith("causal")
            and case.window_left < 0)


def adds_by_column(case, way, head):
    """slope j differs from -slope |distance| by a number per row if no key is after the diagonal.
    """
    follows = case.mask == "causal_bottom_right" or head.keys >= head.rows
    return way.alibi == "column" and shares_row_bias(case) and follows


def head_of(case, way, sample, head_kv):
    index, q, k, v, seen = sample
    rows, group = len(q), case.heads_q // case.heads_kv
    heads = np.arange(head_kv * group, (head_kv + 1) * group)
    row, of_row = np.arange(rows).repeat(group), np.tile(heads, rows)
    head = Head(q[:, heads].astype(F32).reshape(rows * group, q.shape[2]),
                k[:, head_kv].astype(F32), v[:, head_kv].astype(F32), seen[row], row, rows,
                None if case.alibi_slopes is None else case.alibi_slopes[of_row].astype(F32),
                None if case.sinks is None else case.sinks[of_row].astype(F32))
    if case.dtype_kv in FP8:
        of_q, of_k, of_v = (x.astype(F32) for x in case.scales(index))
        apply_scales(case, way, head, of_q[:, heads].reshape(-1), of_k[:, head_kv],
                     of_v[:, head_kv])
    if head.sink is not None and adds_by_column(case, way, head):
        head.sink = head.sink + head.row_bias()
    return head


def apply_scales(case, way, head, of_q, of_k, of_v):
    """Applies the scales of fp8 Q [R], K [keys] and V [keys]."""
    if way.dequantized_to is not None:
        dtype = own(case, way.dequantized_to)
        if case.dtype in FP8:
            head.q = to(head.q * of_q[:, None], dtype)
        head.k, head.v = to(head.k * of_k[:, None], dtype), to(head.v * of_v[:, None], dtype)
        return
    head.factor = of_q[:, None] * of_k[None, :]
    if case.scale_tokens:
        head.key_factor = of_v
    elif len(of_v):
        head.out_factor = of_v[0]


# ---- Logits ----

def logits(case, way, head):
    """Returns S [R, keys] in natural units, after softcap and ALiBi."""
    q, k, scale, factor = head.q, head.k, F32(case.scale), F32(1)
    if way.scale_at == "root":
        root = np.sqrt(scale)
        q, k = q * root, k * root
    elif way.scale_at == "q":
        q = to(q * scale, own(case, way.q_dtype))
    elif way.scale_at == "q_log2e":
        q, factor = to(q * (scale * LOG2E), own(case, way.q_dtype)), LN2
    s = way.qk(q, k)
    sixteen = case.dtype if case.dtype != "fp32" else "bf16"
    if way.s_round == "twice":
        s = to(s, sixteen)
    s = s * (scale if way.scale_at in ("s", "exponent") else factor)
    if head.factor is not None:
        s = s * head.factor
    if way.s_round == "scores":
        s = to(s, sixteen)
    if case.softcap:
        cap = F32(case.softcap)
        s = cap * way.tanh(s / cap)
    if way.s_round == "before":
        s = to(s, sixteen)
    if head.slope is not None:
        slope, key = head.slope[:, None], np.arange(head.keys)[None, :]
        if adds_by_column(case, way, head):
            s = s + slope * key.astype(F32)
        else:
            s = s - slope * np.abs(head.row[:, None] + head.keys - head.rows - key).astype(F32)
    return to(s, sixteen) if way.s_round in ("after", "twice") else s


# ---- Softmax and P V of a part of the keys ----

def next_maximum(way, m, s):
    """Returns the m of P = exp(S - m) after a tile's logits."""
    new = np.maximum(m, s.max(-1, initial=-np.inf))
    if way.top == "lazy":  # keeps the old maximum while it is at most 8 octaves too small
        with np.errstate(invalid="ignore"):
            new = np.where(np.isfinite(m) & (new - m < 8 * LN2), m, new)
    if way.top == "shared":
        new = np.where(np.isfinite(new), np.maximum(new, new[np.isfinite(new)].max(
            initial=-np.inf)), new)
    if way.top == "bf16":
        new = to(new, "bf16")
    if way.top == "ceil2":
        new = np.where(np.isfinite(new), np.ceil(new * LOG2E) / LOG2E, new)
    return new


def without_skipped(way, m, s):
    """Returns a tile's logits, -infinity in rows that skip it. m is at most the final maximum."""
    if not way.skip_below:
        return s
    skips = np.isfinite(m) & (s.max(-1, initial=-np.inf) < m + F32(np.log(way.skip_below)))
    if way.skips_blocks:
        skips = np.broadcast_to(skips.all(), skips.shape)
    return np.where(skips[:, None], F32(-np.inf), s)


def exponentials(way, s, m, new):
    """Returns P = exp(S - new) of a tile, and exp(m - new)."""
    safe = np.where(np.isfinite(new), new, F32(0))
    with np.errstate(invalid="ignore", over="ignore"):
        if way.natural:
            return (np.exp(s - safe[:, None]),
                    np.exp(np.where(np.isfinite(m), m - safe, F32(-np.inf))))
        if way.scale_at == "exponent":
            top = safe * LOG2E
            return (way.exp2((s.astype(np.float64) * LOG2E - top[:, None]).astype(F32)),
                    way.exp2(np.where(np.isfinite(m), m * LOG2E - top, F32(-np.inf))))
        return (way.exp2((s - safe[:, None]) * LOG2E),
                way.exp2(np.where(np.isfinite(m), (m - safe) * LOG2E, F32(-np.inf))))


def rounded_p(case, way, p, draws):
    """Returns round(P x factor), and the factor."""
    dtype = own(case, way.p_dtype)
    factor = F32(way.p_factor or (256 if dtype == "e4m3" else 1))
    return (at_random(p * factor, dtype, draws) if way.p_random else to(p * factor, dtype)), factor


def part(case, way, head, s, begin, end, draws):
    """Attention over keys [begin, end): O [R, dv] before the division by den, den, m."""
    count = len(s)
    o = np.zeros((count, head.v.shape[1]), F32)
    den = np.zeros(count, F32)
    m = np.full(count, -np.inf, F32)
    factor = F32(1)
    if head.sink is not None and way.sink_first and begin == 0:
        m, den = head.sink.copy(), np.ones(count, F32)
    s = np.where(head.see, s, F32(-np.inf))
    if way.top == "one" or way.p_normalized:
        m = s[:, begin:end].max(-1, initial=-np.inf)
    total = None
    if way.p_normalized:
        safe = np.where(np.isfinite(m), m, F32(0))
        total = divisor(np.exp(s - safe[:, None]).sum(-1, dtype=F32))
        den = np.where(np.isfinite(m), total, F32(0))
    for a, b in tiles_of(begin, end, way):
        tile = without_skipped(way, m, s[:, a:b])
        new = next_maximum(way, m, tile)
        p, old = exponentials(way, tile, m, new)
        p = np.where(head.see[:, a:b], p, F32(0))
        if way.p_normalized:
            p, old = p / total[:, None], np.ones_like(old)
        held = p if head.key_factor is None else p * head.key_factor[a:b]
        rounded, factor = rounded_p(case, way, held, draws)
        if not way.p_normalized:
            den = den * old + (rounded / factor if way.rounded_sum else p).sum(-1, dtype=F32)
        o = o * old[:, None]
        vt = np.ascontiguousarray(head.v[a:b].T)
        o = way.pv(rounded, vt, o) if way.pv_carries else o + way.pv(rounded, vt)
        o = to(o, own(case, way.o_dtype))
        m = new
    return o / factor, den, m


def divisor(den):
    return np.where(den > 0, den, F32(1))


def lse_of(den, m):
    return np.where(den > 0, np.where(np.isfinite(m), m, F32(0)) + np.log(divisor(den)),
                    F32(-np.inf))


# ---- Merges of parts, sinks ----

def ring_step(state, other):
    """O -= sigmoid(lse_i - lse) (O - O_i)"""
    (o, lse), (oi, lsei) = state, other
    w = np.where(np.isneginf(lsei), F32(0), np.where(
        np.isneginf(lse), F32(1), F32(1) / (F32(1) + np.exp(lse - lsei))))
    return o - w[:, None] * (o - oi), np.logaddexp(lse, lsei).astype(F32)


def weighted(states):
    top = np.max([lse for _, lse in states], 0)
    safe = np.where(np.isfinite(top), top, F32(0))
    weights = [np.exp(lse - safe) for _, lse in states]
    total = np.sum(weights, 0, dtype=F32)
    o = sum(w[:, None] * o for (o, _), w in zip(states, weights)) / divisor(total)[:, None]
    return o.astype(F32), lse_of(total, top)


def merged(case, way, parts):
    """Returns (O, LSE) of all parts from (O, den, m) of each."""
    states = [(np.where(den[:, None] > 0, o / divisor(den)[:, None], F32(0)), lse_of(den, m))
              for o, den, m in parts]
    if way.split_dtype and len(states) > 1:
        states = [(to(o, own(case, way.split_dtype)), lse) for o, lse in states]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        while way.merge == "ring" and len(states) > 1:
            states[:2] = [ring_step(states[0], states[1])]
        while way.merge == "pairs" and len(states) > 1:
            states.append(weighted(states[:2]))
            del states[:2]
        return states[0] if len(states) == 1 else weighted(states)


def with_sink(way, o, den, m, sink):
    if sink is None or way.sink_first:
        return o, den, m
    new = np.maximum(m, sink)
    old = np.exp(np.where(np.isfinite(m), m - new, F32(-np.inf)))
    if way.p_normalized:  # O is divided already, by den
        after = den * old + np.exp(sink - new)
        return o * (den * old / after)[:, None], after, new
    return o * old[:, None], den * old + np.exp(sink - new), new


def of_one_part(way, head, state):
    o, den, m = with_sink(way, *state, head.sink)
    if way.reciprocal is not None:
        o = o * way.reciprocal(divisor(den))[:, None]
    elif not way.p_normalized:
        o = o / divisor(den)[:, None]
    return o, lse_of(den, m)


def of_parts(case, way, head, parts):
    o, lse = merged(case, way, parts)
    if head.sink is not None and not way.sink_first:
        both = np.logaddexp(lse, head.sink).astype(F32)
        o, lse = o * np.exp(lse - both)[:, None], both
    return o, lse


# ---- A call ----

def refuse_large(case, way, samples):
    # Depends on the problem's fields, not the samples' lengths: the support table states fields.
    if way.slow and (case.seq_q > SLOW_QUERIES or case.seq_kv > SLOW_KEYS):
        raise Unsupported("this way of summing is too slow in NumPy for a case of this size")
    if not (way.qk_overflows or (way.s_round == "twice" and case.dtype == "fp16")):
        return
    group = case.heads_q // case.heads_kv
    for _, q, k, _, _ in samples:
        for head in range(case.heads_q):
            sums = np.abs(q[:, head].astype(F32)) @ np.abs(k[:, head // group].astype(F32)).T
            if not sums.max(initial=0) < LARGEST_FP16_SUM:
                raise Unsupported("q k may exceed the largest fp16")


def narrowed(case, way, o, draws):
    """Returns O in the output's dtype."""
    if case.out_scale is not None:
        scale = F32(case.out_scale[0])
        o = o * (F32(1) / scale) if way.out_scale_inverted else o / scale
        largest = F32(ml_dtypes.finfo(TYPES[case.dtype_out]).max)
        o = np.clip(o, -largest, largest)
    if way.out_cut and case.dtype_out == "bf16":
        o = (np.ascontiguousarray(o).view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)
    if way.out_random:
        o = at_random(o, case.dtype_out, draws)
    return o.astype(TYPES[case.dtype_out])


def attend_head(case, way, head, draws):
    """Returns O in the output's dtype and the LSE of the rows of one key head."""
    s = logits(case, way, head)
    parts = [part(case, way, head, s, a, b, draws) for a, b in parts_of(head.keys, way)]
    o, lse = (of_one_part(way, head, parts[0]) if len(parts) == 1
              else of_parts(case, way, head, parts))
    o = np.where(head.see.any(-1)[:, None], o, F32(0))
    if head.out_factor is not None:
        o = o * head.out_factor
    if way.lse_without_row and shares_row_bias(case) and not adds_by_column(case, way, head):
        lse = lse + head.row_bias()
    return narrowed(case, way, o, draws), lse * LOG2E if way.lse_base2 else lse


def attend(case, way):
    samples = [(b, *case.sample(b), case.visible_of(b)) for b in range(case.batch)]
    refuse_large(case, way, samples)
    group = case.heads_q // case.heads_kv

    def run():
        out, lse, draws = case.new_out(), case.new_lse(), Draws()
        for sample in samples:
            rows = case.query_rows(sample[0])
            of_out, of_lse = out[rows], lse[rows]
            for head_kv in range(case.heads_kv):
                heads = slice(head_kv * group, (head_kv + 1) * group)
                o, logs = attend_head(case, way, head_of(case, way, sample, head_kv), draws)
                of_out[:, heads] = o.reshape(-1, group, o.shape[1])
                of_lse[:, heads] = logs.reshape(-1, group)
        return (out, lse) if case.lse_wanted else out
    return run
