"""Loads a provider: a Python file with functions declared by @kernel."""
from __future__ import annotations

import ast
import contextlib
import dataclasses
import difflib
import hashlib
import os
import pathlib
import re
import sys
import types
from typing import Any, Dict


from . import kernels as declarations
from .failures import explain


class Lacking(Exception):
    """A package that the provider declares in NEEDS is not installed. The provider then has no
    kernel, which is not an error."""

    def __init__(self, provider: str, text: str) -> None:
        super().__init__(text)
        self.provider = provider


class Unusable(Exception):
    """The provider cannot be used; `remedy` is for the user."""

    def __init__(self, error: str, remedy: str = "") -> None:
        super().__init__(error)
        self.remedy = remedy


class WrongOptions(Exception):
    """The provider rejects the options; `remedy` is for the user."""

    def __init__(self, error: str, remedy: str) -> None:
        super().__init__(error)
        self.remedy = remedy


@dataclasses.dataclass(frozen=True)
class Provider:
    path: str
    name: str
    version: str
    # changes with the file, the files it imports from its own folder, and its version()
    build_id: str
    kernels: Dict[str, declarations.Kernel]


def _compile(path: str, source: bytes) -> types.CodeType:
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:  # ValueError: a source with NUL bytes
        line = getattr(error, "lineno", None)
        raise Unusable(f"{path}:{line or 1}: {getattr(error, 'msg', None) or error}",
                       "correct the file") from None


def _execute(path: str, code: types.CodeType) -> types.ModuleType:
    # The module does not get the file's name: a provider torch.py must not hide the library.
    module = types.ModuleType("plumbline_provider_file")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    try:
        exec(code, module.__dict__)
    # Even SystemExit must not silently end the worker.
    except BaseException as error:
        said = _constants(path)
        missing = ((getattr(error, "name", None) or "").split(".")[0]
                   if isinstance(error, ModuleNotFoundError) else "")
        if missing and missing in said.get("NEEDS", ()):
            raise Lacking(str(said.get("PROVIDER", "")),
                          f"{missing} is not installed for {sys.executable}") from None
        remedy = ""
        if isinstance(error, ModuleNotFoundError):
            remedy = (f"install {error.name} for {sys.executable}, or name another interpreter "
                      f"with PLUMBLINE_PYTHON")
        raise Unusable(f"{path} cannot be loaded: {explain(error, path)[1]}", remedy) from None
    return module


def _constants(path: str) -> Dict[str, Any]:
    """Returns PROVIDER and NEEDS as the file assigns them, even if it cannot be executed."""
    found: Dict[str, Any] = {}
    with open(path, "rb") as file:
        for statement in ast.parse(file.read()).body:
            names = [target.id for target in getattr(statement, "targets", [])
                     if isinstance(target, ast.Name)]
            if names and names[0] in ("PROVIDER", "NEEDS"):
                with contextlib.suppress(ValueError):
                    found[names[0]] = ast.literal_eval(statement.value)
    return found


def _kernels(path: str) -> Dict[str, declarations.Kernel]:
    kernels: Dict[str, declarations.Kernel] = {}
    for kernel in declarations.declared:
        if kernel.name in kernels:
            places = f"{kernels[kernel.name].place()} and {kernel.place()}"
            raise Unusable(f"{path} declares two kernels named {kernel.name!r}, at {places}",
                           "give one of them another name: @kernel(name=…)")
        kernels[kernel.name] = kernel
    if not kernels:
        raise Unusable(f"{path} declares no kernel",
                       "write `from plumbline.kernels import kernel`, and @kernel(…) above a "
                       "function (docs/plug-in-your-kernel.md)")
    return kernels


def _version(path: str, module: types.ModuleType) -> str:
    version = getattr(module, "version", None)
    if not callable(version):
        return ""
    try:
        return str(version())
    except BaseException as error:
        raise Unusable(f"{path}: version() failed: {explain(error, path)[1]}") from None


def _build_id(path: str, source: bytes, version: str) -> str:
    """Returns a hash of the file, of the files in its folder that it has imported (not the worker's
    own), and of its version."""
    folder = os.path.dirname(path)
    imported = ({getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
                - {path})
    siblings = sorted(file for file in imported if os.path.dirname(file) == folder
                      and file.endswith(".py")
                      and not os.path.basename(file).startswith("plumbline_"))
    digest = hashlib.sha256(source)
    for file in siblings:
        with open(file, "rb") as sibling:
            digest.update(os.path.basename(file).encode() + b"\0" + sibling.read())
    digest.update(b"\0" + version.encode())
    return digest.hexdigest()[:16]


def load(path: str) -> Provider:
    """Returns the provider. Raises Unusable or Lacking."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}",
                       "check the path given to --provider") from None
    declarations.declared.clear()
    declarations.known_options.clear()
    module = _execute(path, _compile(path, source))
    name = str(getattr(module, "PROVIDER", os.path.splitext(os.path.basename(path))[0]))
    if not re.fullmatch(r"[A-Za-z0-9_.+-]+", name):
        raise Unusable(f"{path}: the name {name!r} is part of case ids, so it may have only "
                       f"letters, digits, '_', '.', '+' and '-'", "set PROVIDER in the file")
    version = _version(path, module)
    return Provider(path, name, version, _build_id(path, source, version), _kernels(path))


def check_options(path: str, text: str) -> None:
    """Raises WrongOptions for an option that the file does not declare. A file that declares none
    but reads `case.options` accepts any, because its kernels parse the text."""
    known = declarations.known_options
    if not known and ".options" in pathlib.Path(path).read_text(encoding="utf-8"):
        return
    unknown = [item for item in text.split(",") if item.partition("=")[0] not in known]
    if not text or not unknown:
        return
    name = unknown[0].partition("=")[0]
    takes = f"known: {', '.join(known)}" if known else "it takes none"
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise WrongOptions(f"unknown option {name!r} ({takes})",
                       f"{meant}a file declares its options with plumbline.kernels.options: "
                       f"options({name!r}) in {os.path.basename(path)}")
