"""An output beyond out and LSE, the largest logit of each row, from kernels in C++ and Python to
verdicts, the database, dumps, differences and the page."""
import json
import pathlib
import sqlite3

import numpy as np
import plumbline
import pytest

from conftest import attention, random_inputs

KERNEL = '''
import numpy
from plumbline.kernels import kernel, options

options("error")


@kernel(dtypes=["fp32"], layouts=["padded_bshd"], lse=True, outputs="max_logit")
def rows(case):
    group = case.q.shape[2] // case.k.shape[2]
    k, v = (numpy.repeat(x, group, axis=2).astype(numpy.float64) for x in (case.k, case.v))
    s = numpy.einsum("bqhd,bkhd->bqhk", case.q.astype(numpy.float64), k) * case.scale
    largest = s.max(axis=-1)
    p = numpy.exp(s - largest[..., None])
    total = p.sum(axis=-1)
    out = numpy.einsum("bqhk,bkhd->bqhd", p / total[..., None], v)
    error = float(case.options.partition("=")[2] or 0)
    outputs = {"out": out, "lse": largest + numpy.log(total), "max_logit": largest + error}
    return {name: array.astype(numpy.float32) for name, array in outputs.items()}
'''
SMOKE = pathlib.Path(__file__).resolve().parents[2] / "cases" / "smoke.toml"
CASE = "fp32/b1-h4x2-s8x16-d32"


@pytest.fixture(name="provider")
def provider_file(tmp_path):
    path = tmp_path / "rows.py"
    path.write_text(KERNEL, encoding="utf-8")
    return path


