"""Legal ways to compute attention in NumPy: a provider for tests, written without harness code.

Each kernel `legal_ways/NAME` is a correct kernel that tiles, sums or rounds in another way than the
others, and declares the spec of what it does. No suite may flag one. The contracts that allow what
they declare, and the support table, are written by this file:

    PYTHONPATH=python python3 tests/legal/legal_ways.py out/legal
    plumbline run tests/legal/sweep.toml --provider tests/legal/legal_ways.py --baselines out/legal

All arithmetic is fp32, unless a way says otherwise. Rows of one key head are computed together:
R = rows x query heads of the group.
"""
import dataclasses
from typing import Callable, Optional, Sequence, Union

import ml_dtypes
import numpy as np

from plumbline.kernels import Spec, Unsupported, kernel

F32 = np.float32
LOG2E = F32(1.4426950408889634)
LN2 = F32(0.6931471805599453)
TYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16,
         "e4m3": ml_dtypes.float8_e4m3fn}
MAX_WORK = 2e8  # products of one sample and key head, beyond which a slow way refuses


# ---- Roundings: all take and return fp32 ----

def to(x, dtype):
    """Rounds to nearest, ties to even."""
    if dtype in (None, "fp32"):
        return x
    if dtype == "tf32":
        bits = np.ascontiguousarray(x).view(np.uint32)
        return ((bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1)))
                & np.uint32(0xFFFFE000)).view(F32)
    return x.astype(TYPES[dtype]).astype(F32)


# ---- Products ----
# a [R, D] times b [N, D], both fp32, to [R, N]. `start` is an accumulator to begin with.

def blas(a, b, start=None):
    product = a @ b.T
    return product if start is None else start + product


def in_fp64(a, b, start=None):
    product = a.astype(np.float64) @ b.T.astype(np.float64)
    return (product if start is None else start + product).astype(F32)


def in_order(a, b, start=None):
    """One multiply-add after another, each rounded once."""
    sums = np.zeros((len(a), len(b)), F32) if start is None else start.copy()
    for d in range(a.shape[1]):
        sums = (sums + a[:, d, None].astype(np.float64) * b[None, :, d]).astype(F32)
    return sums


def multiply_then_add(a, b, start=None):
    sums = np.zeros((len(a), len(b)), F32) if start is None else start.copy()
    for d in range(a.shape[1]):
        sums = sums + a[:, d, None] * b[None, :, d]
    return sums


def in_pairs(a, b, start=None):
    products = a[:, None, :] * b[None, :, :]
    while products.shape[-1] > 1:
        if products.shape[-1] % 2:
            products = np.concatenate([products, np.zeros_like(products[..., :1])], -1)
        products = products[..., ::2] + products[..., 1::2]
    sums = products[..., 0] if products.shape[-1] else np.zeros((len(a), len(b)), F32)
    return sums if start is None else start + sums


def tensor_core(bits, step):
    """Steps of `step` products, truncated to `bits` fraction bits of the largest, then to fp32."""
    def multiply(a, b, start=None):
        sums = np.zeros((len(a), len(b))) if start is None else start.astype(np.float64)
        for d in range(0, a.shape[1], step):
            terms = np.concatenate([sums[..., None], a[:, None, d:d + step].astype(np.float64)
                                    * b[None, :, d:d + step]], -1)
            top = np.frexp(np.abs(terms).max(-1, keepdims=True))[1] - 1
            unit = np.ldexp(1.0, top - bits)
            total = (np.trunc(terms / unit) * unit).sum(-1)
            kept = min(bits, 23)
            mantissa, exponent = np.frexp(total)
            sums = np.ldexp(np.trunc(np.ldexp(mantissa, kept + 1)), exponent - kept - 1)
        return sums.astype(F32)
    return multiply


def in_fp16(step):
    """An fp16 accumulator, rounded after every `step` products, whose own sum is exact."""
    def multiply(a, b, start=None):
        sums = np.zeros((len(a), len(b)), F32) if start is None else to(start, "fp16")
        for d in range(0, a.shape[1], step):
            product = a[:, d:d + step].astype(np.float64) @ b[:, d:d + step].T.astype(np.float64)
            sums = (sums + product).astype(np.float16).astype(F32)
        return sums
    return multiply


