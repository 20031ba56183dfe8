"""Is the output of an attention kernel explained by rounding, or is it a bug?

    import plumbline

    # [batch, heads, seq, dim] each
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    plumbline.assert_attention(out, q, k, v, is_causal=True, layout="bhsd")

The output is compared with an fp64 reference made from q, k and v, in units of the rounding
error that a kernel may make. Arrays may come from NumPy (bf16 by ml_dtypes), PyTorch, JAX, or
any library with DLPack or the buffer protocol; GPU arrays are copied. The answers are ROUNDING,
BUG and UNDECIDED, as in `plumbline check`; docs/is-it-rounding.md explains them.
"""
from __future__ import annotations

import dataclasses
import importlib
import inspect
import json as _json
import linecache
import os
import shutil
import struct
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _arrays, _library

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    _Question = ParamSpec("_Question")

__version__: str  # set from the library by __getattr__
__all__ = ["Report", "assert_attention", "assert_merge", "check", "check_merge", "diff", "save",
           "Spec", "Unsupported", "kernel"]

Array = Any
"""An array of NumPy, PyTorch, JAX or another framework; lengths may also be lists of integers."""

ROUNDING, BUG, UNDECIDED = "ROUNDING", "BUG", "UNDECIDED"

@dataclasses.dataclass(frozen=True)
class Report:
    """The result of `plumbline check` or `plumbline diff`."""

    answer: str
    """ROUNDING, BUG or UNDECIDED."""
    sentence: str
    """The reason in one line."""
    percent: float
    """Percent of the limit, in the statistic nearest to its limit; above 100 the limit is exceeded.
    NaN if nothing was compared."""
    text: str
    """The output of the command: at most twelve lines."""
    json: Mapping[str, Any]
    """The `data` of the command's output with --format json (docs/json.md)."""
    _brief: str = dataclasses.field(default="", repr=False, compare=False)
    _in_full: str = dataclasses.field(default="", repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.answer == ROUNDING

    def __str__(self) -> str:
        return self.text

    @property
    def not_judged(self) -> Sequence[Mapping[str, Any]]:
        """Inputs that were not judged: `what` ("rows" or "tensors"), `count`, `of` how many, and
        `why`; tensors have `names`. Padding rows, as given by lengths, do not count."""
        reports = self.json.get("dumps") or self.json.get("diffs") or []
        return [some for report in reports for some in report.get("not_judged", [])]

    def in_full(self) -> str:
        """Returns the command's output with -v."""
        return _library.printed(self._in_full, _output_width(), 0, True)

    def _with_note(self, note: str) -> "Report":
        """Returns a copy with a note before all other details."""
        def noted(report: str) -> str:
            content = _json.loads(report)
            content["details"].insert(0, {"label": "note", "lines": [note], "weight": 10})
            return _json.dumps(content)
        brief = noted(self._brief)
        return dataclasses.replace(self, text=_library.printed(brief, _output_width(), 0, False),
                                   _brief=brief, _in_full=noted(self._in_full))

    def _as_failure(self, command: Optional[str] = None) -> str:
        """Returns the text of an AssertionError. `command` is the command that shows more."""
        verbose = _pytest_terminal is not None and _pytest_terminal.verbose
        content = _json.loads(self._in_full if verbose else self._brief)
        if command is not None:
            content.update(command=command, command_label="again" if verbose else "in full")
        text = _library.printed(_json.dumps(content), _failure_width(), len("AssertionError: "),
                                verbose)
        return text.rstrip("\n")


@dataclasses.dataclass(frozen=True)
class _PytestTerminal:
    """The terminal on which pytest prints failures, set by the plugin."""

    width: int
    verbose: bool


_pytest_terminal: Optional[_PytestTerminal] = None
# Called with every report; set by the plugin.
_on_report: Optional[Callable[[Report], None]] = None


def _output_width() -> int:
    """Returns the columns of the terminal on stdout, or COLUMNS; 0 = unknown."""
    return shutil.get_terminal_size((0, 0)).columns


def _failure_width() -> int:
    """Returns the columns of a line of an exception's text. pytest prefixes each line with "E" and
    the indentation of the failing statement."""
    if _pytest_terminal is None:
        return _output_width()
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "plumbline":
        frame = frame.f_back
    depth = 4
    if frame is not None:
        def indentation(number: int) -> int:
            line = linecache.getline(frame.f_code.co_filename, number)
            return len(line) - len(line.lstrip())
        depth = max(depth, indentation(frame.f_lineno) - indentation(frame.f_code.co_firstlineno))
    return max(40, _pytest_terminal.width - 4 - depth)


def check(
    out: Array,
    q: Array,
    k: Array,
    v: Array,
    *,
    causal: Union[None, bool, str] = None,
    is_causal: Optional[bool] = None,
    window: Union[None, int, Tuple[int, int]] = None,
    scale: Optional[float] = None,
    cu_seqlens: Optional[Array] = None,
    cu_seqlens_q: Optional[Array] = None,
    cu_seqlens_kv: Optional[Array] = None,
    seqlens_q: Optional[Array] = None,
    seqlens_kv: Optional[Array] = None,
    page_table: Optional[Array] = None,
    mask: Optional[Array] = None,
    attn_mask: Optional[Array] = None,
    attn_bias: Optional[Array] = None,
    alibi_slopes: Optional[Array] = None,
    sinks: Optional[Array] = None,
    softcap: Optional[float] = None,
    enable_gqa: Optional[bool] = None,
    dropout_p: Optional[float] = None,
    lse: Optional[Array] = None,
    lse_base: Union[None, str, int] = None,
    q_scale: Union[None, float, Array] = None,
    k_scale: Union[None, float, Array] = None,
    v_scale: Union[None, float, Array] = None,
    out_scale: Union[None, float, Array] = None,
    scale_block: Optional[int] = None,
    layout: Optional[str] = None,
    spec: Optional[str] = None,
    padded_rows: Optional[str] = None,
    name: Optional[str] = None,
    **attributes: Any,
) -> Report:
    """Judges `out` = softmax(q k^T * scale) v against fp64.

    q, k, v, out: padded [batch, seq, heads, dim] ("padded_bshd", "bshd") or
        [batch, heads, seq, dim] ("padded_bhsd", "bhsd", as PyTorch's), ragged
        [total, heads, dim] with cu_seqlens, paged k and v [page, token, heads, dim] ("paged_nhd")
        or [page, heads, token, dim] ("paged_hnd") with page_table and seqlens_kv. `layout` is
        required if several would fit.
    causal: "top_left" (PyTorch's is_causal), "bottom_right" (FlashAttention, decoding), or True
        if there are as many queries as keys.
    is_causal, attn_mask, enable_gqa, dropout_p: as in PyTorch's scaled_dot_product_attention,
        except that grouped heads are refused only if enable_gqa is False, and that dropout makes
        the answer UNDECIDED. is_causal is "top_left". attn_mask broadcasts to
        [batch, heads, seq_q, seq_kv]; it means `mask` if it is boolean, and `attn_bias` if it is
        floating-point. With three extents the first is batch or heads, as in a dump
        (docs/dump-format.md); the mask is refused if both readings fit and differ.
    window: (left, right) keys seen before and after the diagonal, -1 = unlimited; an integer is the
        left part.
    mask: boolean array, True if the key is seen.
    attn_bias: added to the scaled logits. alibi_slopes: ALiBi's, [heads] or [batch, heads].
        sinks: [heads], a logit without a value. softcap: c of c * tanh(logit / c). See
        docs/dump-format.md.
    lse, lse_base: log-sum-exp of each row, and its base, "e" (default) or 2. The LSE exposes faults
        of the softmax's denominator.
    q_scale, k_scale, v_scale: for fp8 arrays, value = scale * stored: a number, or fp32 [heads],
        [batch, heads] or [batch, heads, blocks], with scale_block tokens in a block.
    out_scale: for an fp8 `out`, which holds O / out_scale: a number.
    spec: the kernel's roundings: a name of the ladder, such as "FlashAttention-2", or fields such
        as "p_dtype=bf16". None tries the ladder.
    padded_rows: required contents of padded query rows, "zeros" or "attended"; "anything" or None:
        not checked.
    attributes: padding, page_size, lse_layout, dtype, and outputs beyond the LSE by name; see
        docs/dump-format.md. dout, dq, dk, dv and dropout_mask are not judged yet: the answer is
        UNDECIDED, with that reason.

    Raises ValueError, with every error found, if the arrays do not make an attention problem.

        report = plumbline.check(out, q, k, v, causal="top_left", layout="padded_bhsd")
        print(report.answer, report.percent)
    """
    arguments = dict(locals())
    __tracebackhide__ = True
    tensors, stated = _dump(arguments, arguments.pop("attributes"))
    return _report(_library.check(name or "attention", tensors, stated))


_Message = Union[None, str, Callable[[str], str]]


def _require_rounding(report: Report, msg: _Message) -> None:
    """Raises AssertionError unless the answer is ROUNDING, with `msg` as in
    torch.testing.assert_close."""
    __tracebackhide__ = True
    if report.answer != ROUNDING:
        if msg is None or callable(msg):
            text = report._as_failure()
            msg = text if msg is None else msg(text)
        raise AssertionError(msg)


def _arguments_of(judge: Callable[_Question, Report]
                  ) -> Callable[[Callable[..., None]], Callable[_Question, None]]:
    """Returns a decorator that gives a function the signature of `judge`, with `msg`."""
    def give(function: Callable[..., None]) -> Callable[_Question, None]:
        signature = inspect.signature(judge)
        *named, attributes = signature.parameters.values()
        msg = inspect.Parameter("msg", inspect.Parameter.KEYWORD_ONLY, default=None,
                                annotation=_Message)
        signature = signature.replace(parameters=[*named, msg, attributes],
                                      return_annotation="None")
        setattr(function, "__signature__", signature)
        return function
    return give


@_arguments_of(check)
def assert_attention(*arguments: Any, msg: _Message = None, **question: Any) -> None:
    """Raises AssertionError, with the text of `plumbline check`, unless the answer is ROUNDING.

    UNDECIDED also raises. It usually means that only a looser spec than the stated one explains the
    output. Without a stated spec, it usually means that the output is explained only above 90 % of
    a limit, or only by a model that rounds S. The text names what would decide the question. The
    arguments are as in `check`, and `msg` as in torch.testing.assert_close: a replacement of the
    text, or a function of the text.

        def test_decode():
            out, lse = my_decode(q, k_cache, v_cache, seqlens)
            plumbline.assert_attention(out, q, k_cache, v_cache, seqlens_kv=seqlens,
                                       causal="bottom_right", lse=lse, spec="FlashAttention-2")
    """
    __tracebackhide__ = True
    _require_rounding(check(*arguments, **question), msg)


def check_merge(
    out: Array,
    partial_out: Array,
    partial_lse: Array,
    *,
    lse: Optional[Array] = None,
    lse_base: Union[None, str, int] = None,
    seqlens_kv: Optional[Array] = None,
    cu_seqlens_kv: Optional[Array] = None,
    layout: Optional[str] = None,
    spec: Optional[str] = None,
    name: Optional[str] = None,
    **attributes: Any,
) -> Report:
    """Judges a merge of states, `out` = sum_i exp(LSE_i - LSE) O_i, against fp64.

    partial_out, partial_lse: O of the parts, [tokens, parts, heads, dim], and their LSE,
        [tokens, parts, heads] in fp32; -infinity if a part has no keys.
    out, lse: [tokens, heads, dim], and [tokens, heads] or [heads, tokens].
    lse_base: base of all LSEs, "e" (default) or 2, as FlashInfer's are.
    seqlens_kv: number of parts of each token; cu_seqlens_kv: ragged parts (docs/dump-format.md).

        both = torch.stack([prefix, suffix], 1), torch.stack([prefix_lse.T, suffix_lse.T], 1)
        print(plumbline.check_merge(out, *both, lse=lse).answer)
    """
    arguments = dict(locals())
    __tracebackhide__ = True
    tensors, stated = _dump(arguments, arguments.pop("attributes"), keep_base=True)
    return _report(_library.check(name or "merge", tensors, stated))


@_arguments_of(check_merge)
def assert_merge(*arguments: Any, msg: _Message = None, **question: Any) -> None:
    """Like assert_attention, for check_merge."""
    __tracebackhide__ = True
    _require_rounding(check_merge(*arguments, **question), msg)


def diff(
    a: Array,
    b: Array,
    q: Array,
    k: Array,
    v: Array,
    *,
    spec_a: Optional[str] = None,
    spec_b: Optional[str] = None,
    lse_a: Optional[Array] = None,
    lse_b: Optional[Array] = None,
    names: Sequence[str] = ("a", "b"),
    **question: Any,
) -> Report:
    """Do the roundings of both kernels explain the difference of two outputs of the same q, k, v?

    `question`: further arguments of `check`.

    ROUNDING: both meet their limits against fp64, and nowhere do they differ by more than their
    roundings explain. BUG: at least one exceeds its limits, and the sentence says which.
    UNDECIDED: otherwise.

        report = plumbline.diff(flash_out, eager_out, q, k, v, causal="top_left",
                                layout="padded_bhsd", spec_b="PyTorch math")
        print(report.sentence)
    """
    __tracebackhide__ = True
    instead = {"spec": "spec_a and spec_b", "lse": "lse_a and lse_b", "out": "a and b",
               "name": "names"}
    for other in instead.keys() & question.keys():
        raise TypeError(f"diff() takes {instead[other]} instead of {other}")
    sides = []
    for out, lse, spec in ((a, lse_a, spec_a), (b, lse_b, spec_b)):
        sides.append(_dump(dict(question, out=out, q=q, k=k, v=v, lse=lse, spec=spec), {}))
    return _report(_library.diff(tuple(names), *sides))


def save(path: Union[str, "os.PathLike[str]"], *, q: Array, k: Array, v: Array,
         out: Optional[Array] = None, **question: Any) -> None:
    """Writes a safetensors file that `plumbline check` and `plumbline diff` read.

    `question`: further arguments of `check`.

        plumbline.save("decode.safetensors", out=out, q=q, k=k, v=v, lse=lse, causal="bottom_right",
                       layout="padded_bshd")
    """
    _write_dump(path, *_dump(dict(question, q=q, k=k, v=v, out=out), {}))


def _write_dump(path: Union[str, "os.PathLike[str]"], tensors: dict, stated: dict) -> None:
    """Writes safetensors, with the attributes as metadata."""
    header: dict = {"__metadata__": stated} if stated else {}
    begin = 0
    for key, (dtype, shape, data) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + data.nbytes]}
        begin += data.nbytes
    text = _json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    _write(os.fspath(path),
           [struct.pack("<Q", len(text)), text, *(data for _, _, data in tensors.values())])


