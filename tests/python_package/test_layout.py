"""One layout for the reports of check, diff, run and pytest: line 1 has the verdict and its cause,
the next the judged input; at most twelve lines, none wider than the terminal."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import pytest
from conftest import attention, random_inputs

import plumbline

WIDTHS = (60, 80, 100, 120)
MOST_LINES = 12
PROGRAM = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
CASE = "cpu/flash/bf16/b2-h8x2-s17x70-d64/mask=causal_bottom_right"
DROPS_A_KEY = ("--provider", "cpu:drop_last_key=1")

TESTS = """
import plumbline
from fp64 import attention, random_inputs

q, k, v = random_inputs("bf16", seq_q=64, seq_kv=64)
wrong, _ = attention(q, k, v, "top_left", scale=1.01 * 32 ** -0.5)

def test_fixture(attention_judge):
    attention_judge.assert_attention(wrong, q, k, v, causal="top_left", layout="padded_bshd")

def test_function():
    for _ in range(1):
        if True:
            plumbline.assert_attention(wrong, q, k, v, causal="top_left", layout="padded_bshd")

def test_no_problem(attention_judge):
    attention_judge.assert_attention(wrong[:, 1:], q, k, v, layout="padded_bshd")

def test_no_array():
    plumbline.assert_attention(wrong, q, k, "v", layout="padded_bshd")
"""


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """A folder with right.safetensors, and wrong.safetensors with a scale that is 1 % too large."""
    folder = tmp_path_factory.mktemp("dumps")
    q, k, v = random_inputs("bf16", seq_q=64, seq_kv=64)
    for name, factor in (("right", 1), ("wrong", 1.01)):
        out, _ = attention(q, k, v, "top_left", scale=factor * 32 ** -0.5)
        plumbline.save(folder / f"{name}.safetensors", out=out, q=q, k=k, v=v, causal="top_left",
                       layout="padded_bshd")
    return folder


def on_a_terminal(folder, width, *arguments):
    """Returns the output of a command on a terminal, without colors."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    with subprocess.Popen([PROGRAM, *arguments], cwd=folder, stdin=terminal, stdout=terminal,
                          stderr=subprocess.DEVNULL, env=environment):
        os.close(terminal)
        printed = b""
        try:
            while part := os.read(controller, 65536):
                printed += part
        except OSError:  # the terminal is gone with the program
            pass
    os.close(controller)
    return re.sub(r"\x1b\[[0-9;]*m", "", printed.decode()).replace("\r", "")


def in_a_pipe_of(folder, width, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True,
                          check=False, env={**os.environ, "COLUMNS": str(width)}).stdout


def check_report(report, width, verdict, cause, judged, prefix=0):
    """Checks the lines of one report against the layout."""
    lines = report.rstrip("\n").splitlines()
    assert len(lines) <= MOST_LINES, report
    assert all(prefix + len(line) <= width for line in lines), report
    assert lines[0].startswith(f"{verdict}: {cause}"[:width - prefix - 25]), report
    head = re.sub(r"\s+", " ", report)
    assert head.startswith(f"{verdict}: {cause}"), report
    # The judged input follows the cause, whose continuation lines are indented more deeply.
    second = next(n for n, line in enumerate(lines) if n > 0 and re.match(r"  \S", line))
    assert all(line.startswith("   ") for line in lines[1:second]), report
    assert re.match(judged, re.sub(r"\s+", " ", " ".join(lines[second:second + 3])).strip()), report


@pytest.mark.parametrize("print_at", [on_a_terminal, in_a_pipe_of])
@pytest.mark.parametrize("width", WIDTHS)
def test_check(dumps, width, print_at):
    report = print_at(dumps, width, "check", "wrong.safetensors")
    check_report(report, width, "BUG", "the softmax scale is 1 % too large",
                 r"wrong.safetensors: all 512 rows compared with fp64")
    assert report.splitlines()[-1].endswith("plumbline check wrong.safetensors -v")
    report = print_at(dumps, width, "check", "right.safetensors")
    check_report(report, width, "ROUNDING", "explained by what",
                 r"right.safetensors: all 512 rows compared with fp64")


@pytest.mark.parametrize("print_at", [on_a_terminal, in_a_pipe_of])
@pytest.mark.parametrize("width", WIDTHS)
def test_diff(dumps, width, print_at):
    report = print_at(dumps, width, "diff", "right.safetensors", "wrong.safetensors")
    check_report(report, width, "BUG",
                 "b (wrong.safetensors) is wrong: the softmax scale is 1 % too large",
                 r"right.safetensors and wrong.safetensors: all 512 rows compared with fp64")
    assert "plumbline diff right.safetensors" in report


