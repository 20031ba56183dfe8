"""Every call of a Python kernel is judged, whatever it promises."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

# Each kernel is named after its behaviour. It differs from the first call's in the second call of
# the process or of one plan.
KERNELS = """
import numpy as np
from plumbline.kernels import kernel

calls, last_calls = [0], [0]

def attend(case, out):
    for b in range(case.batch):
        q, k, v = (x.astype(np.float64) for x in case.sample(b))
        s = np.einsum("qhd,khd->hqk", q, k) * case.scale
        p = np.exp(s - s.max(-1, keepdims=True))
        out[case.query_rows(b)] = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v)
    return out

def every_second_call_of_the_process(case):
    def run():
        calls[0] += 1
        out = attend(case, case.new_out())
        if calls[0] % 2 == 0:
            out[0, 0] = np.nan
        return out
    return run

def the_plans_second_call(case):
    runs = [0]
    def run():
        runs[0] += 1
        out = attend(case, case.new_out())
        if runs[0] > 1:
            out[0, 0] = np.nan
        return out
    return run

def writes_once(case):
    out, runs = case.new_out(), [0]
    def run():
        runs[0] += 1
        return attend(case, out) if runs[0] == 1 else out
    return run

def one_array_for_all_calls(case):
    out = case.new_out()
    return lambda: attend(case, out)

def last_bit(case):
    def run():
        last_calls[0] += 1
        out = attend(case, case.new_out())
        out[0, 0] = np.nextafter(out[0, 0], np.float32(last_calls[0] % 2))
        return out
    return run

def no_function(case):
    return attend(case, case.new_out())

for way in (every_second_call_of_the_process, the_plans_second_call, writes_once,
            one_array_for_all_calls, last_bit, no_function):
    kernel(name=way.__name__, dtypes="fp32")(way)
    kernel(name=way.__name__ + "_promised", dtypes="fp32",
           promises={"run_to_run": "bitwise"})(way)
"""


@pytest.fixture(name="outcome", scope="module")
def outcomes_of_all(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (folder / "suite.toml").write_text("""schema = 1
name = "s"
[[group]]
name = "g"
reason = "every kernel once"
kernels = ["kernels/*"]
set = { seq = 8, dtype = "fp32" }
""", encoding="utf-8")
    program = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
    ran = subprocess.run([program, "run", "suite.toml", "--provider", "kernels.py", "--no-store",
                          "--format", "json"], cwd=folder, text=True, capture_output=True,
                         check=False, env={**os.environ, "PLUMBLINE_PYTHON": sys.executable})
    outcomes = {outcome["kernel"]: outcome
                for outcome in json.loads(ran.stdout)["data"]["outcomes"]}
    return lambda name: outcomes[f"kernels/{name}"]


@pytest.mark.parametrize("name", ["every_second_call_of_the_process", "the_plans_second_call",
                                  "the_plans_second_call_promised"])
def test_nan_of_a_later_call_fails(outcome, name):
    one = outcome(name)
    assert one["verdict"] == "fail"
    assert one["faults"]["nan"] == 64, one
    assert one["cause"].startswith("the second call (the same plan again) gave nan where the first "
                                   "gave "), one["cause"]
    assert "at sample 0, head 0, row 0, column 0; 64 of 512 elements" in one["cause"]


def test_nan_of_the_first_call_is_compared_with_the_second(outcome):
    one = outcome("every_second_call_of_the_process_promised")  # the process's fourth call
    assert one["verdict"] == "fail"
    assert one["cause"].startswith("the second call (the same plan again) gave 0.")
    assert " where the first gave nan, at sample 0, head 0, row 0, column 0" in one["cause"]


@pytest.mark.parametrize("promise", ["", "_promised"])
def test_an_output_that_is_not_written_again_is_found(outcome, promise):
    one = outcome("writes_once" + promise)
    assert one["verdict"] == "fail"
    assert one["faults"]["unwritten"] == 512, one
    assert "gave nothing where the first gave" in one["cause"]


@pytest.mark.parametrize("promise", ["", "_promised"])
@pytest.mark.parametrize("way", ["one_array_for_all_calls", "no_function"])
def test_a_legal_kernel_passes(outcome, way, promise):
    one = outcome(way + promise)
    assert one["verdict"] == "first_seen", one
    assert one["calls"] == 3 and one["repeat_equal"] and "call_difference" not in one


def test_other_bits_are_a_failure_only_where_promised(outcome):
    assert outcome("last_bit")["verdict"] == "first_seen"
    assert any("does not promise the same" in note for note in outcome("last_bit")["notes"])
    one = outcome("last_bit_promised")
    assert one["verdict"] == "fail"
    assert [finding["statistic"] for finding in one["findings"]] == ["run_to_run"]
    assert one["findings"][0]["text"].startswith("the second call (the same plan again) gave ")