_LENGTHS = ("cu_seqlens", "cu_seqlens_q", "cu_seqlens_kv", "seqlens_q", "seqlens_kv")
_SCALES = ("q_scale", "k_scale", "v_scale", "out_scale")
_TENSORS = ("q", "k", "v", "out", "mask", "attn_bias", "alibi_slopes", "sinks",
            "page_table", "partial_out", "partial_lse", *_LENGTHS, *_SCALES)
# Tensors that the library accepts but does not judge yet: the answer is UNDECIDED.
_NOT_JUDGED = ("dout", "dq", "dk", "dv", "dropout_mask")
# Numbers and lists of numbers are also accepted, and converted to fp32.
_FLOATS = (*_SCALES, "alibi_slopes", "sinks")
_WORDS = ("scale", "layout", "spec", "padded_rows", "padding", "page_size", "lse_layout", "dtype",
          "softcap", "scale_block", "dropout_p")
_TORCH_ARGUMENTS = ("is_causal", "attn_mask", "enable_gqa")
_LAYOUTS = {"bshd": "padded_bshd", "bhsd": "padded_bhsd"}
# The axes of the heads in q and in k.
_HEADS = {"padded_bshd": (-2, -2), "padded_bhsd": (-3, -3), "ragged": (-2, -2),
          "paged_nhd": (-2, -2), "paged_hnd": (-2, -3)}