def in_parts(parts, products):
    """Splits fp32 operands into sums of 16-bit or tf32 numbers, and adds the larger products."""
    def split(x):
        pieces = []
        for dtype in parts:
            piece = to(x, dtype)
            pieces.append(piece)
            x = x - piece
        return pieces

    def multiply(a, b, start=None):
        left, right = split(a), split(b)
        sums = np.zeros((len(a), len(b)), F32) if start is None else start
        for i, j in products:
            sums = sums + left[i] @ right[j].T
        return sums
    return multiply


def in_tf32(a, b, start=None):
    return blas(to(a, "tf32"), to(b, "tf32"), start)


def cut(x):
    """Truncates to tf32, as tensor cores do with the bits of fp32."""
    return (np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)


def in_cut_tf32(a, b, start=None):
    return blas(cut(a), cut(b), start)


# ---- exp2, tanh ----

def exp2_horner(coefficients):
    """2^x from a polynomial of frac(x) in [0, 1), in fp32 with multiply-adds."""
    def power(x):
        x = np.maximum(x, F32(-127))
        whole = np.floor(x)
        f = x - whole
        y = np.full_like(f, coefficients[-1])
        for c in coefficients[-2::-1]:
            y = (y.astype(np.float64) * f + F32(c)).astype(F32)
        return np.where(x <= -127, F32(0), np.ldexp(y, whole.astype(np.int32)))
    return power


# FlashAttention-4's polynomial of degree 3: relative error at most 8.8e-5.
POLY_3 = exp2_horner(tuple(map(F32, (1.0, 0.695146143436431884765625, 0.227564394474029541015625,
                                     0.077119089663028717041015625))))
# Interpolates at Chebyshev nodes: degree 6, relative error at most 2e-7.
POLY_6 = exp2_horner(tuple(map(F32, np.polynomial.chebyshev.Chebyshev.interpolate(
    lambda x: np.exp2(x), 6, domain=(0, 1)).convert(kind=np.polynomial.Polynomial).coef)))


def exp2_hardware(x):
    """ex2.approx: within 2 ulp, subnormal results are 0."""
    y = np.exp2(x.astype(F32))
    return np.where(y < F32(2.0 ** -126), F32(0), y)


def tanh_by_exp(x):
    """1 - 2 / (exp(2 x) + 1)."""
    with np.errstate(over="ignore"):
        return (F32(1) - F32(2) / (np.exp(F32(2) * np.abs(x)) + F32(1))) * np.sign(x)


def tanh_approx(x):
    """A relative error of up to 2^-11 that depends on x, as tanh.approx.f32 has."""
    return (np.tanh(x.astype(np.float64)) * (1 + 2.0 ** -11 * np.sin(4096 * x))).astype(F32)


# ---- A way ----

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
    # after, before, scores, twice: S is rounded after / before the bias, before the softcap, or
    # before the scale and after the bias
    s_round: Optional[str] = None
    tanh: Callable = np.tanh
    p_dtype: Optional[str] = "input"
    p_factor: float = 1.0
    p_normalized: bool = False
    rounded_sum: bool = False     # the denominator sums the rounded P
    top: str = "running"          # running, one, ceil2, bf16, shared, lazy
    sink_first: bool = False
    o_dtype: Optional[str] = None
    reciprocal: Optional[Callable] = None
    out_cut: bool = False
    lse_base2: bool = False
    qk_overflows: bool = False    # q k is an fp16 number before its scale
    slow: bool = False


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


def logits(case, way, q, k, head_of_row, row, keys, rows):
    """Returns S [R, keys] in natural units, after softcap and ALiBi."""
    scale = F32(case.scale)
    factor = F32(1)
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
    if way.scale_at in ("s", "exponent"):
        s = s * scale
    else:
        s = s * factor
    if way.s_round == "scores":
        s = to(s, sixteen)
    if case.softcap:
        cap = F32(case.softcap)
        s = cap * way.tanh(s / cap)
    if way.s_round == "before":
        s = to(s, sixteen)
    if case.alibi_slopes is not None:
        distance = np.abs(row[:, None] + keys - rows - np.arange(keys)[None, :]).astype(F32)
        s = s - case.alibi_slopes[head_of_row][:, None] * distance
    return to(s, sixteen) if way.s_round in ("after", "twice") else s


