"""Runs commands in a folder with ci/, cases/ and .venv/, like a checkout, with plumbline on the
PATH."""
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def shell(tmp_path):
    """Runs a shell command in tmp_path; returns the result of subprocess.run, with stderr in
    stdout."""
    for name in ("ci", "cases"):
        (tmp_path / name).symlink_to(SOURCE / name)
    (tmp_path / ".venv").symlink_to(pathlib.Path(sys.executable).parents[1])
    folders = [str(pathlib.Path(sys.executable).parent), os.environ["PLUMBLINE_BIN"],
               os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    environment.pop("PLUMBLINE_INPUTS", None)

    def run(command):
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    return run
