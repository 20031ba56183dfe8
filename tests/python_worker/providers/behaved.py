"""Kernels that behave, in NumPy, PyTorch and JAX.
Options: `scale=X` multiplies the softmax scale; version() returns X of `version=X`."""
import os
import time

import ml_dtypes  # noqa: F401, bf16 in NumPy: without it the tests skip
import numpy as np

from plumbline.kernels import Spec, Unsupported, kernel, options

options("scale", "more")

ALL_LAYOUTS = ("padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd")
ALL_MASKS = ("none", "causal_top_left", "causal_bottom_right", "custom")
FP32_SPEC = Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma")


def version():
    return "1.2 (tests)"


def option(case, name, default):
    options = dict(item.split("=", 1) for item in case.options.split(",") if item)
    return float(options.get(name, default))


def attend(q, k, v, visible, scale, softcap=0, slopes=None, sinks=None):
    """q [rows, heads, d], k, v [keys, heads, d] in fp32, visible [rows, keys]. Returns out [rows,
    heads, d] and lse [rows, heads]."""
    s = np.einsum("qhd,khd->qhk", q, k) * np.float32(scale)
    if softcap:
        s = np.float32(softcap) * np.tanh(s / np.float32(softcap))
    if slopes is not None:
        rows, keys = visible.shape
        s = (s - slopes[:, None]
             * np.abs(np.arange(rows)[:, None] + keys - rows - np.arange(keys))[:, None, :])
    s = np.where(visible[:, None, :], s, -np.inf)
    if sinks is not None:
        s = np.concatenate((s, np.broadcast_to(sinks[:, None], (*s.shape[:2], 1))), axis=-1)
        v = np.concatenate((v, np.zeros_like(v, shape=(1, *v.shape[1:]))))
    some = np.broadcast_to(visible.any(axis=-1)[:, None] | (sinks is not None), s.shape[:2])
    top = np.where(some, s.max(axis=-1, initial=-np.inf), 0)
    p = np.exp(s - top[..., None])
    total = p.sum(axis=-1)
    safe = np.where(some, total, 1)
    out = np.einsum("qhk,khd->qhd", p, v) / safe[..., None]
    return out, np.where(some, top + np.log(safe), -np.inf)


@kernel(name="attention", layouts=ALL_LAYOUTS, masks=ALL_MASKS, lse=True, window=True, softcap=True,
        alibi=True, sinks=True, dtypes=("fp32", "fp16", "bf16", "e4m3", "e5m2"),
        kv_dtypes=("fp32", "fp16", "bf16", "e4m3", "e5m2"),
        out_dtypes=("fp32", "fp16", "bf16", "e4m3", "e5m2"),
        token_scales=True, spec=FP32_SPEC,
        padding_policy="untouched", promises={"run_to_run": "bitwise", "batch": "rounding"})
def attention(case):
    group = case.heads_q // case.heads_kv
    scale = case.scale * option(case, "scale", 1)
    samples = []
    for b in range(case.batch):
        q, k, v = (np.asarray(x, np.float32) * scale[:, :, None]
                   for x, scale in zip(case.sample(b), case.scales(b)))
        samples.append((case.query_rows(b), q, k.repeat(group, 1), v.repeat(group, 1),
                        case.visible_of(b)))

    def run():
        out, lse = case.new_out(), case.new_lse()
        for rows, q, k, v, visible in samples:
            o, row_lse = attend(q, k, v, visible, scale, case.softcap, case.alibi_slopes,
                                case.sinks)
            out[rows] = (o if case.out_scale is None else o / case.out_scale).astype(out.dtype)
            lse[rows] = row_lse
        return (out, lse) if case.lse_wanted else out
    return run


@kernel(name="zeros", layouts=ALL_LAYOUTS, padding_policy="zeros")
def padded_at_once(case):
    """Computes all samples at once, by the masks of padded layouts; padded query rows become zeros.
    Returns no LSE."""
    if not case.is_padded:
        raise Unsupported(f"layout {case.layout} has no padding")
    group = case.heads_q // case.heads_kv
    valid = case.key_padding_mask()
    keys_of_padding = np.where(valid[:, :, None, None], 1, 0)
    q = np.asarray(case.q, np.float32)
    k, v = ((np.nan_to_num(np.asarray(x, np.float32)) * keys_of_padding).repeat(group, 2)
            for x in (case.k, case.v))
    out = case.new_out()
    out[...] = 0
    for b in range(case.batch):
        rows = case.query_rows(b)[1]
        o, _ = attend(q[b][rows], k[b], v[b], case.visible()[b][rows], case.scale)
        out[b, rows] = o.astype(out.dtype)
    return out


@kernel(name="torch", framework="torch", layouts=ALL_LAYOUTS, masks=ALL_MASKS, lse=True,
        window=True, padding_policy="untouched",
        spec=lambda case: Spec(p_dtype="fp32" if case.dtype == "fp32" else "input"))