def part(case, way, s, seen, v, sink, begin, end):
    """Attention over keys [begin, end): O [R, dv] not divided, den, m."""
    count = len(s)
    o = np.zeros((count, v.shape[1]), F32)
    den = np.zeros(count, F32)
    m = np.full(count, -np.inf, F32)
    if sink is not None and way.sink_first and begin == 0:
        m, den = sink.astype(F32).copy(), np.ones(count, F32)
    p_dtype, o_dtype = own(case, way.p_dtype), own(case, way.o_dtype)
    s = np.where(seen, s, F32(-np.inf))
    if way.top == "one" or way.p_normalized:
        m = s[:, begin:end].max(-1, initial=-np.inf)
    total = None
    if way.p_normalized:
        safe = np.where(np.isfinite(m), m, F32(0))
        total = divisor(np.exp(s - safe[:, None]).sum(-1, dtype=F32))
        den = np.where(np.isfinite(m), total, F32(0))
    for a, b in tiles_of(begin, end, way):
        new = np.maximum(m, s[:, a:b].max(-1, initial=-np.inf))
        if way.top == "lazy":  # keeps the old maximum while it is at most 8 octaves too small
            new = np.where(np.isfinite(m) & (new - m < 8 * LN2), m, new)
        if way.top == "shared":
            new = np.where(np.isfinite(new), np.maximum(new, new[np.isfinite(new)].max(
                initial=-np.inf)), new)
        if way.top == "bf16":
            new = to(new, "bf16")
        if way.top == "ceil2":
            new = np.where(np.isfinite(new), np.ceil(new * LOG2E) / LOG2E, new)
        safe = np.where(np.isfinite(new), new, F32(0))
        with np.errstate(invalid="ignore", over="ignore"):
            if way.natural:
                old = np.exp(np.where(np.isfinite(m), m - safe, F32(-np.inf)))
                p = np.exp(s[:, a:b] - safe[:, None])
            elif way.scale_at == "exponent":
                top2 = safe * LOG2E
                old = way.exp2(np.where(np.isfinite(m), m * LOG2E - top2, F32(-np.inf)))
                p = way.exp2((s[:, a:b].astype(np.float64) * LOG2E - top2[:, None]).astype(F32))
            else:
                old = way.exp2(np.where(np.isfinite(m), (m - safe) * LOG2E, F32(-np.inf)))
                p = way.exp2((s[:, a:b] - safe[:, None]) * LOG2E)
        p = np.where(seen[:, a:b], p, F32(0))
        if way.p_normalized:
            p, old = p / total[:, None], np.ones_like(old)
        rounded = to(p * F32(way.p_factor), p_dtype)
        if not way.p_normalized:
            den = den * old + (rounded / F32(way.p_factor) if way.rounded_sum else p).sum(
                -1, dtype=F32)
        o = o * old[:, None]
        vt = np.ascontiguousarray(v[a:b].T)
        if way.pv_carries:
            o = way.pv(rounded, vt, o)
        else:
            o = o + way.pv(rounded, vt)
        o = to(o, o_dtype)
        m = new
    return o / F32(way.p_factor), den, m


def divisor(den):
    return np.where(den > 0, den, F32(1))


def lse_of(den, m):
    return np.where(den > 0, np.where(np.isfinite(m), m, F32(0)) + np.log(divisor(den)),
                    F32(-np.inf))


def merged(case, way, parts):
    """Returns (O, LSE) of all parts from (O, den, m) of each."""
    states = [(np.where(den[:, None] > 0, o / divisor(den)[:, None], F32(0)), lse_of(den, m))
              for o, den, m in parts]
    if way.split_dtype and len(states) > 1:
        states = [(to(o, own(case, way.split_dtype)), lse) for o, lse in states]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if way.merge in ("ring", "pairs"):
            while len(states) > 1:
                (o, lse), (oi, lsei) = states[0], states[1]
                if way.merge == "ring":  # O -= sigmoid(lse_i - lse) (O - O_i)
                    w = np.where(np.isneginf(lsei), F32(0), np.where(
                        np.isneginf(lse), F32(1), F32(1) / (F32(1) + np.exp(lse - lsei))))
                    o = o - w[:, None] * (o - oi)
                    lse = np.logaddexp(lse, lsei).astype(F32)
                    states[:2] = [(o, lse)]
                else:
                    states.append(weighted([(o, lse), (oi, lsei)]))
                    del states[:2]
            return states[0]
        return weighted(states)


def weighted(states):
    top = np.max([lse for _, lse in states], 0)
    safe = np.where(np.isfinite(top), top, F32(0))
    weights = [np.exp(lse - safe) for _, lse in states]
    total = np.sum(weights, 0, dtype=F32)
    o = sum(w[:, None] * o for (o, _), w in zip(states, weights)) / divisor(total)[:, None]
    return o.astype(F32), lse_of(total, top)