_CAUSAL = {
    "top_left": ("mask", "causal_top_left"),
    "bottom_right": ("mask", "causal_bottom_right"),
    True: ("causal", "true"),
}


def _translate_torch_arguments(asked: Mapping[str, Any]) -> Tuple[dict, bool]:
    """Returns the arguments with is_causal as `causal`, and True if grouped heads are allowed.
    attn_mask stays."""
    __tracebackhide__ = True
    asked = dict(asked)
    for key in ("is_causal", "enable_gqa"):
        if not isinstance(asked.get(key, False), (bool, numpy.bool_)):
            raise TypeError(f"{key}={asked[key]!r} is neither True nor False, as PyTorch's is"
                            + ('; causal="bottom_right" names the other corner'
                               if key == "is_causal" else ""))
    if "attn_mask" in asked:
        for other in ("mask", "attn_bias"):
            if other in asked:
                raise TypeError(f"attn_mask and {other} are both given: attn_mask stands for mask "
                                "(booleans) or attn_bias (floats); leave attn_mask out")
    if "is_causal" in asked:
        if "causal" in asked:
            raise TypeError('is_causal and causal are both given: is_causal=True is '
                            'causal="top_left"; leave one out')
        asked["causal"] = "top_left" if asked.pop("is_causal") else False
        if asked["causal"] and "attn_mask" in asked:
            raise ValueError("is_causal=True with an attn_mask is also refused by PyTorch: put the "
                             'triangle into attn_mask, or state causal="top_left" beside it, '
                             "if both hide keys")
    return asked, bool(asked.pop("enable_gqa", True))


