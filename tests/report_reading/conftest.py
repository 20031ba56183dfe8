"""Fixtures that run the plumbline of this build as a user would."""
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
LIBRARIES = pathlib.Path(os.environ["PLUMBLINE_LIBRARIES"])

SUITE = """
schema = 1
name = "s"
tier = "smoke"
defaults = { heads_q = 4, heads_kv = 2, head_dim = 64 }
[[group]]
name = "g"
reason = "a few small cases, one of them timed"
kernels = ["cpu/flash", "cpu/split_kv"]
product = { dtype = ["bf16", "fp16"], seq_q = [1, 17], seq_kv = [70] }
[[group]]
name = "timed"
reason = "times are numbers, too"
kernels = ["cpu/flash"]
timed = true
set = { dtype = "bf16", seq_q = 8, seq_kv = 64 }
[[diff]]
name = "d"
reason = "two ways to one answer"
a = { kernel = "cpu/flash" }
b = { kernel = "cpu/split_kv" }
expect = "rounding"
set = { dtype = "fp16", seq_q = 1, seq_kv = 70 }
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Returns a folder with a suite, s.toml, and three runs of it in runs.db. The kernel of the
    last run drops one key."""
    path = tmp_path_factory.mktemp("plumbline")
    (path / "s.toml").write_text(SUITE)
    broken = str(LIBRARIES / "plumbline_cpu.so") + ":drop_last_key=1"
    for arguments in ([], [], ["--provider", broken]):
        run(path, "run", "s.toml", "--db", "runs.db", "-q", *arguments)
    return path


def run(path, *arguments):
    # os.environ, because pytest loads readline, which sets COLUMNS without Python noticing.
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=path, capture_output=True, text=True,
                          check=False, env=dict(os.environ))
