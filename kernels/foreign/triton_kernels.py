"""Triton kernels of vLLM and SGLang on the emulator, from their published source, unchanged.

    python3 ci/triton_sources.py                       # once: fetches the pinned sources
    plumbline run … --provider triton:arch=sm_90       # sm_80 without the option

Options: arch, schedule and seed of plumbline.triton.emulate, and raw (foreign_case.py). The host
functions are also theirs (unified_attention, context_attention_fwd, extend_attention_fwd). Stubs
replace their imports other than Triton and PyTorch, and return what the originals return on an
NVIDIA GPU.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import importlib
import os
import pathlib
import sys
import types

import torch

import foreign_case as foreign
from plumbline.kernels import Spec, Unsupported, kernel, options

PROVIDER = "triton"
OPTIONS = {"arch": str, "schedule": str, "seed": int}  # arguments of emulate
options(*OPTIONS)
VLLM, SGLANG = "vllm 0.33.0", "sglang 0.5.23"
ACCUMULATOR = "fp32/toward_zero/24/8"  # for sm_80; sm_90 and sm_100 lose fewer bits
ONLINE = Spec(p_dtype="input", qk_accumulator=ACCUMULATOR, pv_accumulator=ACCUMULATOR)
NORMALIZED = Spec(p_dtype="input", p_normalized=True, qk_accumulator=ACCUMULATOR,
                  pv_accumulator=ACCUMULATOR)
COMMON = {"dtypes": ("fp16", "bf16"), "framework": "torch", "devices": "cpu", "tensor_cores": "on",
          "promises": {"run_to_run": "bitwise"}}


def version() -> str:
    return f"{VLLM}, {SGLANG}, {foreign.versions('triton', 'torch')}"


def options_of(case) -> dict:
    """Returns options such as "arch=sm_90,schedule=random,seed=3" as arguments of emulate."""
    given = (option.partition("=") for option in case.options.split(","))
    return {name: OPTIONS[name](value) for name, _, value in given if name in OPTIONS}


def emulated(case):
    """Makes Triton launch on the emulator for the rest of the process, which has one provider."""
    try:
        import plumbline.triton
    except ImportError as error:
        raise Unsupported(f"not measured: the Python package of plumbline cannot be imported: "
                          f"{error}") from None
    try:
        emulation = plumbline.triton.emulate(**options_of(case))
    except ImportError as error:
        raise Unsupported(f"not measured: {str(error).splitlines()[0]}") from None
    case.launched = f"emulated {emulation.arch}"
    return emulation


def order_threads(case, emulation) -> None:
    """Sets the thread order of this call, unless the options set a schedule."""
    if "schedule" not in options_of(case):
        emulation.schedule = "reversed" if case.threads_reversed else "in_order"


def folder_of(package: str) -> pathlib.Path:
    """Returns the folder of a package from ci/triton_sources.py, such as "vllm 0.33.0"."""
    folder = os.environ.get("PLUMBLINE_TRITON_SOURCES")
    root = (pathlib.Path(folder) if folder else
            pathlib.Path.home() / ".cache" / "plumbline" / "triton_sources")
    found = root / package.replace(" ", "-")
    foreign.refuse_if(not found.is_dir(), f"not measured: there is no source of {package}: "
                      "ci/triton_sources.py fetches it")
    return found


class KVQuantMode(enum.IntEnum):
    """The modes of vllm.v1.kv_cache_interface that the kernel reads."""

    NONE = 0
    FP8_PER_TENSOR = 1
    INT8_PER_TOKEN_HEAD = 2
    FP8_PER_TOKEN_HEAD = 3
    INT4_PER_TOKEN_HEAD = 4


@contextlib.contextmanager
def stand_ins(folder: pathlib.Path, package: str, answers: dict):
    """Replaces modules while files of `package`, such as "vllm.v1.attention.ops", are loaded. Its
    parents are empty modules. Other modules that it imports have the contents `answers[name]`."""
    before = dict(sys.modules)
    for name in (package, *answers):
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            path = ".".join(parts[:end])
            module = types.ModuleType(path)
            module.__path__ = []
            sys.modules.setdefault(path, module)
    sys.modules[package].__path__ = [str(folder.joinpath(*package.split(".")))]
    for name, contents in answers.items():
        vars(sys.modules[name]).update(contents)
    try:
        yield
    finally:
        for name in set(sys.modules) - set(before):
            if name.split(".")[0] == package.split(".")[0]:
                del sys.modules[name]


@functools.lru_cache(maxsize=None)
def vllm_unified_attention():
    import triton
    import triton.language

    platform = types.SimpleNamespace(fp8_dtype=lambda: torch.float8_e4m3fn,
                                     is_device_capability_family=lambda family: False)
    package = "vllm.v1.attention.ops"
    with stand_ins(folder_of(VLLM), package, {
            "vllm.envs": {"VLLM_BATCH_INVARIANT": False},
            "vllm.logger": {"init_logger": lambda name: None},
            "vllm.platforms": {"current_platform": platform},
            "vllm.triton_utils": {"triton": triton, "tl": triton.language},
            "vllm.v1.kv_cache_interface": {"KVQuantMode": KVQuantMode}}):
        return importlib.import_module(f"{package}.triton_unified_attention").unified_attention


@functools.lru_cache(maxsize=None)
def sglang_function(module: str, function: str, capability: tuple):
    """Returns a host function, which chooses tiles by `capability`, such as (9, 0)."""
    package = "sglang.kernels.ops.attention"
    answers = {"is_cuda": lambda: True, "get_device_core_count": None}  # the second is never called
    for name in ("is_hip", "is_gfx95_supported", "is_gfx1250_supported"):
        answers[name] = lambda: False
    asked = torch.cuda.get_device_capability
    torch.cuda.get_device_capability = lambda device=None: capability
    try:
        with stand_ins(folder_of(SGLANG), package, {"sglang.srt.utils": answers,
                                                    "sglang.srt.environ": {"envs": None}}):
            return getattr(importlib.import_module(f"{package}.{module}"), function)
    finally:
        torch.cuda.get_device_capability = asked


def capability_of(emulation) -> tuple:
    return divmod(int(emulation.arch[3:]), 10)


def integers(array) -> torch.Tensor:
    return torch.from_numpy(array.astype("int32"))


@kernel(name="vllm_unified", layouts=("paged_nhd",), masks=("none", "causal_bottom_right"),
        window=True, spec=ONLINE, **COMMON)
def vllm_unified(case):
    """kernel_unified_attention in its prefill form (2D), with tiles of 32 keys."""
    foreign.refuse_if(case.head_dim_qk != case.head_dim_vo, "Q, K and V need one head dimension")
    foreign.refuse_empty_row(case, "a row without visible keys is 0 / 0; a cache that holds the "
                             "keys of its queries has no such row")
    foreign.refuse_if(foreign.has_window(case) and case.mask == "none",
                      "a window needs a causal mask")
    emulation = emulated(case)
    unified_attention = vllm_unified_attention()
    lengths_q, lengths_kv = integers(case.cu_seqlens_q), integers(case.seqlens_kv)
    pages = integers(case.page_table)

    def run():
        order_threads(case, emulation)
        out = case.new_out()
        unified_attention(q=case.q, k=case.k, v=case.v, out=out, cu_seqlens_q=lengths_q,
                          max_seqlen_q=case.seq_q, seqused_k=lengths_kv, max_seqlen_k=case.seq_kv,
                          softmax_scale=case.scale, causal=case.mask != "none",
                          window_size=(case.window_left, 0), block_table=pages, softcap=0.0,
                          q_descale=None, k_descale=None, v_descale=None)
        return out

    return run


@kernel(name="sglang_prefill", layouts=("ragged",), masks=foreign.ALL_MASKS, spec=NORMALIZED,
        **COMMON)
def sglang_prefill(case):
    """context_attention_fwd, which divides P by the running denominator before it rounds P."""
    foreign.refuse_if(
        (case.seqlens_q != case.seqlens_kv).any() or case.head_dim_qk != case.head_dim_vo,
        "needs as many keys as queries, and one head dimension")
    emulation = emulated(case)
    context_attention = sglang_function("prefill_attention", "context_attention_fwd",
                                        capability_of(emulation))
    starts, lengths = integers(case.cu_seqlens_q[:-1]), integers(case.seqlens_q)

    def run():
        order_threads(case, emulation)
        out = case.new_out()
        context_attention(case.q, case.k, case.v, out, starts, lengths, case.seq_q,
                          is_causal=case.mask != "none", sm_scale=case.scale)
        return out

    return run


@kernel(name="sglang_extend", layouts=("ragged",), masks=("causal_bottom_right",), lse=True,
        spec=ONLINE, **COMMON)
def sglang_extend(case):
    """extend_attention_fwd: the last keys of a sample belong to its queries. The others are in a
    cache, at rows given by an index, here from last to first."""
    foreign.refuse_if((case.seqlens_q > case.seqlens_kv).any(),
                      "needs at least as many keys as queries")
    emulation = emulated(case)
    extend_attention = sglang_function("extend_attention", "extend_attention_fwd",
                                       capability_of(emulation))
    prefix, extended = [], []
    for sample in range(case.batch):
        begin, end = (int(case.cu_seqlens_kv[sample + i]) for i in (0, 1))
        middle = end - int(case.seqlens_q[sample])
        prefix += range(begin, middle)
        extended += range(middle, end)
    last = case.total_kv - 1
    k_cache, v_cache = case.k.flip(0), case.v.flip(0)
    indices = torch.tensor([last - at for at in prefix] or [0], dtype=torch.int64)
    k_new, v_new = case.k[extended].contiguous(), case.v[extended].contiguous()
    starts = torch.zeros(case.batch + 1, dtype=torch.int32)
    starts[1:] = torch.cumsum(integers(case.seqlens_kv - case.seqlens_q), 0)

    def run():
        order_threads(case, emulation)
        out = case.new_out()
        lse = case.new_lse() if case.lse_wanted else None
        extend_attention(case.q, k_new, v_new, out, k_cache, v_cache, integers(case.cu_seqlens_q),
                         starts, indices, None, True, None, case.seq_q, 1.0, 1.0,
                         sm_scale=case.scale, lse_extend=lse)
        return (out, lse) if case.lse_wanted else out

    return run