def attend(case, way):
    group = case.heads_q // case.heads_kv
    samples = [(case.query_rows(b), *case.sample(b), case.visible_of(b))
               for b in range(case.batch)]
    if way.s_round == "twice" or way.qk_overflows:
        largest = max((float(np.abs(q.astype(F32)).max(initial=0)) *
                       float(np.abs(k.astype(F32)).max(initial=0)) * q.shape[2]
                       for _, q, k, _, _ in samples), default=0)
        if not largest < 60000 and (way.qk_overflows or case.dtype == "fp16"):
            raise Unsupported("q k may exceed the largest fp16")
    if way.slow:
        work = max((q.shape[0] * group * k.shape[0] * max(q.shape[2], v.shape[2])
                    for _, q, k, v, _ in samples), default=0)
        if work > MAX_WORK:
            raise Unsupported("this way of summing is too slow in NumPy for a case of this size")

    def run():
        out, lse = case.new_out(), case.new_lse()
        for index, q, k, v, seen in samples:
            rows, keys = q.shape[0], k.shape[0]
            of_out, of_lse = out[index], lse[index]
            for head_kv in range(case.heads_kv):
                heads = np.arange(head_kv * group, (head_kv + 1) * group)
                qs = q[:, heads].astype(F32).reshape(rows * group, q.shape[2])
                row = np.arange(rows).repeat(group)
                head_of_row = np.tile(heads, rows)
                see = seen[row]
                sink = None if case.sinks is None else case.sinks[head_of_row].astype(F32)
                ks, vs = k[:, head_kv].astype(F32), v[:, head_kv].astype(F32)
                s = logits(case, way, qs, ks, head_of_row, row, keys, rows)
                parts = [part(case, way, s, see, vs, sink, a, b) for a, b in parts_of(keys, way)]
                if len(parts) == 1:
                    o, den, m = parts[0]
                    o, den, m = with_sink(way, o, den, m, sink)
                    if way.reciprocal is not None:
                        o = o * way.reciprocal(divisor(den))[:, None]
                    elif not way.p_normalized:
                        o = o / divisor(den)[:, None]
                    logs = lse_of(den, m)
                else:
                    o, logs = merged(case, way, parts)
                    if sink is not None and not way.sink_first:
                        both = np.logaddexp(logs, sink).astype(F32)
                        o = o * np.exp(logs - both)[:, None]
                        logs = both
                o = np.where(see.any(-1)[:, None], o, F32(0))
                if way.lse_base2:
                    logs = logs * LOG2E
                of_out[:, heads] = narrowed(o, out.dtype, way).reshape(rows, group, v.shape[2])
                of_lse[:, heads] = logs.reshape(rows, group)
        return (out, lse) if case.lse_wanted else out
    return run


def narrowed(o, dtype, way):
    if way.out_cut and dtype == TYPES["bf16"]:
        o = (np.ascontiguousarray(o).view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)
    return o.astype(dtype)


def with_sink(way, o, den, m, sink):
    if sink is None or way.sink_first:
        return o, den, m
    new = np.maximum(m, sink)
    old = np.exp(np.where(np.isfinite(m), m - new, F32(-np.inf)))
    if way.p_normalized:  # O is divided already, by den
        after = den * old + np.exp(sink - new)
        return o * (den * old / after)[:, None], after, new
    return o * old[:, None], den * old + np.exp(sink - new), new


ALL = ("fp32", "fp16", "bf16")
SIXTEEN = ("fp16", "bf16")


def legal(name, way, spec=None, dtypes=ALL):
    @kernel(name=name, dtypes=dtypes, out_dtypes=("fp32", "fp16", "bf16"),
            masks=("none", "causal_top_left", "causal_bottom_right", "custom"),
            layouts=("padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd"), lse=True,
            window=True, softcap=True, alibi=True, sinks=True, padding_policy="untouched",
            spec=Spec(**(spec or {})))
    def function(case):
        return attend(case, way)
    return function


# Tiles, orders, splits: nothing but the strict spec.
for tile in (16, 32, 48, 80, 128, 192):
    legal(f"tile_{tile}", Way(tile=tile))
legal("reversed", Way(reverse=True))
legal("reversed_32", Way(reverse=True, tile=32))
for count in (2, 3, 5, 6, 7):
    legal(f"splits_{count}", Way(splits=count))
legal("stream_k", Way(splits=(0.21, 0.5, 0.83)))
legal("stream_k_two", Way(splits=(0.37,), tile=32))
legal("merge_in_pairs", Way(splits=5, merge="pairs"))
for count in (2, 4, 7):
    legal(f"ring_{count}", Way(splits=count, merge="ring"), {"ring_update": True})