def largest_logits(q, k):
    """Returns [batch, seq, heads] in fp32, from q and k without a mask."""
    k = np.repeat(k, q.shape[2] // k.shape[2], axis=2).astype(np.float64)
    s = np.einsum("bqhd,bkhd->bqhk", q.astype(np.float64), k) * q.shape[3] ** -0.5
    return s.max(axis=-1).astype(np.float32)


def stored_outputs(path):
    with sqlite3.connect(path) as database:
        return {output: (z, limit) for output, z, limit in database.execute(
            "SELECT output, max(z), max(limit_value) FROM v_outputs GROUP BY output")}


def test_a_planted_error_fails_smoke(plumbline_program, tmp_path):
    for value, code in (("1", 0), ("bf16", 1)):
        path = tmp_path / f"{value}.db"
        ran = plumbline_program("run", SMOKE, "--kernel", "cpu/naive", "--provider",
                                f"cpu:max_logit={value}", "--db", path, "-q")
        assert ran.returncode == code, ran.stdout + ran.stderr
        z, limit = stored_outputs(path)["max_logit"]
        assert limit == 8 and (z > limit) == (code == 1)  # the limit of the naive tier
    assert "max_logit is" in ran.stdout
    assert "only the largest logit is beyond its limit" in ran.stdout


def test_the_kernel_without_the_option_returns_none(plumbline_program, tmp_path):
    path = tmp_path / "runs.db"
    plumbline_program("run", SMOKE, "--kernel", "cpu/naive", "--db", path, "-q")
    assert set(stored_outputs(path)) == {"out", "lse"}


def test_a_kernel_in_python_is_judged_by_it(plumbline_program, provider, tmp_path):
    for error, code in ((0, 0), (0.001, 1)):
        path = tmp_path / f"{error}.db"
        ran = plumbline_program("run", "--provider", f"{provider}:error={error}", "--case",
                                f"rows/rows/{CASE}", "--db", path, "--format", "json")
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert set(stored_outputs(path)) == {"out", "lse", "max_logit"}
        errors = json.loads(ran.stdout)["data"]["outcomes"][0]["errors"]
        assert (errors["max_logit_z"] > 6) == (code == 1) and errors["lse_z"] < 6


def test_stored_again_it_is_judged_as_before(plumbline_program, provider, tmp_path):
    path = tmp_path / "runs.db"
    arguments = ("--provider", f"{provider}", "--case", f"rows/rows/{CASE}", "--db", path)
    for _ in range(2):
        assert plumbline_program("run", *arguments).returncode == 0
    shown = plumbline_program("show", "latest", "--db", path, "--format", "json")
    assert json.loads(shown.stdout)["data"]["outcomes"][0]["errors"]["max_logit_z"] < 6
    merged = tmp_path / "merged.db"
    assert plumbline_program("merge", merged, path).returncode == 0
    assert stored_outputs(merged) == stored_outputs(path)


def test_a_saved_failure_holds_it(plumbline_program, provider, tmp_path):
    ran = plumbline_program("run", "--provider", f"{provider}:error=0.001", "--case",
                            f"rows/rows/{CASE}", "--save-failures", tmp_path)
    assert ran.returncode == 1
    saved, = tmp_path.glob("**/*.safetensors")
    checked = plumbline_program("check", saved)
    assert checked.returncode == 1
    assert "only the largest logit is beyond its limit" in checked.stdout
    same = plumbline_program("diff", saved, saved)
    assert "max_logit" in same.stdout and same.returncode == 1


def test_page_shows_it(plumbline_program, provider, tmp_path):
    path = tmp_path / "runs.db"
    plumbline_program("run", "--provider", f"{provider}:error=0.001", "--case",
                      f"rows/rows/{CASE}", "--db", path)
    data = tmp_path / "page.json"
    assert plumbline_program("report", "--db", path, "--data", "-o", data).returncode == 0
    assert "max_logit_z" in data.read_text(encoding="utf-8")


def test_dumps_of_arrays():
    q, k, v = random_inputs("fp32", seq_q=8, seq_kv=16)
    out, lse = attention(q, k, v)
    rows = largest_logits(q, k)
    judged = {"lse": lse, "layout": "padded_bshd"}
    for max_logit, answer in ((rows, "ROUNDING"), (rows.transpose(0, 2, 1), "ROUNDING"),
                              (rows + np.float32(1e-3), "BUG")):
        assert plumbline.check(out, q, k, v, max_logit=max_logit, **judged).answer == answer
    with pytest.raises(TypeError, match="known are .*max_logit"):
        plumbline.check(out, q, k, v, max_logits=rows, **judged)


def test_no_key_is_minus_infinity():
    q, k, v = random_inputs("fp32", seq_q=8, seq_kv=4)
    out, lse = attention(q, k, v, causal="bottom_right")
    out[:, :4], lse[:, :4] = 0, -np.inf
    rows = np.full(lse.shape, -np.inf, np.float32)
    whole = np.einsum("bqhd,bkhd->bqhk", q.astype(np.float64),
                      np.repeat(k, 2, axis=2).astype(np.float64)) * q.shape[3] ** -0.5
    for row in range(4, 8):
        rows[:, row] = whole[:, row, :, :row - 3].max(axis=-1)
    asked = {"causal": "bottom_right", "layout": "padded_bshd", "lse": lse}
    assert plumbline.check(out, q, k, v, max_logit=rows, **asked).answer == "ROUNDING"
    rows[0, 0, 0] = 0
    assert plumbline.check(out, q, k, v, max_logit=rows, **asked).answer == "BUG"


def test_a_name_that_nothing_judges_is_refused(plumbline_program, provider):
    provider.write_text(KERNEL.replace('outputs="max_logit"', 'outputs="max_logits"'),
                        encoding="utf-8")
    ran = plumbline_program("run", "--provider", provider, "--case", f"rows/rows/{CASE}")
    assert ran.returncode not in (0, 1)
    assert 'declares the output "max_logits"; beyond out and lse there are: max_logit' in ran.stderr


def test_an_output_that_is_not_returned_is_an_error(plumbline_program, provider):
    provider.write_text(KERNEL.replace('"max_logit": largest + error', ""), encoding="utf-8")
    ran = plumbline_program("run", "--provider", provider, "--case", f"rows/rows/{CASE}")
    assert ran.returncode == 1 and "max_logit" in ran.stdout
