"""Attention kernels in NumPy with one bug each, close to a legal way to compute attention or in
problems that no suite reached: a provider for tests/bugs/test_new_bugs.cc, without harness code.

Stages and shapes are those of tests/causes/planted.py. Each bug names the section of the review
that it belongs to: 1 legal ways, 2 ways that a spec must state, 3 reach of suites, 4 causes; 5 is
state that a call leaves for later ones. No bug is declared: every kernel states the strict spec.
"""
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "causes"))
# pylint: disable=wrong-import-position
from planted import F32, MINUS_INFINITY, by_pages, edited, for_all, planted, stage  # noqa: E402

from plumbline import kernels  # noqa: E402

kernels.declared.clear()  # drops the kernels of planted.py

SECTIONS = {}
SMALLEST_NORMAL_FP16 = 2.0 ** -14


def bug(section, name, **stages):
    SECTIONS[name] = section
    planted(name, **stages)


# ---- Helpers ----

def to(x, dtype):
    """Rounds to nearest; "tf32" truncates."""
    if dtype == "tf32":
        return (np.ascontiguousarray(x, F32).view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)
    types = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
             "e5m2": ml_dtypes.float8_e5m2}
    with np.errstate(over="ignore"):
        return np.asarray(x, F32).astype(types[dtype]).astype(F32)


def cut_to_bf16(x):
    return (np.ascontiguousarray(x, F32).view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)


def diagonal(x):
    """The key on the diagonal of each row, bottom right, [rows, 1]."""
    return np.arange(x.rows)[:, None] + x.keys - x.rows


def columns(x):
    return np.arange(x.keys)[None, :]


def distance(x):
    return np.abs(diagonal(x) - columns(x)).astype(F32)


def slopes(x):
    return x.case.alibi_slopes[:, None, None].astype(F32)


def softmax_over(x, keys):
    """O [rows, Hq, dv] and LSE [rows, Hq] over some keys; 0 and -infinity for a row without any."""
    s, v = x.s[:, :, keys], x.v[keys][:, x.value_head]
    m = s.max(-1, initial=-np.inf)
    safe = np.where(np.isfinite(m), m, F32(0))
    p = np.exp(s - safe[..., None]).astype(F32)
    total = p.sum(-1, dtype=F32)
    if x.case.dtype in ("fp16", "bf16"):
        p = to(p, x.case.dtype)
    o = np.matmul(p, v.transpose(1, 0, 2)) / np.where(total > 0, total, F32(1))[..., None]
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, safe + np.log(total), MINUS_INFINITY)
    return o.transpose(1, 0, 2), lse.T


def edges(x, count):
    return [x.keys * i // count for i in range(count + 1)]


def states(x, count):
    ends = edges(x, count)
    return [softmax_over(x, slice(a, b)) for a, b in zip(ends, ends[1:])]


def merged(parts, weight):
    """Merges states with weight(lse of the part, largest lse)."""
    top = np.max([lse for _, lse in parts], 0)
    safe = np.where(np.isfinite(top), top, F32(0))
    weights = [np.where(np.isfinite(lse), weight(lse, safe), F32(0)) for _, lse in parts]
    total = np.sum(weights, 0)
    o = sum(w[..., None] * o for (o, _), w in zip(parts, weights))
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, safe + np.log(total), MINUS_INFINITY)
    return {"o": (o / np.where(total > 0, total, 1)[..., None]).astype(F32), "lse": lse.astype(F32)}


def usual(lse, top):
    return np.exp(lse - top)


def without_sinks(function):
    """A stage for problems without sinks, which these merges do not know."""
    return stage(lambda x: {} if x.case.sinks is not None else function(x))


def tiles(x, size):
    return [slice(a, min(a + size, x.keys)) for a in range(0, x.keys, size)]


# ---- 1. Near legal ways: splits, merges, exponentials, places of roundings ----

bug(1, "split_of_three_loses_middle", outputs=without_sinks(
    lambda x: merged([states(x, 3)[0], states(x, 3)[2]], usual) if x.keys > 2 else {}))
