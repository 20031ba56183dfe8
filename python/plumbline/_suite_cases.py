"""Cases of a suite with their inputs, as the command `plumbline` makes them.

The command lists the suite for one kernel; that kernel's run of a case writes the case's inputs
as a dump.
"""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import shutil
import struct
import subprocess
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy

import plumbline
from ._library import HARNESS_REMEDY, row_outputs

# The bundled kernel whose runs write the inputs, because it supports all features of a problem and
# all dtypes (baselines/support.toml).
_WRITER = "cpu/flash_p32"

# Attributes of a dump that become arguments of the same name. _question() converts `mask` and
# `window`. The others describe the writer (spec, padded_rows, lse_base) or the origin of the file.
_NUMBERS = {"scale": float, "softcap": float, "page_size": int, "scale_block": int}
_TEXTS = ("layout", "padding")

# dtype in safetensors: (in NumPy, with the module of ml_dtypes types; in PyTorch).
_DTYPES = {
    "F32": ("float32", "float32"),
    "F16": ("float16", "float16"),
    "BF16": ("ml_dtypes.bfloat16", "bfloat16"),
    "F8_E4M3": ("ml_dtypes.float8_e4m3fn", "float8_e4m3fn"),
    "F8_E5M2": ("ml_dtypes.float8_e5m2", "float8_e5m2"),
    "I32": ("int32", "int32"),
    "BOOL": ("bool", "bool"),
}


class Unusable(Exception):
    """The command or the suite cannot be used; the text has the remedy."""


class Unsupported(Exception):
    """The inputs of this case are unavailable; the text says why."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """The arguments of a marker."""

    suite: str
    folder: str  # working directory of the command
    kernel: Optional[str]
    options: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Listed:
    """A case of the suite, without its inputs."""

    id: str
    kernel: Optional[str]
    problem: str
    suite: str
    group: str
    reason: str
    asked: Asked


def asked(folder: pathlib.Path, root: pathlib.Path, suite: str, *, kernel: Optional[str] = None,
          match: Optional[str] = None, exclude: Optional[str] = None,
          tier: Optional[str] = None) -> Asked:
    """`suite` is a file next to the test file, otherwise a file in `root` or a name known to the
    command."""
    options = [word for option, value in (("--match", match), ("--exclude", exclude),
                                          ("--tier", tier))
               if value is not None for word in (option, value)]
    beside = folder / suite
    return Asked(str(beside) if beside.exists() else suite, str(root), kernel, tuple(options))


def command() -> str:
    """Returns the program of the installed package, otherwise $PLUMBLINE, otherwise `plumbline` on
    the PATH."""
    own = pathlib.Path(plumbline.__file__).parent / "_native" / "bin" / "plumbline"
    if own.is_file():
        return str(own)
    stated = os.environ.get("PLUMBLINE")
    found = shutil.which(stated or "plumbline")
    if found is None:
        what = (f"PLUMBLINE={stated} is not a program" if stated else
                "the command plumbline is neither in the installed package nor on the PATH")
        raise Unusable(f"{what}, and suites need it\n  remedy: {HARNESS_REMEDY}, or set PLUMBLINE "
                       "to the program of a build (build/bin/plumbline)")
    return found


def _run(folder: str, *arguments: str) -> Mapping[str, Any]:
    """Returns the `data` of the command's JSON."""
    ran = subprocess.run([command(), *arguments, "--format", "json"], cwd=folder,
                         capture_output=True, text=True, check=False)
    try:
        envelope = json.loads(ran.stdout)
    except ValueError:
        raise Unusable(f"plumbline {' '.join(arguments)} ended with exit code {ran.returncode}: "
                       f"{(ran.stderr or ran.stdout).strip()}") from None
    if envelope["data"] is None:
        raise Unusable("\n".join(_sentence(error) for error in envelope["errors"]))
    return envelope["data"]


def _sentence(error: Mapping[str, Any]) -> str:
    place = "".join(f"{error[key]}:" for key in ("file", "line") if error.get(key))
    remedy = f"\n  remedy: {error['remedy']}" if error.get("remedy") else ""
    return f"{place} {error['error']}{remedy}".strip()


@functools.lru_cache(maxsize=None)
def listed(what: Asked) -> List[Listed]:
    """Returns the attention cases on the host, each once, in the suite's order; no merges."""
    data = _run(what.folder, "list", what.suite, "--kernel", _WRITER, "--exclude",
                "*/device=emulated:*", "--exclude", "*/merge=*", *what.options)
    cases: Dict[str, Listed] = {}
    for case in data["cases"]:
        problem = case["case"][len(_WRITER) + 1:]
        name = f"{what.kernel}/{problem}" if what.kernel else problem
        cases.setdefault(name, Listed(name, what.kernel, problem, case["suite"], case["group"],
                                      case["reason"], what))
    if not cases:
        raise Unusable(f"{what.suite} has no case of attention on the host"
                       + (f" with {' '.join(what.options)}" if what.options else "")
                       + f"\n  remedy: plumbline list {what.suite} shows what it has")
    return list(cases.values())


_Raw = Tuple[str, Tuple[int, ...], bytes]  # dtype, shape, contents