@pytest.mark.parametrize("print_at", [on_a_terminal, in_a_pipe_of])
@pytest.mark.parametrize("width", WIDTHS)
def test_run(tmp_path, width, print_at):
    printed = print_at(tmp_path, width, "run", "-q", "--case", CASE, *DROPS_A_KEY)
    report, _, rest = printed.partition("\n\n")
    check_report(report, width, "fail", "would be explained if each sample's last key were not",
                 re.escape(CASE) if width > 70 else "cpu/flash")
    assert "rows compared with fp64" in re.sub(r"\s+", " ", report)
    assert all(len(line) <= width for line in rest.splitlines()), rest
    # The command repeats the failure, even if it spans several lines.
    command = report[report.index("reproduce: ") + len("reproduce: "):]
    again = subprocess.run(["sh", "-c", command + " -q"], cwd=tmp_path, capture_output=True,
                           text=True, check=False)
    assert again.returncode == 1 and CASE in again.stdout, command


@pytest.mark.parametrize("width", WIDTHS)
def test_pytest(suite_of_tests, width):
    ran = suite_of_tests({"test_mine.py": TESTS}, environment={"COLUMNS": str(width)})
    cause = "the softmax scale is 1 % too large"
    for test, depth in (("test_fixture", 8), ("test_function", 16)):
        of_test = ran.stdout.split(f" {test} ", 1)[1].split("\ntest_mine.py:", 1)[0]
        lines = [line[depth:] for line in of_test.splitlines() if line.startswith("E  ")]
        assert lines[0].startswith("AssertionError: "), of_test
        report = "\n".join([lines[0].removeprefix("AssertionError: "), *lines[1:]])
        check_report(report, width, "BUG", cause, "attention: all 512 rows compared", depth)
        if test == "test_fixture":
            command = re.sub(r" \\\n +", " ", report)  # as a shell joins its lines
            assert "plumbline check .pytest_cache/d/plumbline/*." in command
    # If the arrays form no valid problem, the report shows nothing of the package's internals.
    for word in ("_ask", "_FuncPtr", "ctypes", "_library.py", "__init__.py", "pytest_plugin.py"):
        assert word not in ran.stdout, ran.stdout
    assert "ValueError: attention: " in ran.stdout and "TypeError: v: " in ran.stdout


def test_the_short_summary_has_the_cause(suite_of_tests):
    ran = suite_of_tests({"test_mine.py": TESTS}, "--no-header", environment={"COLUMNS": "100"})
    summary = next(line for line in ran.stdout.splitlines()
                   if line.startswith("FAILED test_mine.py::test_function"))
    assert "BUG: the softmax scale is 1 % too" in summary, ran.stdout


def test_everything_is_in_a_verbose_report(suite_of_tests, dumps):
    brief = in_a_pipe_of(dumps, 100, "check", "wrong.safetensors")
    full = in_a_pipe_of(dumps, 100, "check", "wrong.safetensors", "-v")
    assert "percent of the limit" in full and "percent of the limit" not in brief
    ran = suite_of_tests({"test_mine.py": TESTS}, "-v", "-k", "test_fixture")
    assert "percent of the limit" in re.sub(r"\nE +", " ", ran.stdout), ran.stdout


def test_unused_tensors_are_named(tmp_path):
    q, k, v = random_inputs("bf16")
    out, lse = attention(q, k, v, "top_left")
    tensors, stated = plumbline._dump(
        {"out": out, "q": q, "k": k, "v": v, "causal": "top_left", "layout": "bshd"}, {})
    tensors["rope_cos"] = tensors["query"] = tensors["q"]
    plumbline._write_dump(tmp_path / "more.safetensors", tensors, stated)
    report = in_a_pipe_of(tmp_path, 100, "check", "more.safetensors")
    assert "; unused: query, rope_cos" in re.sub(r"\s+", " ", report)
    report = in_a_pipe_of(tmp_path, 100, "diff", "more.safetensors", "more.safetensors")
    assert "; unused: query, rope_cos (b)" in re.sub(r"\s+", " ", report)


def test_the_command_states_the_question_again(tmp_path):
    q, k, v = random_inputs("bf16")
    out, _ = attention(q, k, v, "top_left")
    plumbline.save(tmp_path / "two words.safetensors", out=out, q=q, k=k, v=v)
    asked = ("--layout", "padded_bshd", "--mask", "causal_top_left")
    report = in_a_pipe_of(tmp_path, 120, "check", "two words.safetensors", *asked)
    assert report.splitlines()[-1] == ("in full: plumbline check 'two words.safetensors' "
                                       "--layout padded_bshd --mask causal_top_left -v")