def in_torch(case):
    import torch
    case.launched = f"torch, {case.q.dtype}, {case.q.device}"
    group = case.heads_q // case.heads_kv

    def run():
        out, lse = case.new_out(), case.new_lse()
        for b in range(case.batch):
            q, k, v = (x.float() for x in case.sample(b))
            k, v = (x.repeat_interleave(group, 1) for x in (k, v))
            visible = torch.from_numpy(case.visible_of(b)).to(q.device)
            s = (torch.einsum("qhd,khd->qhk", q, k)
                 * case.scale).masked_fill(~visible[:, None, :], -torch.inf)
            total = torch.logsumexp(s, -1)
            out[case.query_rows(b)] = torch.einsum("qhk,khd->qhd",
                                                   torch.exp(s - total[..., None]).nan_to_num(),
                                                   v).to(out.dtype)
            lse[case.query_rows(b)] = total
        return (out, lse) if case.lse_wanted else out
    return run


@kernel(name="jax", framework="jax", layouts=ALL_LAYOUTS, lse=True, padding_policy="zeros")
def in_jax(case):
    import jax.numpy as jnp
    group = case.heads_q // case.heads_kv

    def run():
        out, lse = (jnp.nan_to_num(x) for x in (case.new_out(), case.new_lse()))
        for b in range(case.batch):
            q, k, v = (x.astype(jnp.float32) for x in case.sample(b))
            s = jnp.einsum("qhd,khd->qhk", q, jnp.repeat(k, group, 1)) * case.scale
            total = jnp.log(jnp.exp(s).sum(-1))
            o = jnp.einsum("qhk,khd->qhd", jnp.exp(s - total[..., None]), jnp.repeat(v, group, 1))
            out, lse = (out.at[case.query_rows(b)].set(o.astype(out.dtype)),
                        lse.at[case.query_rows(b)].set(total))
        return (out, lse) if case.lse_wanted else out
    return run


@kernel(name="mixed", dtypes="bf16", kv_dtypes=("fp16", "fp32"))
@kernel(name="narrow", dtypes="bf16", masks="causal_bottom_right", layouts="padded_bshd")
def narrow(case):
    raise Unsupported("head_dim 64 is not supported; use 128")


@kernel(name="where_am_i", dtypes=("fp32", "fp16", "bf16", "e4m3", "e5m2"),
        out_dtypes=("fp32", "fp16", "bf16"))
def where_am_i(case):
    import sys
    case.launched = (
        f"{sys.executable} in process {os.getpid()}, options {case.options!r}, on {case.device}")
    return lambda: case.new_out()


def states(name, **spec):
    """Declares a kernel that computes nothing, for tests that read its spec."""
    kernel(name=name, dtypes=("fp32", "fp16", "bf16", "e4m3", "e5m2"),
           out_dtypes=("fp32", "fp16", "bf16"), spec=Spec(**spec))(lambda case: case.new_out)


states("p_in_fp16", p_dtype="fp16")
states("p_in_e4m3", p_dtype="e4m3")
states("p_times_448", p_prescale=448, p_dtype="e4m3")
states("steps", s_rounded="input", s_rounded_twice=True, q_prescaled="input",
       q_prescaled_without_log2e=True)
states("flag_alone", s_rounded_twice=True)


def work(case, units):
    a = np.ones((96, 96), np.float32)

    def run():
        for _ in range(units):
            a @ a
        return case.new_out()
    return run


@kernel(name="work_20")
def work_20(case):
    return work(case, 20)


@kernel(name="work_40")
def work_40(case):
    return work(case, 40)


@kernel(name="sleeps")
def sleeps(case):
    def run():
        time.sleep(0.02)
        return case.new_out()
    return run


@kernel(name="takes_64_mib")
def takes_64_mib(case):
    def run():
        np.ones(64 << 17)
        return case.new_out()
    return run


@kernel(name="merge", question="merge", layouts=("padded_bshd", "padded_bhsd", "ragged"), lse=True)
def merge(case):
    """Merges states of parts, in fp32; parts without keys are not read."""
    base_2 = case.merge_lse_base == "2"
    power, log = (np.exp2, np.log2) if base_2 else (np.exp, np.log)

    def run():
        out, lse = case.new_out(), case.new_lse()
        for b in range(case.batch):
            lses = case.partial_lse[case.key_rows(b)]
            parts = case.partial_out[case.key_rows(b)].astype(np.float32)
            m = lses.max(axis=0, initial=-np.inf)
            weights = power(lses - np.where(np.isinf(m), 0, m))
            total = weights.sum(axis=0)
            safe = np.where(total > 0, total, 1)
            o = (weights[..., None] * np.where(weights[..., None] > 0, parts, 0)).sum(axis=0)
            out[case.query_rows(b)] = (o / safe[..., None]).astype(out.dtype)
            lse[case.query_rows(b)] = np.where(total > 0, m + log(safe), -np.inf)
        return (out, lse) if case.lse_wanted else out
    return run
