"""`plumbline` of plumbline-attention: the same answers as the full program; it names missing parts.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy
import pytest

import plumbline
from plumbline._library import HARNESS_REMEDY

WHOLE = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
JUDGE = [sys.executable, "-c", "import plumbline_command; plumbline_command.main()"]
REMEDY = "pip install 'plumbline-attention[run]'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Dumps of a right and of a wrong output, one of other inputs, and an invalid file."""
    place = tmp_path_factory.mktemp("dumps")
    random = numpy.random.default_rng(0)
    q, k, v = random.standard_normal((3, 1, 48, 2, 32)).astype("float16")

    def attention(q, k, v, hidden):
        s = numpy.einsum("bqhd,bkhd->bhqk", q.astype(float), k.astype(float)) / 32 ** 0.5
        seen = numpy.tril(numpy.ones(s.shape[-2:], bool), -hidden)
        seen[:, 0] = True
        p = numpy.exp(numpy.where(seen, s, -numpy.inf))
        p /= p.sum(-1, keepdims=True)
        return numpy.einsum("bhqk,bkhd->bqhd", p, v.astype(float)).astype("float16")

    stated = {"layout": "padded_bshd", "causal": "top_left"}
    plumbline.save(place / "right.safetensors", q=q, k=k, v=v, out=attention(q, k, v, 0), **stated)
    plumbline.save(place / "wrong.safetensors", q=q, k=k, v=v, out=attention(q, k, v, 1), **stated)
    plumbline.save(place / "other.safetensors", q=q, k=k, v=q, out=attention(q, k, q, 0), **stated)
    plumbline.save(place / "unstated.safetensors", q=q, k=k, v=v, out=attention(q, k, v, 0))
    (place / "text.safetensors").write_text("no tensors", encoding="utf-8")
    (place / "broken").mkdir()
    (place / "broken" / "plumbline.toml").write_text("suite = 3\n", encoding="utf-8")
    (place / "project").mkdir()
    (place / "project" / "plumbline.toml").write_text('suites = ["mine.toml"]\n', encoding="utf-8")
    return place


def run(command, words, folder, **environment):
    return subprocess.run([*command, *words], cwd=folder, text=True, capture_output=True,
                          check=False, env={**os.environ, **environment})


CHECKS = ["right.safetensors", "wrong.safetensors", "-v right.safetensors",
          "right.safetensors wrong.safetensors --format json", "unstated.safetensors",
          "unstated.safetensors --layout padded_bshd --mask causal_top_left",
          "right.safetensors --spec strict", "right.safetensors --whole-ladder --color always",
          "right.safetensors --reference-cost 1000", "text.safetensors", "nowhere.safetensors",
          "text.safetensors --format json", "right.safetensors --lse-bas 2", "--mask", "",
          "right.safetensors --reference-cost x", "right.safetensors --config nowhere.toml",
          "right.safetensors --no-config", "--help"]
DIFFS = ["right.safetensors wrong.safetensors", "right.safetensors right.safetensors",
         "right.safetensors wrong.safetensors --format json", "right.safetensors",
         "right.safetensors other.safetensors", "right.safetensors nowhere.safetensors",
         "unstated.safetensors unstated.safetensors --layout padded_bshd --mask causal_top_left",
         "right.safetensors cases/smoke.toml", "cpu/flash cpu/split_kv",
         "right.safetensors wrong.safetensors cases/smoke.toml"]


@pytest.mark.parametrize("words", [f"check {words}" for words in CHECKS]
                         + [f"diff {words}" for words in DIFFS] + ["--colour", "check -- --mask"])
def test_the_same_text_and_exit_code(words, folder):
    judge, whole = (run(command, words.split(), folder) for command in (JUDGE, [WHOLE]))
    # For a word that it does not know, the judge adds one clause to the remedy.
    said = judge.stderr.replace(f"; for other commands and options: {HARNESS_REMEDY}", "")
    assert (judge.returncode, judge.stdout, said) == (
        whole.returncode, whole.stdout, whole.stderr)


def test_the_answers_are_those_of_dumps(folder):
    """Shows that the outputs compared above are not empty."""
    assert run(JUDGE, ["check", "right.safetensors"], folder).returncode == 0
    wrong = run(JUDGE, ["check", "wrong.safetensors"], folder)
    assert wrong.returncode == 1 and wrong.stdout.startswith("BUG")