# The choice of m.
legal("lazy_maximum", Way(top="lazy"))
legal("maximum_first", Way(top="one"))
# A row far below the largest one of its block loses P in fp16.
legal("maximum_shared", Way(top="shared"), {"p_max": "free"}, dtypes=("fp32", "bf16"))
legal("maximum_bf16", Way(top="bf16"), {"p_max": "bf16"})
legal("maximum_power_of_two", Way(top="ceil2"), {"p_max": "ceil2"})
legal("sink_first", Way(sink_first=True))
# Exponentials.
legal("exp_natural", Way(natural=True))
legal("exp2_by_fma", Way(scale_at="exponent"))
legal("exp2_degree_6", Way(exp2=POLY_6))
legal("exp2_degree_3", Way(exp2=POLY_3), {"exp2_rel_error": 1e-4})
legal("exp2_degree_3_by_fma", Way(exp2=POLY_3, scale_at="exponent"), {"exp2_rel_error": 1e-4})
# Softmax scale.
legal("scale_on_q", Way(scale_at="q"))
legal("scale_on_q_log2e", Way(scale_at="q_log2e"))
legal("scale_root", Way(scale_at="root"))
legal("q_rounded", Way(scale_at="q", q_dtype="input"),
      {"q_prescaled": "input", "q_prescaled_without_log2e": True}, dtypes=SIXTEEN)
legal("q_log2e_rounded", Way(scale_at="q_log2e", q_dtype="input"), {"q_prescaled": "input"},
      dtypes=SIXTEEN)
# S in 16 bits.
legal("s_rounded_after_bias", Way(s_round="after"), {"s_rounded": "input"}, dtypes=SIXTEEN)
legal("s_rounded_before_bias", Way(s_round="before"),
      {"s_rounded": "input", "s_rounded_before_bias": True}, dtypes=SIXTEEN)
legal("s_rounded_before_softcap", Way(s_round="scores"),
      {"s_rounded": "input", "s_rounded_before_softcap": True}, dtypes=SIXTEEN)
legal("s_rounded_twice", Way(s_round="twice"), {"s_rounded": "input", "s_rounded_twice": True},
      dtypes=SIXTEEN)
# Softcap.
# Its error is absolute, which no field of a spec states; 16-bit inputs hide it.
legal("tanh_by_exp", Way(tanh=tanh_by_exp), {"tanh_rel_error": 1e-6}, dtypes=SIXTEEN)
legal("tanh_approx", Way(tanh=tanh_approx), {"tanh_rel_error": 2.0 ** -11})
# P.
legal("p_fp32", Way(p_dtype="fp32"), {"p_dtype": "fp32"})
legal("p_normalized", Way(p_normalized=True), {"p_normalized": True})
legal("p_sum_rounded", Way(rounded_sum=True), {"denominator_from_rounded_p": True},
      dtypes=SIXTEEN)
legal("p_e4m3", Way(p_dtype="e4m3", p_factor=256), {"p_dtype": "e4m3", "p_prescale": 256})
# Sums of products.
legal("products_in_fp64", Way(qk=in_fp64, pv=in_fp64))
legal("products_in_order", Way(qk=in_order, pv=in_order, pv_carries=True, slow=True))
legal("multiply_then_add", Way(qk=multiply_then_add, pv=multiply_then_add, pv_carries=True,
                               slow=True))
legal("products_in_pairs", Way(qk=in_pairs, pv=in_pairs, slow=True))
legal("tensor_core_sm_80", Way(qk=tensor_core(24, 8), pv=tensor_core(24, 8), pv_carries=True,
                               slow=True), dtypes=SIXTEEN)
legal("tensor_core_sm_90", Way(qk=tensor_core(25, 16), pv=tensor_core(25, 16), pv_carries=True,
                               slow=True),
      {"qk_accumulator": "fp32/toward_zero/25/16", "pv_accumulator": "fp32/toward_zero/25/16"},
      dtypes=SIXTEEN)
legal("qk_13_bits", Way(qk=tensor_core(13, 16), slow=True),
      {"qk_accumulator": "fp32/toward_zero/13/16"})
legal("pv_13_bits", Way(pv=tensor_core(13, 16), pv_carries=True, slow=True),
      {"pv_accumulator": "fp32/toward_zero/13/16"})
legal("qk_fp16", Way(qk=in_fp16(16), slow=True, qk_overflows=True),
      {"qk_accumulator": "fp16/nearest/10/16"})
