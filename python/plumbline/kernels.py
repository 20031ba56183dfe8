"""Declares a Python function as an attention kernel: `plumbline run … --provider my_kernels.py`.

    from plumbline.kernels import Spec, Unsupported, kernel

    @kernel(dtypes=("fp16", "bf16"), layouts=("padded_bshd",), framework="torch",
            spec=Spec(p_dtype="input"))
    def flash(case):
        # [batch, seq, heads, head_dim], views of the harness's own memory
        q, k, v = case.q, case.k, case.v
        ...                                  # prepare: not timed
        def run():
            return out                       # or (out, lse); timed
        return run

docs/plug-in-your-kernel.md explains each declaration, plumbline_provider.h has the shapes, and
_plumbline_worker/case.py the members of a case.
"""
from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
import re
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

# Names of plumbline_dtype, by number.
DTYPES = ("none", "fp32", "fp16", "bf16", "e4m3", "e5m2", "tf32", "fp64", "int32")
# Dtypes of Q, K, V and the output, with their names in NumPy (with ml_dtypes) and PyTorch.
TENSOR_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn",
                 "e5m2": "float8_e5m2"}
LAYOUTS = ("padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd")
# custom: case.mask_bits has the mask
MASKS = ("none", "causal_top_left", "causal_bottom_right", "custom")
FRAMEWORKS = ("numpy", "torch", "jax")
DEVICE_KINDS = ("cpu", "cuda")
PADDING_POLICIES = ("zeros", "untouched", "attended", "anything")
PROMISES = ("run_to_run", "batch", "layout", "page", "split", "prefill_decode", "lse")
PROMISE_LEVELS = ("none", "rounding", "bitwise")
TENSOR_CORES = ("on", "off", "none")
# attention, or a merge of states of parts
QUESTIONS = ("attention", "merge")

P_MAXIMA = ("running", "one", "ceil2", "bf16", "free")
SPEC_DTYPES = ("input", "output", *TENSOR_DTYPES, "tf32")
ACCUMULATOR_TEXT = re.compile(r"(fp32|fp16)/(nearest|toward_zero)/(\d+)/(\d+)")


class Unsupported(Exception):
    """Raised by a kernel for a valid problem that it does not support. The text gives the reason,
    for users."""


# Other names of dtypes, in NumPy and PyTorch, and of cuda.
_SPELLINGS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "half": "fp16",
              "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "gpu": "cuda"}


def _meant(word: str, allowed: Iterable[str]) -> str:
    """Returns "did you mean dtypes? ", or "" if nothing is similar."""
    allowed = list(allowed)
    spelled = _SPELLINGS.get(word)
    near = [spelled] if spelled in allowed else difflib.get_close_matches(word, allowed, 1, 0.5)
    return f"did you mean {near[0]}? " if near else ""


