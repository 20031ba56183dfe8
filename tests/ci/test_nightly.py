"""Tests ci/nightly.sh: the messages and exit code of a night if one of its runs ends badly."""
import os
import pathlib
import shlex
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLUMBLINE = pathlib.Path(os.environ["PLUMBLINE_BUILD"]) / "bin" / "plumbline"
SUITE = """schema = 1
name = "{name}"
tier = "nightly"
[[group]]
name = "g"
reason = "a short night"
kernels = ["cpu/flash"]
set = {{ seq = {seq}, heads_q = 2, dtype = "fp16" }}
"""
FOUND = "cpu:drop_last_key=1"


class Night:
    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out"
        self.write("s.toml", SUITE.format(name="night", seq=40))
        self.write("i.toml", SUITE.format(name="kept", seq=48))

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name

    def execute(self, *words, **environment):
        return subprocess.run(
            words, cwd=self.folder, text=True, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder),
                 "OMP_NUM_THREADS": "1", **environment})

    def run(self, *words, suites=":", invariances=":"):
        """Runs the script; `suites` and `invariances` are commands that replace or precede a
        run."""
        program = self.write("plumbline", f"""#!/bin/bash
if [[ "$1 $*" == "run "*" --invariances "* ]]; then {invariances}
elif [[ "$1" == run ]]; then {suites}; fi
exec {shlex.quote(str(PLUMBLINE))} "$@"
""")
        program.chmod(0o755)
        history = self.folder / "h.db"
        first = [] if history.exists() else ["--first-night"]
        done = self.execute(
            SOURCE / "ci" / "nightly.sh", "--history", history, *first, "--out", self.out,
            "--suite", self.folder / "s.toml", "--invariances", self.folder / "i.toml", *words,
            PLUMBLINE_BINARY=str(program))
        print(done.stdout)
        return done.returncode

    def summary(self):
        return (self.out / "summary.md").read_text(encoding="utf-8")


@pytest.fixture(name="night")
def make_night(tmp_path):
    return Night(tmp_path)


# KILL ends a run before it stores or writes anything; ends_with() changes the exit code of a
# complete run.
KILL = "kill -9 $$"


def ends_with(code):
    return f'{shlex.quote(str(PLUMBLINE))} "$@"; exit {code}'


@pytest.mark.parametrize("invariances, words", [
    (KILL, "the invariances with 137"), (ends_with(3), "the invariances with 3")])
def test_invariances_that_did_not_end_come_first_in_the_summary(night, invariances, words):
    assert night.run(invariances=invariances) == 3
    summary = night.summary()
    assert summary.startswith("## plumbline: Incomplete: night ")
    assert words in summary.partition("## plumbline: Fine")[0]
    assert "## plumbline: Fine" in summary, "what the suites came to stays"
    assert (night.folder / "h.db").exists()


def test_a_killed_run_of_the_suites_leaves_no_older_summary(night):
    assert night.run() == 0
    assert "## plumbline: Fine" in night.summary()
    assert night.run(suites=KILL) == 3
    summary = night.summary()
    assert summary.startswith("## plumbline: Incomplete: night ")
    assert "The suites ended with exit code 137" in summary
    assert not (night.out / "junit.xml").exists()


@pytest.mark.parametrize("suites, invariances, code", [
    (1, 3, 3), (1, 137, 3), (3, 1, 3), (5, 1, 1), (1, 5, 1), (0, 5, 5), (4, 3, 3), (4, 1, 4),
    (2, 3, 2), (139, 0, 3)])
def test_the_worse_code_wins(night, suites, invariances, code):
    assert night.run(suites=ends_with(suites), invariances=ends_with(invariances)) == code
    is_incomplete = night.summary().startswith("## plumbline: Incomplete: ")
    assert is_incomplete == (code in (2, 3))


@pytest.fixture(name="unmeasured")
def make_unmeasured(night):
    """The kernel supports no case of the invariances: their run is stored, but measured nothing."""
    night.write("i.toml", SUITE.format(name="kept", seq=48).replace("fp16", "fp32"))
    return night


def shard(night, *words, code, suite="s.toml"):
    done = night.execute(PLUMBLINE, "run", night.folder / suite, "--night", "n", "--db",
                         night.folder / "h.db", *words)
    assert done.returncode == code, done.stdout


def test_a_night_whose_invariances_measured_nothing_is_fine(unmeasured):
    assert unmeasured.run("--night", "n") == 0
    assert "exit code 4: a run measured nothing" in unmeasured.summary()


def test_invariances_that_measured_nothing_do_not_hide_a_shard_that_fails(unmeasured):
    shard(unmeasured, "--provider", FOUND, code=1)
    assert unmeasured.run("--night", "n") == 1


def test_a_shard_that_measured_nothing_is_not_excused(unmeasured):
    shard(unmeasured, code=4, suite="i.toml")
    assert unmeasured.run("--night", "n") == 4
    assert unmeasured.run("--night", "n", invariances=ends_with(0)) == 4


def test_a_shard_that_did_not_end_is_said_first(night):
    shard(night, code=0)
    done = night.execute("sqlite3", night.folder / "h.db",
                         "UPDATE run SET finished_at = NULL, complete = NULL")
    assert done.returncode == 0, done.stdout
    assert night.run("--night", "n") == 3
    assert night.summary().startswith("## plumbline: Incomplete: night n ")