legal("pv_fp16_sink_first", Way(pv=in_fp16(16), pv_carries=True, slow=True, sink_first=True),
      {"pv_accumulator": "fp16/nearest/10/16"})
legal("pv_fp16", Way(pv=in_fp16(16), pv_carries=True, slow=True),
      {"pv_accumulator": "fp16/nearest/10/16"})
legal("pv_fp16_each", Way(pv=in_fp16(1), pv_carries=True, slow=True),
      {"pv_accumulator": "fp16/nearest/10/1"})
# tf32 and sums of 16-bit parts, for fp32 inputs.
legal("tf32_nearest", Way(qk=in_tf32, pv=in_tf32, p_dtype="tf32"),
      {"kv_dequantized_to": "tf32", "p_dtype": "tf32"}, dtypes=("fp32",))
legal("tf32_truncated", Way(qk=in_cut_tf32, pv=in_cut_tf32, p_dtype="fp32"),
      {"kv_dequantized_to": "tf32", "inputs_toward_zero": True, "p_dtype": "tf32",
       "p_toward_zero": True}, dtypes=("fp32",))
three_bf16 = in_parts(("bf16", "bf16", "bf16"), ((0, 0), (0, 1), (1, 0)))
legal("three_bf16", Way(qk=three_bf16, pv=three_bf16), {"product_rel_error": 2.0 ** -15},
      dtypes=("fp32",))
three_products = in_parts(("tf32", "tf32"), ((0, 0), (0, 1), (1, 0)))
legal("three_tf32", Way(qk=three_products, pv=three_products), dtypes=("fp32",))
# O between tiles and parts, and what is written.
legal("o_in_16_bits", Way(o_dtype="input"), {"o_between_tiles": "input"}, dtypes=SIXTEEN)
legal("o_in_16_bits_tile_16", Way(o_dtype="input", tile=16), {"o_between_tiles": "input"},
      dtypes=SIXTEEN)
legal("partials_in_16_bits", Way(splits=3, split_dtype="input"), {"split_partial_dtype": "input"},
      dtypes=SIXTEEN)
legal("reciprocal", Way(reciprocal=lambda den: F32(1) / den))
legal("reciprocal_approx", Way(reciprocal=lambda den: (F32(1) / den) * F32(1 + 2.0 ** -13)),
      {"reciprocal_rel_error": 2.0 ** -12})
legal("out_truncated", Way(out_cut=True), {"out_toward_zero": True}, dtypes=("bf16",))
legal("lse_base_2", Way(lse_base2=True), {"lse_base": "2"})


def support():
    """Yields the lines of a support.toml with the dtypes that a kernel does not declare."""
    from plumbline import kernels
    yield "schema = 1"
    for one in kernels.declared:
        missing = [dtype for dtype in (*ALL, "e4m3", "e5m2") if dtype not in one.dtypes]
        yield "\n".join(["", "[[unsupported]]", f'kernel = "legal_ways/{one.name}"',
                         f"where = {{ dtype = {missing!r} }}".replace("'", '"'),
                         'reason = "dtype not declared"'])
    for way, where, reason in (
            ("*", 'kv_dtype = ["e4m3", "e5m2"]', "fp8 is not declared"),
            ("qk_fp16", 'law = ["extreme", "exact"]', "q k overflows"),
            ("s_rounded_twice", 'law = ["extreme", "exact"], dtype = "fp16"', "q k overflows")):
        yield "\n".join(["", "[[unsupported]]", f'kernel = "legal_ways/{way}"',
                         f"where = {{ {where} }}", f'reason = "{reason}"'])


def contracts():
    """Yields the lines of a contracts.toml that allows each kernel what it declares."""
    from plumbline import kernels
    yield "schema = 1"
    for one in kernels.declared:
        stated = {f.name: getattr(one.spec, f.name) for f in dataclasses.fields(one.spec)
                  if getattr(one.spec, f.name) is not None}
        values = ", ".join(f"{name} = " + (str(value).lower() if isinstance(value, bool) else
                                           f'"{value}"' if isinstance(value, str) else repr(value))
                           for name, value in stated.items())
        yield "\n".join(["", "[[contract]]", f'kernel = "legal_ways/{one.name}"',
                         'reason = "a legal way of tests"', 'proof = "its own source"',
                         'padding_policy = "untouched"', f"spec = {{ {values} }}"])


if __name__ == "__main__":
    import pathlib
    import sys
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, lines in (("contracts", contracts()), ("support", support())):
        (folder / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