def _read(path: pathlib.Path) -> Tuple[Dict[str, _Raw], Mapping[str, str]]:
    contents = path.read_bytes()
    begin = 8 + struct.unpack_from("<Q", contents)[0]
    header = json.loads(contents[8:begin])
    stated = header.pop("__metadata__", {})
    tensors = {}
    for key, entry in header.items():
        first, last = entry["data_offsets"]
        tensors[key] = (entry["dtype"], tuple(entry["shape"]), contents[begin + first:begin + last])
    return tensors, stated


def _numpy(raw: _Raw) -> numpy.ndarray:
    """Returns a writable copy."""
    dtype, shape, contents = raw
    module, _, name = _DTYPES[dtype][0].rpartition(".")
    if module:
        try:
            import ml_dtypes
        except ImportError:
            raise Unusable(f"the case is in {name}, which NumPy lacks\n  remedy: pip install "
                           "ml_dtypes, or use plumbline_case.torch()") from None
        return numpy.frombuffer(bytearray(contents), getattr(ml_dtypes, name)).reshape(shape)
    return numpy.frombuffer(bytearray(contents), name).reshape(shape)


def _torch(device: Any) -> Callable[[_Raw], Any]:
    import torch

    def convert(raw: _Raw) -> Any:
        dtype, shape, contents = raw
        flat = torch.frombuffer(bytearray(contents), dtype=torch.uint8) if contents else \
            torch.empty(0, dtype=torch.uint8)
        return flat.view(getattr(torch, _DTYPES[dtype][1])).reshape(shape).to(device)

    return convert


class Case:
    """q, k, v and the question of a case. Arrays are made on first use."""

    def __init__(self, of: Listed, tensors: Mapping[str, _Raw], stated: Mapping[str, Any],
                 out_dtype: str, convert: Callable[[_Raw], Any] = _numpy) -> None:
        self.id, self.kernel, self.problem = of.id, of.kernel, of.problem
        """kernel/problem; the marker's `kernel`; the problem's id (docs/suites.md)."""
        self.suite, self.group, self.reason = of.suite, of.group, of.reason
        self.out_dtype = out_dtype
        """Dtype of the output in the suite: "float16", "bfloat16", …"""
        self._of, self._tensors, self._stated, self._convert = of, tensors, stated, convert
        self._made: Dict[str, Any] = {}

    def _array(self, key: str) -> Any:
        if key not in self._made:
            self._made[key] = self._convert(self._tensors[key])
        return self._made[key]

    @property
    def q(self) -> Any:
        return self._array("q")

    @property
    def k(self) -> Any:
        return self._array("k")

    @property
    def v(self) -> Any:
        return self._array("v")

    @property
    def question(self) -> Dict[str, Any]:
        """The keyword arguments of plumbline.check: layout, causal, window, scale, softcap and the
        tensors other than q, k and v. A new dict each time."""
        others = [key for key in self._tensors if key not in ("q", "k", "v")]
        return {**self._stated, **{key: self._array(key) for key in others}}

    def torch(self, device: Any = "cpu") -> "Case":
        """Returns the same case with PyTorch arrays."""
        return Case(self._of, self._tensors, self._stated, self.out_dtype, _torch(device))

    def pristine(self) -> Tuple[Any, Any, Any, Dict[str, Any]]:
        """Returns q, k, v and the question as in the suite, even if the arrays were changed."""
        anew = Case(self._of, self._tensors, self._stated, self.out_dtype, self._convert)
        return anew.q, anew.k, anew.v, anew.question

    def __repr__(self) -> str:
        return f"<case {self.id}>"


def _question(stated: Mapping[str, str]) -> Dict[str, Any]:
    """Returns the attributes of a dump as keyword arguments. `causal` is always set, so that a
    project's default does not apply."""
    question: Dict[str, Any] = {key: stated[key] for key in _TEXTS if key in stated}
    question.update((key, number(stated[key])) for key, number in _NUMBERS.items() if key in stated)
    words = {attributes: word for word, attributes in plumbline._CAUSAL.items()}
    question["causal"] = words.get(("mask", stated.get("mask", "none")), False)
    window = tuple(int(side) for side in stated.get("window", "-1,-1").split(","))
    if window != (-1, -1):
        question["window"] = window
    return question


def inputs_of(of: Listed, folder: pathlib.Path) -> Case:
    """Returns the case. The command writes its inputs to the empty `folder`, temporarily."""
    case_id = f"{_WRITER}/{of.problem}"
    data = _run(of.asked.folder, "run", "--case", case_id, "--save-outputs", str(folder / "inputs"),
                "--quiet", "--no-store")
    if not data["outcomes"]:
        raise Unusable(f"plumbline run --case {case_id} measured nothing: {data['summary']}")
    outcome = data["outcomes"][0]
    saved = outcome.get("saved_to", "")
    if not os.path.isfile(saved):
        why = saved or outcome.get("reason") or outcome["verdict"]
        raise Unsupported(f"{_WRITER} cannot write the inputs of {of.problem}: {why}")
    tensors, stated = _read(pathlib.Path(saved))
    shutil.rmtree(folder / "inputs", ignore_errors=True)
    out_dtype = _DTYPES[tensors["out"][0]][1]
    for of_kernel in ("out", *row_outputs()):
        tensors.pop(of_kernel, None)
    return Case(of, tensors, _question(stated), out_dtype)