@pytest.mark.parametrize("place, code", [("broken", 2), ("project", 1)])
def test_the_same_settings_of_a_project(place, code, folder):
    """plumbline.toml names suites, which `diff` ignores if it compares two dumps."""
    words = ["diff", "../right.safetensors", "../wrong.safetensors"]
    judge, whole = (run(command, words, folder / place) for command in (JUDGE, [WHOLE]))
    assert judge.returncode == code, judge.stderr
    assert (judge.returncode, judge.stdout, judge.stderr) == (
        whole.returncode, whole.stdout, whole.stderr)


@pytest.mark.parametrize("words", ["run cases/smoke.toml", "list", "doctor", "init mine",
                                   "report --db runs.db"])
def test_other_commands_name_the_other_package(words, folder):
    done = run(JUDGE, words.split(), folder)
    assert done.returncode == 2 and done.stdout == ""
    said = " ".join(done.stderr.split())
    assert f"plumbline: there is no command {words.split()[0]}" in said
    assert REMEDY in said and "wheel plumbline_attention_harness that ci/wheel.sh makes" in said


def test_two_kernels_name_the_other_package(folder):
    done = run(JUDGE, ["diff", "cpu/flash", "cpu/split_kv", "cases/smoke.toml"], folder)
    assert done.returncode == 2 and REMEDY in " ".join(done.stderr.split())
    done = run(JUDGE, ["run", "mine.toml", "--format", "json"], folder)
    answer = json.loads(done.stdout)
    assert answer["exit_code"] == done.returncode == 2 and done.stderr == ""
    assert REMEDY in answer["errors"][0]["remedy"]


def test_a_misspelt_command_is_guessed(folder):
    done = run(JUDGE, ["chekc", "right.safetensors"], folder)
    assert done.returncode == 2 and "did you mean check?" in done.stderr


def test_help_and_version(folder):
    said = run(JUDGE, ["--help"], folder)
    assert said.returncode == 0 and REMEDY in " ".join(said.stdout.split())
    judge, whole = (run(command, ["--version"], folder).stdout for command in (JUDGE, [WHOLE]))
    start = judge.split(")")[0]
    assert start.startswith("plumbline 0.") and whole.startswith(start)


def test_the_command_imports_no_numpy(folder):
    code = ("import sys, plumbline_command\ntry: plumbline_command.main()\n"
            "finally: print('numpy' in sys.modules)")
    done = run([sys.executable, "-c", code], ["check", "right.safetensors"], folder)
    assert done.stdout.splitlines()[-1] == "False" and "ROUNDING" in done.stdout


def test_a_closed_pipe_ends_it(folder):
    with subprocess.Popen([*JUDGE, "check", "right.safetensors"], cwd=folder,
                          stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE


def test_without_a_library_there_is_a_remedy(folder):
    done = run(JUDGE, ["check", "right.safetensors"], folder,
               PLUMBLINE_CHECK_LIBRARY="/nowhere.so")
    assert done.returncode == 3
    assert "/nowhere.so" in done.stderr and "remedy: pip install plumbline-attention" in done.stderr


def test_the_whole_program_is_the_one_that_runs(tmp_path):
    """The command with plumbline-attention-harness installed."""
    programs = tmp_path / "plumbline" / "_native" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "plumbline" / "__init__.py").touch()
    for name in ("plumbline", "plumbline-ptx"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" "$PLUMBLINE_PYTHON"\n',
                                     encoding="utf-8")
        (programs / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PYTHONPATH']}"
    environment = {"PYTHONPATH": path, "PLUMBLINE_PYTHON": "mine"}
    assert run(JUDGE, ["check", "x"], tmp_path, **environment).stdout == "plumbline check x mine\n"
    ptx = [sys.executable, "-c", "import plumbline_command; plumbline_command.ptx()"]
    assert run(ptx, ["list"], tmp_path, **environment).stdout == "plumbline-ptx list mine\n"


def test_plumbline_ptx_names_the_other_package(tmp_path):
    ptx = [sys.executable, "-c", "import plumbline_command; plumbline_command.ptx()"]
    done = run(ptx, ["list"], tmp_path)
    assert done.returncode == 1 and REMEDY in done.stderr