bug(1, "split_counts_edge_twice", outputs=without_sinks(lambda x: merged(
    [softmax_over(x, slice(0, x.keys // 2 + 1)), softmax_over(x, slice(x.keys // 2, None))],
    usual)))
bug(1, "split_loses_edge", outputs=without_sinks(lambda x: merged(
    [softmax_over(x, slice(0, max(0, x.keys // 2 - 1))), softmax_over(x, slice(x.keys // 2, None))],
    usual)))
bug(1, "merge_weighs_parts_alike", outputs=without_sinks(
    lambda x: merged(states(x, 2), lambda lse, top: np.ones_like(lse))))
bug(1, "merge_in_base_2", outputs=without_sinks(
    lambda x: merged(states(x, 2), lambda lse, top: np.exp2(lse - top))))
bug(1, "merge_by_maxima", outputs=without_sinks(lambda x: merged(
    [(softmax_over(x, part)[0], x.s[:, :, part].max(-1, initial=-np.inf).T)
     for part in (slice(0, x.keys // 3), slice(x.keys // 3, None))], usual)))
bug(1, "merge_keeps_lse_of_last", outputs=without_sinks(
    lambda x: {**merged(states(x, 3), usual), "lse": states(x, 3)[-1][1].astype(F32)}))
bug(1, "merge_counts_empty_parts", outputs=without_sinks(lambda x: merged(
    [(o, np.where(np.isneginf(lse), np.maximum(states(x, 2)[1][1], -1), lse))
     for o, lse in states(x, 2)], usual)))


def ring(x, reversed_weight=False, keeps_lse=False):
    parts = states(x, 3)
    o, lse = parts[0]
    for oi, lsei in parts[1:]:
        with np.errstate(invalid="ignore", over="ignore"):
            w = np.where(np.isneginf(lsei), 0, np.where(np.isneginf(lse), 1,
                                                        1 / (1 + np.exp(lse - lsei))))
        w = np.where(np.isneginf(lsei) | np.isneginf(lse), w, 1 - w if reversed_weight else w)
        o = o - w[..., None] * (o - oi)
        lse = lse if keeps_lse and np.isfinite(lse).all() else np.logaddexp(lse, lsei)
    return {"o": o.astype(F32), "lse": lse.astype(F32)}


bug(1, "ring_exchanges_weights", outputs=without_sinks(lambda x: ring(x, reversed_weight=True)))
bug(1, "ring_keeps_first_lse", outputs=without_sinks(lambda x: ring(x, keeps_lse=True)))
bug(1, "partials_in_e4m3", outputs=without_sinks(
    lambda x: merged([(to(o, "e4m3"), lse) for o, lse in states(x, 2)], usual)))
bug(1, "partials_in_bf16", outputs=without_sinks(
    lambda x: merged([(to(o, "bf16"), lse) for o, lse in states(x, 4)], usual)))


def weights_of(x, p):
    """Fields of a state whose P is replaced before its rounding."""
    total = p.sum(-1, dtype=F32)
    if x.case.sinks is not None:
        total = total + np.exp(x.case.sinks[:, None].astype(F32) - x.m)
    narrow = to(p, x.case.dtype) if x.case.dtype in ("fp16", "bf16") else p
    return {"p": narrow.astype(F32), "l": total}


def differences(x):
    return x.s - np.where(np.isfinite(x.m), x.m, F32(0))[..., None]


def exp2_degree_2(x):
    whole = np.floor(np.maximum(x, -126))
    f = x - whole
    return np.where(x < -126, 0, (1 + f * (0.65617 + 0.34383 * f)) * np.exp2(whole)).astype(F32)


bug(1, "exp2_of_degree_2", weights=stage(
    lambda x: weights_of(x, exp2_degree_2(np.maximum(differences(x), -1e4) * F32(np.log2(np.e))))))
bug(1, "exp_zero_below_minus_4", weights=stage(
    lambda x: weights_of(x, np.where(differences(x) < -4, F32(0), np.exp(differences(x))))))
bug(1, "exp_of_rounded_difference", weights=stage(
    lambda x: weights_of(x, np.exp(to(np.maximum(differences(x), -1e30), "bf16")))))
bug(1, "q_scaled_to_e5m2", inputs=stage(
    lambda x: {"q": to(x.q * F32(x.scale), "e5m2"), "scale": 1.0}))
bug(1, "q_scaled_to_bf16", inputs=stage(
    lambda x: {"q": to(x.q * F32(x.scale), "bf16"), "scale": 1.0}))
bug(1, "scale_in_bf16", inputs=stage(lambda x: {"scale": float(to(F32(x.scale), "bf16"))}))
bug(1, "s_in_bf16", logits=stage(lambda x: {"s": to(x.s, "bf16")}))
bug(1, "s_cut_to_bf16", logits=stage(lambda x: {"s": cut_to_bf16(x.s)}))
bug(1, "s_in_e5m2", logits=stage(lambda x: {"s": to(x.s, "e5m2")}))


def tiled_output(x, size, keep):
    """O as a running sum over tiles, changed by `keep` after each."""
    o = np.zeros((*x.p.shape[:2], x.v.shape[2]), F32)
    for tile in tiles(x, size):
        o = keep(o + np.matmul(x.p[:, :, tile], x.v[tile][:, x.value_head].transpose(1, 0, 2)))
    return {"o": (o / np.where(x.l > 0, x.l, F32(1))[..., None]).transpose(1, 0, 2)}


bug(1, "o_in_16_bits_between_tiles", outputs=stage(
    lambda x: tiled_output(x, 8, lambda o: to(o, "bf16"))))
bug(1, "o_cut_between_tiles", outputs=stage(lambda x: tiled_output(x, 32, cut_to_bf16)))

# ---- 2. What a spec must state ----

bug(2, "keys_cut_to_bf16", inputs=stage(lambda x: {"k": cut_to_bf16(x.k)}))
bug(2, "values_cut_to_bf16", inputs=stage(lambda x: {"v": cut_to_bf16(x.v)}))
bug(2, "values_in_tf32", inputs=stage(lambda x: {"v": to(x.v, "tf32")}))
bug(2, "keys_in_e4m3", inputs=stage(lambda x: {"k": to(x.k, "e4m3")}))
bug(2, "values_in_e4m3", inputs=stage(lambda x: {"v": to(x.v, "e4m3")}))
bug(2, "values_in_e5m2", inputs=stage(lambda x: {"v": to(x.v, "e5m2")}))
bug(2, "p_factor_448_in_output", weights=stage(lambda x: {"p": x.p * F32(448)}))
bug(2, "p_factor_240_in_denominator", weights=stage(lambda x: {"l": x.l * F32(240)}))
bug(2, "p_in_e4m3", weights=stage(lambda x: {"p": to(x.p, "e4m3")}))
bug(2, "p_in_e5m2", weights=stage(lambda x: {"p": to(x.p, "e5m2")}))
bug(2, "p_cut_to_bf16", weights=stage(lambda x: {"p": cut_to_bf16(x.p)}))
bug(2, "p_rounded_up", weights=stage(
    lambda x: {"p": np.where(x.p > 0, x.p * F32(1 + 2.0 ** -7), x.p)}))
bug(2, "output_cut_to_7_bits", outputs=stage(
    lambda x: {"o": (np.ascontiguousarray(x.o).view(np.uint32) & np.uint32(0xFFFE0000)).view(F32)}))
bug(2, "output_through_e4m3", outputs=stage(lambda x: {"o": to(x.o, "e4m3")}))


def skipped(x, below, size, of_output_alone):
    p, total = x.p.copy(), x.l.copy()
    for tile in tiles(x, size):
        part = p[:, :, tile]
        small = part.max(-1, initial=0) < below
        if not of_output_alone:
            total -= np.where(small, part.sum(-1), 0)
        p[:, :, tile] = np.where(small[..., None], 0, part)
    return {"p": p, "l": total.astype(F32)}


bug(2, "tiles_below_a_quarter_skipped", weights=stage(lambda x: skipped(x, 0.25, 8, False)))
bug(2, "tiles_skipped_in_output_alone", weights=stage(lambda x: skipped(x, 0.25, 8, True)))
bug(2, "keys_below_a_tenth_skipped", weights=stage(lambda x: skipped(x, 0.1, 1, False)))
bug(2, "alibi_distance_in_e4m3", logits=stage(lambda x: {} if x.case.alibi_slopes is None else {
    "s": x.s + slopes(x) * (distance(x) - to(np.minimum(distance(x), 448), "e4m3"))[None]}))
bug(2, "alibi_slopes_halved", logits=stage(lambda x: {} if x.case.alibi_slopes is None else {
    "s": x.s + slopes(x) / 2 * distance(x)[None]}))


def capped(x, function):
    if not x.case.softcap:
        return {}
    cap = F32(x.case.softcap)
    q = x.q.transpose(1, 0, 2)
    s = np.matmul(q, x.k[:, x.key_head].transpose(1, 2, 0)) * F32(x.scale)
    bias = 0 if x.case.alibi_slopes is None else slopes(x) * distance(x)[None]
    return {"s": (cap * function(s / cap) - bias).astype(F32)}


bug(2, "tanh_clipped", logits=stage(lambda x: capped(x, lambda y: np.clip(y, -1, 1))))
bug(2, "tanh_by_quotient", logits=stage(
    lambda x: capped(x, lambda y: np.clip(y * (27 + y * y) / (27 + 9 * y * y), -1, 1))))
bug(2, "softcap_doubled", logits=stage(lambda x: capped(x, lambda y: 2 * np.tanh(y / 2))))
bug(2, "sink_in_base_2", weights=stage(lambda x: {} if x.case.sinks is None else {
    "l": x.l + (np.exp2(x.case.sinks[:, None] - x.m) - np.exp(x.case.sinks[:, None] - x.m))
    .astype(F32)}))
bug(2, "sink_counted_twice", weights=stage(lambda x: {} if x.case.sinks is None else {
    "l": x.l + np.exp(x.case.sinks[:, None] - x.m).astype(F32)}))
bug(2, "sink_of_first_head", weights=stage(lambda x: {} if x.case.sinks is None else {
    "l": x.l + (np.exp(x.case.sinks[:1, None] - x.m) - np.exp(x.case.sinks[:, None] - x.m))
    .astype(F32)}))

# ---- 3. What suites have to reach ----

bug(3, "page_size_as_power_of_two", inputs=stage(
    lambda x: {} if not hasattr(x.case, "page_size") or not x.case.page_size
    or x.case.page_size & (x.case.page_size - 1) == 0
    else {"k": np.roll(x.k, 1, 0)}))
bug(3, "page_of_32_loses_last_key", inputs=stage(
    lambda x: {} if getattr(x.case, "page_size", 0) != 32
    else {"seen": edited(x.seen, (slice(None), slice(-1, None)), False)}))
bug(3, "mask_words_rounded_down", inputs=stage(
    lambda x: {} if x.case.mask != "custom"
    else {"seen": edited(x.seen, (slice(None), slice(x.keys // 32 * 32, None)), False)}))
bug(3, "mask_bits_beyond_1024_set", inputs=stage(
    lambda x: {} if x.case.mask != "custom"
    else {"seen": edited(x.seen, (slice(None), slice(1024, None)), True)}))
bug(3, "alibi_distance_at_most_64", logits=stage(lambda x: {} if x.case.alibi_slopes is None else {
    "s": x.s + slopes(x) * (distance(x) - np.minimum(distance(x), 64))[None]}))
bug(3, "alibi_distance_at_most_2048", logits=stage(
    lambda x: {} if x.case.alibi_slopes is None else {
        "s": x.s + slopes(x) * (distance(x) - np.minimum(distance(x), 2048))[None]}))
bug(3, "window_by_longest_sample", samples=for_all(lambda all_: [
    {} if x.case.window_left < 0 or x.case.mask == "custom" else
    {"seen": x.seen & (columns(x) >= np.arange(x.rows)[:, None] + max(y.keys for y in all_)
                       - x.rows - x.case.window_left)} for x in all_]))
bug(3, "window_shorter_by_one", inputs=stage(lambda x: {} if x.case.window_left < 1 else {
    "seen": x.seen & (columns(x) > diagonal(x) - x.case.window_left)}))
bug(3, "window_right_ignored", inputs=stage(
    lambda x: {} if x.case.window_right < 0 or x.case.mask != "none" else {
        "seen": x.seen | (columns(x) > diagonal(x))}))
bug(3, "lengths_of_first_sample", samples=for_all(lambda all_: [
    {"seen": x.seen & (columns(x) < max(1, all_[0].keys))} for x in all_]))
bug(3, "head_dim_96_as_64", inputs=stage(
    lambda x: {} if x.q.shape[-1] != 96 else {"q": edited(x.q, (..., slice(64, None)), 0)}))
bug(3, "head_dim_128_second_half_ignored", inputs=stage(
    lambda x: {} if x.q.shape[-1] != 128 else {"q": edited(x.q, (..., slice(64, None)), 0)}))
bug(3, "head_dim_128_values_halved", outputs=stage(
    lambda x: {} if x.o.shape[-1] != 128 else {"o": edited(x.o, (..., slice(64, None)), 0)}))
bug(3, "small_outputs_flushed", outputs=stage(
    lambda x: {"o": np.where(np.abs(x.o) < SMALLEST_NORMAL_FP16, F32(0), x.o)}))
bug(3, "small_values_flushed", inputs=stage(
    lambda x: {"v": np.where(np.abs(x.v) < SMALLEST_NORMAL_FP16, F32(0), x.v)}))
bug(3, "keys_past_multiple_of_16_lost", inputs=stage(
    lambda x: {} if x.keys < 16 else {
        "seen": edited(x.seen, (slice(None), slice(x.keys // 16 * 16, None)), False)}))
bug(3, "single_key_tail_lost", inputs=stage(lambda x: {} if x.keys % 64 != 1 else {
    "seen": edited(x.seen, (slice(None), slice(-1, None)), False)}))
bug(3, "decode_as_prefill_of_batch", samples=for_all(lambda all_: [
    {} if x.rows != 1 or max(y.rows for y in all_) == 1 else
    {"seen": x.seen & (columns(x) < x.keys - 1)} for x in all_]))
bug(3, "groups_above_16_cut", inputs=stage(
    lambda x: {} if len(x.key_head) // x.k.shape[1] <= 16 else {
        "key_head": np.arange(len(x.key_head)) // 16 * 16 // (len(x.key_head) // x.k.shape[1])}))
bug(3, "padded_keys_beyond_1024_lost", inputs=stage(
    lambda x: {} if not x.case.is_padded or x.case.batch == 1 else {
        "seen": edited(x.seen, (slice(None), slice(1024, None)), False)}))
bug(3, "decode_beside_prefill_cut_at_512", samples=for_all(lambda all_: [
    {} if x.rows != 1 or max(y.rows for y in all_) < 9 else
    {"seen": edited(x.seen, (slice(None), slice(512, None)), False)} for x in all_]))
bug(3, "last_tile_of_sixteen_heads_lost", inputs=stage(
    lambda x: {} if len(x.key_head) // x.k.shape[1] != 16 or x.keys % 256 < 241 else {
        "seen": edited(x.seen, (slice(None), slice(x.keys // 16 * 16, None)), False)}))


def pages_modulo(divisor):
    return stage(lambda x: {} if not x.case.is_paged or x.keys == 0
                 or x.case.dtype_kv in ("e4m3", "e5m2")
                 else by_pages(x, lambda t, n: t % divisor))


bug(3, "pages_modulo_4", inputs=pages_modulo(4))
bug(3, "pages_modulo_32768", inputs=pages_modulo(32768))

# ---- 4. Wrong in a way whose cause has a name ----

bug(4, "second_half_of_rows_zero", outputs=stage(
    lambda x: {"o": edited(x.o, slice(x.rows // 2, None), 0)}))
bug(4, "samples_repeat_first", results=for_all(lambda all_: [
    {"o": all_[0].o if x.o.shape == all_[0].o.shape else x.o} for x in all_]))
bug(4, "last_head_zero", outputs=stage(lambda x: {"o": edited(x.o, (slice(None), -1), 0)}))
bug(4, "second_head_negated", outputs=stage(
    lambda x: {} if x.o.shape[1] < 2 else {"o": edited(x.o, (slice(None), 1), -x.o[:, 1])}))
bug(4, "dropout_of_2_percent", weights=stage(lambda x: {
    "p": x.p * (np.random.default_rng(3).random(x.p.shape) < 0.98) / F32(0.98)}))
bug(4, "lse_times_scale", outputs=stage(
    lambda x: {"lse": np.where(np.isfinite(x.lse), x.lse * F32(x.scale), x.lse)}))
bug(4, "lse_in_fp16", outputs=stage(lambda x: {"lse": to(x.lse, "fp16")}))
bug(4, "lse_of_next_head", outputs=stage(lambda x: {"lse": np.roll(x.lse, 1, 1)}))
bug(4, "columns_late_by_one", outputs=stage(lambda x: {"o": np.roll(x.o, 1, -1)}))
bug(4, "last_tile_counted_twice", weights=stage(lambda x: {
    "l": x.l + x.p[:, :, x.keys // 32 * 32:].sum(-1)}))
bug(4, "first_key_lost", inputs=stage(
    lambda x: {"seen": edited(x.seen, (slice(None), slice(0, 1)), False)}))
bug(4, "diagonal_hidden", inputs=stage(
    lambda x: {} if not x.case.mask.startswith("causal") else {
        "seen": x.seen & (columns(x) < diagonal(x)
                          if x.case.mask == "causal_bottom_right"
                          else columns(x) < np.arange(x.rows)[:, None])}))
bug(4, "next_key_seen", inputs=stage(
    lambda x: {} if not x.case.mask.startswith("causal") else {
        "seen": x.seen | (columns(x) == (diagonal(x) if x.case.mask == "causal_bottom_right"
                                         else np.arange(x.rows)[:, None]) + 1)}))
bug(4, "queries_repeat_after_16", inputs=stage(
    lambda x: {} if x.rows <= 16 else {"q": x.q[np.arange(x.rows) % 16]}))
bug(4, "heads_averaged", outputs=stage(
    lambda x: {"o": np.repeat(x.o.mean(1, keepdims=True), x.o.shape[1], 1).astype(F32)}))
bug(4, "denominator_of_next_row", weights=stage(lambda x: {"l": np.roll(x.l, 1, -1)}))
bug(4, "values_of_first_head", inputs=stage(lambda x: {"value_head": x.value_head * 0}))

# ---- 5. State that a call leaves for later ones ----


def is_first_run(states_of_samples):
    """Counts the runs of a plan; True for its first."""
    case = states_of_samples[0].case
    case.runs = getattr(case, "runs", 0) + 1
    return case.runs == 1


def from_second_run(function):
    """A stage of all samples that changes them from the second run of a plan on."""
    def changes(all_):
        is_first = is_first_run(all_)
        return [{} if is_first else function(x) for x in all_]
    return for_all(changes)


def of_first_call(key, function):
    """A stage that keeps what the process's first call with a key computed."""
    kept = {}
    return stage(lambda x: kept.setdefault(key(x), function(x)))


bug(5, "state_second_run_nan", results=from_second_run(
    lambda x: {"o": edited(x.o, (slice(0, 1), 0), np.nan)}))
bug(5, "state_second_run_loses_tile", samples=from_second_run(
    lambda x: {"seen": edited(x.seen, (slice(None), slice(x.keys - x.keys // 4, None)), False)}))
bug(5, "state_denominator_not_reset", results=from_second_run(
    lambda x: {"o": x.o / 2, "lse": x.lse + F32(np.log(2))}))
bug(5, "state_output_added_to_last", results=from_second_run(lambda x: {"o": 2 * x.o}))


def loses_key_if_planned_before():
    planned_before = set()

    def changes(all_):
        shape = tuple((x.rows, x.keys, *x.q.shape[1:], x.k.shape[1]) for x in all_)
        if is_first_run(all_):
            all_[0].case.is_known = shape in planned_before
            planned_before.add(shape)
        return [{"seen": edited(x.seen, (slice(None), slice(-1, None)), False)}
                if x.case.is_known else {} for x in all_]
    return for_all(changes)


def limited_to_lengths_of_last_plan():
    plans = [[]]

    def changes(all_):
        if is_first_run(all_):
            plans.append([x.keys for x in all_])
        last = dict(enumerate(plans[-2]))
        return [{"seen": x.seen & (columns(x) < last.get(x.sample, x.keys))} for x in all_]
    return for_all(changes)


def group_of_first_call():
    kept = {}

    def change(x):
        heads, heads_kv = len(x.key_head), x.k.shape[1]
        group = kept.setdefault("group", heads // heads_kv)
        return {"key_head": np.minimum(np.arange(heads) // group, heads_kv - 1)}
    return change


def split_of_earlier_call():
    kept = {}

    def change(x):
        first, second = states(x, 2)
        key = (x.sample, x.keys, *x.o.shape)
        earlier = kept.get(key, second)
        kept[key] = second
        return merged([first, earlier], usual)
    return change


bug(5, "state_plan_of_known_shape", samples=loses_key_if_planned_before())
bug(5, "state_lengths_of_last_plan", samples=limited_to_lengths_of_last_plan())
bug(5, "state_scale_of_first_call", inputs=of_first_call(
    lambda x: 0, lambda x: {"scale": x.scale}))
bug(5, "state_mask_of_first_call", inputs=of_first_call(
    lambda x: x.seen.shape, lambda x: {"seen": x.seen}))
bug(5, "state_group_of_first_call", inputs=stage(group_of_first_call()))
bug(5, "state_split_of_earlier_call", outputs=without_sinks(split_of_earlier_call()))