def _mask_of_torch(array: Array) -> Tuple[str, Tuple]:
    """Returns the name and contents of the tensor that attn_mask means. The last two extents of
    attn_mask are queries and keys, whatever their sizes. If there are three, the library interprets
    the first as in a dump."""
    __tracebackhide__ = True
    dtype, shape, contents = _tensor("attn_mask", array)
    if dtype != "BOOL" and not dtype.startswith(("F", "BF")):
        raise ValueError(f"attn_mask has dtype {dtype}: PyTorch takes booleans, True = seen, or "
                         "floats, which are added to the logits; integers, 1 = seen, are for mask=")
    missing = 4 - len(shape) if len(shape) < 3 else 0
    return ("mask" if dtype == "BOOL" else "attn_bias",
            (dtype, (1,) * missing + tuple(shape), contents))


def _require_equal_heads(tensors: Mapping[str, Tuple], layout: Optional[str]) -> None:
    """Raises ValueError if q and k have different numbers of heads. Without a layout, equal heads
    in one layout suffice: the library requires a layout if several fit."""
    __tracebackhide__ = True
    if "q" not in tensors or "k" not in tensors:
        return

    def heads(name: str, axis: int) -> int:
        shape = tensors[name][1]
        return shape[axis] if len(shape) > 2 else 1

    counts = [(heads("q", q), heads("k", k)) for q, k in
              ([_HEADS[layout]] if layout in _HEADS else _HEADS.values())]
    if all(q != k for q, k in counts):
        # Without a layout, the message has the heads in PyTorch's layout, padded_bhsd.
        q, k = counts[0] if layout else counts[1]
        raise ValueError(f"enable_gqa=False, but q has {q} heads and k has {k}: state "
                         "enable_gqa=True or leave it out, so that grouped heads are accepted, or "
                         "repeat the heads of k and v")


