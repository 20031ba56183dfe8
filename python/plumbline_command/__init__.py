"""The command `plumbline` of the wheel: becomes the program that lies in the package.

A package of its own, so that starting the command does not import numpy (0.1 s).
"""
import importlib.util
import os
import pathlib
import sys


def program() -> pathlib.Path:
    """The program in the installed package `plumbline`."""
    spec = importlib.util.find_spec("plumbline")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = pathlib.Path(folder) / "_native" / "bin" / "plumbline"
        if found.is_file():
            return found
    sys.exit("plumbline: the package holds no program, as in a source tree that was put on the "
             "path\n  remedy: pip install the wheel that ci/wheel.sh makes, or call "
             "build/bin/plumbline of the checkout")


def main() -> None:
    path = str(program())
    # Kernels written in Python run in the interpreter that plumbline was installed for.
    os.environ.setdefault("PLUMBLINE_PYTHON", sys.executable)
    os.execv(path, ["plumbline", *sys.argv[1:]])
