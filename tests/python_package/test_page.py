"""Pages about the Python package, executed from an empty directory exactly as written. README and
docs/start are executed by tests/docs.

A ```python or ```toml block is the file that the text before it names last in backquotes. In
```console blocks a line "$ command" is run, and the lines after it must be in its output, in that
order, each at the beginning of a line.
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import path_of_python, write_entry_points

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(python|toml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUFFIX = {"python": "py", "toml": "toml"}


def commands(block):
    """Yields (command, expected lines) of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *expected = part.splitlines()
        yield command, expected


def run(command, directory, site):
    directories = (str(pathlib.Path(sys.executable).parent), os.environ["PLUMBLINE_BIN"],
                   os.environ["PATH"])
    programs = os.pathsep.join(directories)
    environment = {**os.environ, "PATH": programs, "PYTHONPATH": path_of_python(site)}
    return subprocess.run(["bash", "-c", command], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout


@pytest.mark.parametrize("name, commands_of_it, needs", [
    ("is-it-rounding.md", 6, "torch"), ("pytest.md", 6, "torch xdist"),
    ("emulator.md", 1, "torch triton")])
def test_the_page_does_what_it_says(tmp_path, tmp_path_factory, name, commands_of_it, needs):
    for module in needs.split():
        pytest.importorskip(module)
    page = (DOCS / name).read_text(encoding="utf-8")
    site = write_entry_points(tmp_path_factory.mktemp("site"))
    ran = []
    for block in BLOCK.finditer(page):
        language, text = block.groups()
        if language in SUFFIX:
            file = re.findall(rf"`([\w.]+\.{SUFFIX[language]})`", page[: block.start()])[-1]
            (tmp_path / file).write_text(text, encoding="utf-8")
            continue
        for command, expected in commands(text):
            output = run(command, tmp_path, site)
            rest = output.splitlines()
            for line in expected:
                found = [i for i, printed in enumerate(rest) if printed.startswith(line)]
                assert found, f"$ {command}\nexpected a line that begins with {line!r} in\n{output}"
                rest = rest[found[0] + 1 :]
            ran.append(command)
    assert len(ran) == commands_of_it
