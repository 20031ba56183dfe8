"""Tests ci/suite_worth.py on a suite of three groups, four bugs and a legal kernel."""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLUMBLINE = pathlib.Path(os.environ["PLUMBLINE_BUILD"]) / "bin" / "plumbline"
SUITE = """\
schema = 1
name = "tiny"

[[group]]
name = "short"
reason = "few keys"
kernels = ["cpu/*"]
set = { heads = 1, seq_q = 1, dtype = "fp16" }
product = { seq_kv = [5, 9] }

[[group]]
name = "long"
reason = "more keys"
kernels = ["cpu/*"]
set = { heads = 1, seq_q = 1, dtype = "fp16" }
product = { seq_kv = [40, 41] }

[[group]]
name = "middle"
reason = "shows what long shows"
kernels = ["cpu/*"]
set = { heads = 1, seq_q = 1, dtype = "fp16", seq_kv = 39 }
"""
BUGS = """\
import numpy as np
from plumbline.kernels import kernel


def attend(case, fails):
    def run():
        out = case.new_out()
        q, k, v = (x.astype(np.float32) for x in case.sample(0))
        s = np.einsum("rhd,khd->hrk", q, k) * np.float32(case.scale)
        p = np.exp(s - s.max(-1, keepdims=True))
        o = np.einsum("hrk,khd->rhd", p / p.sum(-1, keepdims=True), v)
        out[case.query_rows(0)] = (-o if fails(case.seq_kv) else o).astype(out.dtype)
        return out
    return run


for name, fails in {"legal": lambda keys: False, "always": lambda keys: True,
                    "nine": lambda keys: keys == 9, "odd_and_long": lambda keys: keys > 38,
                    "forty_up": lambda keys: keys >= 40}.items():
    kernel(name=name, dtypes=("fp16",))(lambda case, fails=fails: attend(case, fails))
"""


def worth(folder, *options):
    (folder / "tiny.toml").write_text(SUITE)
    (folder / "own_bugs.py").write_text(BUGS)
    done = subprocess.run(
        [sys.executable, SOURCE / "ci/suite_worth.py", folder / "tiny.toml", "--provider",
         folder / "own_bugs.py", "--kernel", "own_bugs/*", "--plumbline", PLUMBLINE, *options],
        text=True, capture_output=True, check=False,
        env={**os.environ, "PLUMBLINE_PYTHON": sys.executable})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_groups_and_cases_that_catch_alone_are_named(tmp_path):
    lines = worth(tmp_path)
    assert lines[0] == "4 of 5 kernels are caught"
    groups = {words[0]: words for words in map(str.split, lines[3:6])}
    assert groups["tiny/short"][1] == "2"
    assert groups["tiny/short"][3:] == ["2", "1", "own_bugs/nine"]
    assert groups["tiny/long"][3:] == ["3", "1", "own_bugs/forty_up"]
    assert groups["tiny/middle"][3:] == ["2", "0"]
    at = lines.index("caught by one case only:")
    assert lines[at + 1] == "  tiny/short/fp16/b1-h1-s1x9-d64: own_bugs/nine"
    assert lines[at + 2] == ""
    assert lines[-2] == "groups that catch nothing alone: tiny/middle"
    assert lines[-1] == "missed by the suite: own_bugs/legal"


def test_a_filter_leaves_out_cases(tmp_path):
    lines = worth(tmp_path, "--match", "tiny/*", "--exclude", "tiny/long/*")
    assert lines[0] == "3 of 5 kernels are caught"
    assert lines[-3] == ""
    assert "  tiny/middle/fp16/b1-h1-s1x39-d64: own_bugs/odd_and_long" in lines
    assert lines[-1] == "missed by the suite: own_bugs/forty_up own_bugs/legal"
