"""libplumbline_check.so through ctypes: python/src/plumbline_check.h in Python."""
from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
import sys
from typing import Any, Mapping, Tuple

from . import _machine

NATIVE = pathlib.Path(__file__).parent / "_native"
"""The folder of the libraries and, with plumbline-attention-harness, programs and suites."""

HARNESS_REMEDY = ("pip install 'plumbline-attention[run]', or the wheel "
                  "plumbline_attention_harness that ci/wheel.sh makes")
"""How to install the programs that run kernels; equal to harness/cli/harness_package.h."""


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32),
                ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class _Dump(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensors", ctypes.POINTER(_Tensor)),
                ("count", ctypes.c_size_t), ("attributes", ctypes.c_char_p)]


def loaded(name: str, interface: int, path: pathlib.Path, what: str, remedy: str,
           functions: Mapping[str, Tuple[Any, list]]) -> ctypes.CDLL:
    """Loads the library `name`, such as "plumbline_check", and declares its functions. Raises
    ImportError, with a remedy, if it cannot be loaded."""
    _machine.require()
    variable = f"{name.upper()}_LIBRARY"
    chosen = os.environ.get(variable) or str(path)
    try:
        # RTLD_LOCAL keeps the library's dependencies separate from PyTorch's and NumPy's.
        library = ctypes.CDLL(chosen, mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise ImportError(f"plumbline's {what} cannot be loaded: {error}\n  remedy: {remedy}, or "
                          f"set {variable} to its path") from None
    if getattr(library, f"{name}_interface")() < interface:
        raise ImportError(f"{chosen} is older than this package\n  remedy: install both from one "
                          "wheel")
    for function, (result, arguments) in functions.items():
        known = getattr(library, f"{name}{function}")
        known.restype, known.argtypes = result, arguments
    return library


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    """Loads the library on first use, so that a machine that cannot load it can still import the
    package, which pytest does in every run for the plugin."""
    answer, dump = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_Dump)
    number, text = ctypes.c_int32, ctypes.c_char_p
    return loaded("plumbline_check", 3, NATIVE / "lib" / "libplumbline_check.so", "library",
                  "pip install plumbline-attention, or the wheel that `ci/wheel.sh --judge` makes",
                  {"": (number, [dump, answer]), "_version": (text, []),
                   "_row_outputs": (text, []),
                   "_diff": (number, [dump, dump, answer]),
                   "_print": (number, [text, number, number, number, answer]),
                   "_free": (None, [ctypes.c_void_p])})


def version() -> str:
    return _library().plumbline_check_version().decode()


@functools.lru_cache(maxsize=None)
def row_outputs() -> Tuple[str, ...]:
    """Returns the outputs beyond `out` that can be judged, "lse" first."""
    return tuple(_library().plumbline_check_row_outputs().decode().split(","))


def _dump(name: str, tensors: Mapping[str, Tuple], stated: Mapping[str, str]) -> _Dump:
    """Returns the struct. Its attribute `kept` keeps everything alive that it points to."""
    array = (_Tensor * len(tensors))()
    shapes = []
    for target, (key, (dtype, shape, data)) in zip(array, tensors.items()):
        shapes.append((ctypes.c_int64 * len(shape))(*shape))
        target.name, target.dtype = key.encode(), dtype.encode()
        target.shape, target.rank = shapes[-1], len(shape)
        target.data, target.bytes = data.ctypes.data, data.nbytes
    text = json.dumps(dict(stated)).encode()
    dump = _Dump(name.encode(), array, len(tensors), text)
    dump.kept = (array, shapes, tensors, text)
    return dump


class SpecOfOtherDtype(ValueError):
    """The spec is a rounding model of the ladder, but not for inputs of this dtype."""


def _call(function: Any, *arguments: Any) -> str:
    __tracebackhide__ = True
    answer = ctypes.c_void_p()
    status = function(*arguments, ctypes.byref(answer))
    try:
        text = (ctypes.string_at(answer.value) if answer.value else b"out of memory").decode(
            errors="replace")
    finally:
        _library().plumbline_check_free(answer)
    if status == 0:
        return text
    if status == 3:
        raise SpecOfOtherDtype(text)
    if status != 1:
        raise RuntimeError(f"plumbline: internal error: {text}")
    if "state layout = " in text and "pytest" in sys.modules:
        text += ("\n  remedy for all tests of a project: set layout in [tool.plumbline] of "
                 "pyproject.toml, which the fixture attention_judge reads (docs/pytest.md)")
    raise ValueError(text)


def _ask(function: Any, *dumps: _Dump) -> dict:
    __tracebackhide__ = True
    return json.loads(_call(function, *(ctypes.byref(dump) for dump in dumps)))


def printed(report: str, width: int, taken: int, verbose: bool) -> str:
    """Returns `report` or `report_in_full` of an answer, laid out by plumbline_check_print."""
    return _call(_library().plumbline_check_print, report.encode(), width, taken, verbose)


def check(name: str, tensors: Mapping[str, Tuple], stated: Mapping[str, str]) -> dict:
    """Returns the answer's JSON. Tensors: name -> (dtype name of safetensors, shape, bytes as a
    contiguous array). Raises ValueError with every error if the tensors do not make a problem."""
    __tracebackhide__ = True
    return _ask(_library().plumbline_check, _dump(name, tensors, stated))


def diff(names: Tuple[str, str], a: Tuple[Mapping, Mapping], b: Tuple[Mapping, Mapping]) -> dict:
    __tracebackhide__ = True
    return _ask(_library().plumbline_check_diff, _dump(names[0], *a), _dump(names[1], *b))
