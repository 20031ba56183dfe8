"""The commands `plumbline` and `plumbline-ptx` of the installed packages.

plumbline-attention-harness has the programs. Without it `plumbline` is the library of
plumbline-attention, which judges dumps. This is a package of its own, so that starting the
command does not import numpy (0.1 s).
"""
import ctypes
import importlib.util
import os
import pathlib
import signal
import sys
from typing import NoReturn, Optional


def _package() -> Optional[pathlib.Path]:
    """Returns the folder of the package `plumbline`."""
    spec = importlib.util.find_spec("plumbline")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        return pathlib.Path(folder)
    return None


def program(name: str) -> Optional[pathlib.Path]:
    """Returns a program of plumbline-attention-harness; None if that is not installed."""
    package = _package()
    found = package / "_native" / "bin" / name if package is not None else None
    return found if found is not None and found.is_file() else None


def _become(path: pathlib.Path) -> NoReturn:
    # Python kernels should run in the interpreter that plumbline was installed for.
    os.environ.setdefault("PLUMBLINE_PYTHON", sys.executable)
    os.execv(path, [path.name, *sys.argv[1:]])


def _require_machine(package: pathlib.Path) -> None:
    # `from plumbline import _machine` would import numpy.
    spec = importlib.util.spec_from_file_location("plumbline_machine", package / "_machine.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.require()


def _judge(arguments: list) -> int:
    """Runs `plumbline check` and `plumbline diff` by the library, in this process."""
    package = _package()
    path = os.environ.get("PLUMBLINE_CHECK_LIBRARY") or str(
        (package or pathlib.Path("plumbline")) / "_native" / "lib" / "libplumbline_check.so")
    try:
        if package is not None:
            _require_machine(package)
        command = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL).plumbline_check_command
    except (ImportError, OSError, AttributeError) as error:
        print(f"plumbline: the library that judges cannot be used: {error}\n  remedy: pip install "
              "plumbline-attention, or call build/bin/plumbline of a checkout", file=sys.stderr)
        return 3
    words = [os.fsencode(word) for word in ["plumbline", *arguments]]
    return command(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))


def main() -> None:
    # Python ignores SIGPIPE and delays SIGINT until C code returns; a program should end on both.
    for number in (signal.SIGPIPE, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    whole = program("plumbline")
    if whole is not None:
        _become(whole)
    sys.exit(_judge(sys.argv[1:]))


def ptx() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    found = program("plumbline-ptx")
    if found is None:
        sys.exit("plumbline-ptx: the program is not installed\n  remedy: pip install "
                 "'plumbline-attention[run]'")
    _become(found)