def _one_of(what: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        word = str(value).replace("torch.", "")
        raise ValueError(f"{what}: {value!r} is not one of {', '.join(allowed)}"
                         + f"; {_meant(word, allowed)}".rstrip("; "))


def _require_known(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise TypeError(f"{function} has no argument {name!r}; {_meant(name, known)}"
                            f"The arguments are {', '.join(known)}")


def _accumulator(what: str, value: object) -> None:
    if isinstance(value, Mapping):
        if set(value) != {"dtype", "toward_zero", "fraction_bits", "products_per_step"}:
            raise ValueError(
                f"{what}: a table needs exactly dtype, toward_zero, fraction_bits and "
                "products_per_step")
        _one_of(f"{what}.dtype", value["dtype"], ("fp32", "fp16"))
    elif (value not in ("fma", "tensor_core")
          and not (isinstance(value, str) and ACCUMULATOR_TEXT.fullmatch(value))):
        raise ValueError(
            f'{what}: {value!r} is none of "fma", "tensor_core", "fp32/toward_zero/24/8", '
            f'or a table')


@dataclasses.dataclass(frozen=True)
class Spec:
    """The roundings of a kernel, with the field names of baselines/contracts.toml. None: as in the
    strict default (docs/judging-formulas.md, "Rounding spec")."""

    # dtype to which P = exp(S - max) is rounded before P V: "input", "output", "fp32", …
    p_dtype: Optional[str] = None
    # factor that multiplies P before that rounding; None: 256 for a P in e4m3, otherwise 1
    p_prescale: Optional[float] = None
    p_normalized: Optional[bool] = None  # P / l is rounded instead of P
    # max in exp(S - max): "running" (may lag, or begin at the sink), "one" (does neither, so the
    # largest P is 1), "ceil2" (max * log2(e) is rounded up to an integer), "bf16" (max is rounded
    # to bf16), "free" (any number)
    p_max: Optional[str] = None
    p_toward_zero: Optional[bool] = None  # P is truncated to p_dtype
    p_stochastic: Optional[bool] = None  # P is rounded up or down at random, without bias
    denominator_from_rounded_p: Optional[bool] = None
    s_rounded: Optional[str] = None  # dtype S is rounded to; "none"
    s_rounded_twice: Optional[bool] = None  # also before the scale
    # S is rounded after softcap, before ALiBi and a bias
    s_rounded_before_bias: Optional[bool] = None
    s_rounded_before_softcap: Optional[bool] = None  # S is rounded before softcap, ALiBi and a bias
    q_prescaled: Optional[str] = None  # dtype Q * scale * log2(e) is rounded to; "none"
    q_prescaled_without_log2e: Optional[bool] = None  # Q * scale instead of Q * scale * log2(e)
    split_partial_dtype: Optional[str] = None
    o_between_tiles: Optional[str] = None  # dtype O is rounded to after each tile; "none"
    ring_update: Optional[bool] = None  # parts are merged by O -= w (O - O_i)
    # "fma", "tensor_core", "fp32/toward_zero/24/8" or a table
    qk_accumulator: Union[None, str, Mapping] = None
    pv_accumulator: Union[None, str, Mapping] = None
    exp2_rel_error: Optional[float] = None  # beyond 2 ulp of fp32, in [0, 1)
    tanh_rel_error: Optional[float] = None
    reciprocal_rel_error: Optional[float] = None  # for 1 / l
    product_rel_error: Optional[float] = None  # 2**-15 for three bf16 products
    skipped_below: Optional[float] = None  # tiles whose exp(S - max) are all below it are skipped
    kv_dequantized_to: Optional[str] = None
    inputs_toward_zero: Optional[bool] = None  # fp32 inputs are truncated to tf32
    out_toward_zero: Optional[bool] = None  # the output is truncated to its dtype
    out_stochastic: Optional[bool] = None  # the output is rounded up or down at random
    lse_dtype: Optional[str] = None  # dtype the LSE is rounded to; "none": fp32
    lse_base: Union[None, str, int] = None  # "e" or "2"
    lse_includes_sink: Optional[bool] = None
    # the LSE lacks the row's part of a causal ALiBi bias, as in FlashAttention-2
    lse_without_row_bias: Optional[bool] = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self._check(field.name, value)

    @staticmethod
    def _check(name: str, value: object) -> None:
        if name in ("p_dtype", "split_partial_dtype"):
            _one_of(name, value, SPEC_DTYPES)
        elif name in ("s_rounded", "q_prescaled", "kv_dequantized_to", "o_between_tiles",
                      "lse_dtype"):
            _one_of(name, value, ("none", *SPEC_DTYPES))
        elif name.endswith("_accumulator"):
            _accumulator(name, value)
        elif (name.endswith("_rel_error") or name == "skipped_below") and not 0 <= value < 1:
            raise ValueError(f"{name}: {value!r} is not a number in [0, 1)")
        elif name == "p_prescale" and not (value > 0 and math.isfinite(value)):
            raise ValueError(f"p_prescale: {value!r} is not a positive number")
        elif name == "lse_base":
            _one_of(name, str(value), ("e", "2"))
        elif name == "p_max":
            _one_of(name, value, P_MAXIMA)
        elif not name.endswith("_rel_error") and name not in ("p_prescale", "skipped_below") \
                and not isinstance(value, bool):
            raise ValueError(f"{name}: {value!r} is neither True nor False")


def _with_known_fields(init: Callable) -> Callable:
    @functools.wraps(init)
    def checked(self: Spec, *values: Any, **fields: Any) -> None:
        _require_known("Spec()", fields, [field.name for field in dataclasses.fields(self)])
        init(self, *values, **fields)
    return checked


setattr(Spec, "__init__", _with_known_fields(Spec.__init__))


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A declared kernel. `spec` is a Spec, or a function of the case that returns one."""

    name: str
    function: Callable
    dtypes: tuple
    kv_dtypes: Optional[tuple]
    out_dtypes: Optional[tuple]
    layouts: tuple
    masks: tuple
    framework: str
    devices: tuple
    spec: Union[Spec, Callable]
    padding_policy: str
    promises: Mapping[str, str]
    tensor_cores: str
    lse: bool
    window: bool
    softcap: bool
    alibi: bool
    sinks: bool
    token_scales: bool
    question: str = "attention"
    outputs: tuple = ()

    def __post_init__(self) -> None:
        where = f"kernel {self.name!r}"
        if not re.fullmatch(r"[A-Za-z0-9_.+-]+", self.name):
            raise ValueError(
                f"{where}: a name is part of case ids: letters, digits, '_', '.', '+' and '-'")
        dtype_lists = [(what, TENSOR_DTYPES) for what in ("dtypes", "kv_dtypes", "out_dtypes")]
        if not self.devices:
            raise ValueError(f"{where}: devices is empty; name cpu, cuda or both")
        for what, allowed in (*dtype_lists, ("layouts", LAYOUTS), ("masks", MASKS),
                              ("devices", DEVICE_KINDS)):
            for value in getattr(self, what) or ():
                _one_of(f"{where}: {what}", value, allowed)
        _one_of(f"{where}: framework", self.framework, FRAMEWORKS)
        _one_of(f"{where}: padding_policy", self.padding_policy, PADDING_POLICIES)
        _one_of(f"{where}: tensor_cores", self.tensor_cores, TENSOR_CORES)
        _one_of(f"{where}: question", self.question, QUESTIONS)
        for promise, level in self.promises.items():
            _one_of(f"{where}: promises", promise, PROMISES)
            _one_of(f"{where}: promises[{promise!r}]", level, PROMISE_LEVELS)
        if not isinstance(self.spec, Spec) and not callable(self.spec):
            raise ValueError(f"{where}: spec is neither a Spec nor a function of the case")

    def place(self) -> str:
        """Returns where the function is defined, "mine.py:12"; its repr if that is unknown."""
        code = getattr(self.function, "__code__", None)
        return (f"{code.co_filename}:{code.co_firstlineno}" if code is not None
                else repr(self.function))


# every Kernel of the process, in order; the worker clears the list before it loads a provider
declared: list = []
# options that the provider accepts; the worker also clears this list
known_options: list = []


def options(*names: str) -> None:
    """Declares the options that this file accepts after its name; kernels read them from
    case.options: `options("raw", "seed")` for `--provider mine.py:raw,seed=3`. An undeclared name
    ends the run before its first case."""
    for option in names:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", option):
            raise ValueError(f"option {option!r}: a name has letters, digits, '_', '.' and '-'")
    known_options.extend(option for option in names if option not in known_options)


def _words(value: Union[str, Sequence[str]]) -> tuple:
    return (value,) if isinstance(value, str) else tuple(value)


def _default_devices(framework: str) -> tuple:
    return ("cpu",) if framework == "numpy" else DEVICE_KINDS


def _require_one_parameter(function: Callable, where: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # for a built-in
        return
    try:
        signature.bind(None)
    except TypeError:
        raise TypeError(f"{where} has the parameters {signature}; a kernel is called with one "
                        "argument, the case, and takes case.q, case.k and case.v from it") from None


def kernel(function: Optional[Callable] = None, /, *, name: Optional[str] = None,
           dtypes: Sequence[str] = ("fp32", "fp16", "bf16"),
           kv_dtypes: Optional[Sequence[str]] = None, out_dtypes: Optional[Sequence[str]] = None,
           layouts: Sequence[str] = ("padded_bshd", "padded_bhsd"),
           masks: Sequence[str] = ("none",), framework: str = "numpy",
           devices: Union[str, Sequence[str], None] = None,
           spec: Union[Spec, Callable, None] = None, padding_policy: str = "zeros",
           promises: Optional[Mapping[str, str]] = None, tensor_cores: str = "none",
           lse: bool = False, window: bool = False, softcap: bool = False, alibi: bool = False,
           sinks: bool = False, token_scales: bool = False,
           question: str = "attention", outputs: Union[str, Sequence[str]] = (),
           **unknown: Any) -> Callable:
    """Declares the function below as a kernel: @kernel(name=…, …), or @kernel for the defaults.
    Undeclared features are refused, with the reason, before the function is called.

    name            default: the function's
    dtypes          of Q; K, V and the output have the same unless kv_dtypes or out_dtypes are set
    framework       of case.q, case.k and case.v: arrays of numpy (bf16 as ml_dtypes.bfloat16),
                    torch or jax
    devices         kinds of device, "cpu" and "cuda"; default: both if the framework is torch or
                    jax
    spec            the kernel's roundings; default: the strict spec
    padding_policy  contents of out in padded query rows: "zeros", "untouched" (as from
                    case.new_out()), "attended" or "anything"
    promises        "none", "rounding" or "bitwise" for run_to_run, batch, layout, page, split,
                    prefill_decode and lse
    lse             True: returns (out, lse) if case.lse_wanted; False: returns no LSE, and only the
                    output is judged. A row that sees no key has -inf, or the sink if the LSE
                    includes it; a padded row may contain anything, even NaN
    masks           "custom": supports any mask of bits; case.visible() and case.visible_of() decode
                    them
    kv_dtypes       "e4m3" or "e5m2": supports fp8 K and V; a value is case.k_scale or case.v_scale
                    times the stored number. For fp8 Q, add them to dtypes. Q's scale is then
                    case.q_scale, and the default of out_dtypes is bf16
    out_dtypes      "e4m3" or "e5m2": writes fp8 outputs, O / case.out_scale, saturated
    token_scales    True: supports fp8 with a scale for each token or block of tokens
    window          True: supports a sliding window; softcap, alibi and sinks in the same way
    outputs         names of outputs beyond out and lse: fp32 in the shape of the LSE. The kernel
                    then returns a mapping of all its outputs by name, including "out" and "lse"
    question        "merge": merges states of parts, and gets no other problems. case.partial_out is
                    the parts' O, case.partial_lse their LSE of base case.merge_lse_base
    """
    if unknown:
        _require_known("@kernel", unknown, list(inspect.signature(kernel).parameters)[1:-1])

    def declare(function: Callable) -> Callable:
        kernel_name = name if name is not None else getattr(function, "__name__", "")
        _require_one_parameter(function, f"kernel {kernel_name!r}")
        declared.append(Kernel(
            name=kernel_name, function=function, dtypes=_words(dtypes),
            kv_dtypes=None if kv_dtypes is None else _words(kv_dtypes),
            out_dtypes=None if out_dtypes is None else _words(out_dtypes), layouts=_words(layouts),
            masks=_words(masks),
            framework=framework,
            devices=_default_devices(framework) if devices is None else _words(devices),
            spec=Spec() if spec is None else spec, padding_policy=padding_policy,
            promises=dict(promises or {}), tensor_cores=tensor_cores, lse=lse, window=window,
            softcap=softcap,
            alibi=alibi, sinks=sinks, token_scales=token_scales, question=question,
            outputs=_words(outputs)))
        return function
    if function is None:
        return declare
    if not callable(function):
        raise TypeError(f"@kernel takes no positional argument such as {function!r}: write "
                        f"@kernel(name={function!r})")
    return declare(function)