def _dump(question: Mapping[str, Any], more: Mapping[str, Any],
          keep_base: bool = False) -> Tuple[dict, dict]:
    """Returns the tensors and attributes of a dump from keyword arguments. Omits None and `name`.
    Omits lse_base if there is no LSE and `keep_base` is False."""
    __tracebackhide__ = True
    tensors, stated = {}, {}
    asked = {key: value for key, value in {**question, **more}.items() if value is not None}
    asked, grouped = _translate_torch_arguments(asked)
    for key, value in asked.items():
        if key == "name" or (key == "causal" and value is False):
            continue
        if key in _TENSORS or key in _NOT_JUDGED or key in _library.row_outputs():
            if key in _FLOATS and isinstance(value, (int, float, list, tuple)):
                value = numpy.float32(value)
            tensors[key] = _tensor(key, value)
        elif key == "attn_mask":
            tensors.update([_mask_of_torch(value)])
        elif key == "layout":
            stated[key] = _LAYOUTS.get(value, str(value))
        elif key in _WORDS:
            is_real = key in ("scale", "softcap", "dropout_p")
            stated[key] = repr(float(value)) if is_real else str(value)
        elif key == "causal":
            if value not in _CAUSAL:
                raise ValueError(
                    f'causal={value!r} is not known: "top_left", "bottom_right", True or None')
            stated[_CAUSAL[value][0]] = _CAUSAL[value][1]
        elif key == "window":
            left, right = (value, -1) if isinstance(value, int) else value
            stated["window"] = f"{int(left)},{int(right)}"
        elif key == "lse_base":
            stated["lse_base"] = str(value)
        else:
            known = ", ".join((*_TENSORS, *_library.row_outputs(), *_NOT_JUDGED, "causal",
                               "window", "lse_base", *_WORDS, *_TORCH_ARGUMENTS))
            raise TypeError(f"unexpected keyword argument {key!r}; known are {known}")
    if "lse" not in tensors and not keep_base:
        stated.pop("lse_base", None)
    if not grouped:
        _require_equal_heads(tensors, stated.get("layout"))
    return tensors, stated


def _tensor(name: str, array: Array) -> _arrays.Contents:
    """Returns the array's contents in host memory, contiguous."""
    __tracebackhide__ = True
    try:
        return _arrays.contents(array)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def _report(answer: Mapping[str, Any]) -> Report:
    width = _output_width()
    text = _library.printed(answer["report"], width, 0, False) if width else answer["text"]
    report = Report(answer["answer"], answer["sentence"], float(answer["percent"]), text,
                    answer["data"], answer["report"], answer["report_in_full"])
    if _on_report is not None:
        _on_report(report)
    return report


def _write(path: str, parts: Sequence[Any]) -> None:
    """Writes a temporary file in the same folder and renames it, so that no reader sees half a
    file."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".",
                                             prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def __getattr__(name: str) -> Any:
    # plumbline.kernels is loaded on first use. In a worker it is already in sys.modules, so that an
    # import does not set the attribute `kernels` of this package.
    if name == "kernels":
        return importlib.import_module(".kernels", __name__)
    if name in ("Spec", "Unsupported", "kernel"):
        return getattr(importlib.import_module(".kernels", __name__), name)
    if name == "__version__":
        return _library.version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
