"""For unknown words, @kernel and Spec suggest valid ones."""
import os
import pathlib
import subprocess
import sys

import pytest

import plumbline
from plumbline import kernels as declarations


@pytest.fixture(autouse=True)
def nothing_declared():
    before = list(declarations.declared)
    declarations.declared.clear()
    yield
    declarations.declared[:] = before


def refused(declare, error=TypeError):
    with pytest.raises(error) as raised:
        declare()
    assert declarations.declared == []
    return str(raised.value)


def test_without_parentheses():
    @plumbline.kernel
    def softmax(case):
        return case.q

    assert softmax(type("Case", (), {"q": 3})) == 3
    [declared] = declarations.declared
    assert declared.name == "softmax"

    @plumbline.kernel()
    def other(case):
        return case.q

    by_default = declarations.declared[1]
    assert {field: value for field, value in vars(declared).items()
            if field not in ("name", "function")} == {
        field: value for field, value in vars(by_default).items()
        if field not in ("name", "function")}


def test_a_name_without_its_keyword():
    said = refused(lambda: plumbline.kernel("softmax"))
    assert "write @kernel(name='softmax')" in said


@pytest.mark.parametrize("word, meant", [
    ("dtype", "dtypes"), ("mask", "masks"), ("layout", "layouts"), ("kv_dtype", "kv_dtypes"),
    ("device", "devices"), ("promise", "promises"), ("alibi_slopes", "alibi"),
    ("frame_work", "framework")])
def test_an_argument_that_is_near_another(word, meant):
    said = refused(lambda: plumbline.kernel(**{word: "x"}))
    assert said.startswith(f"@kernel has no argument {word!r}; did you mean {meant}? The arguments")
    assert "name, dtypes, kv_dtypes" in said and said.endswith("token_scales, question, outputs")


def test_an_argument_that_is_near_nothing():
    assert "did you mean" not in refused(lambda: plumbline.kernel(xyz=1))


@pytest.mark.parametrize("word, meant", [("p_dtyp", "p_dtype"), ("qk_accum", "qk_accumulator"),
                                         ("s_round", "s_rounded")])
def test_a_field_of_a_spec(word, meant):
    said = refused(lambda: plumbline.Spec(**{word: "bf16"}))
    assert said.startswith(f"Spec() has no argument {word!r}; did you mean {meant}?")
    assert plumbline.Spec("bf16", p_normalized=True).p_dtype == "bf16"


@pytest.mark.parametrize("arguments, meant", [
    ({"dtypes": ("float16",)}, "fp16"), ({"dtypes": "torch.bfloat16"}, "bf16"),
    ({"masks": ("causal_topleft",)}, "causal_top_left"), ({"layouts": ("bhsd",)}, "padded_bhsd"),
    ({"framework": "pytorch"}, "torch"), ({"devices": "gpu"}, "cuda"), ({"masks": ("xyz",)}, None)])
def test_a_word_that_is_near_another(arguments, meant):
    said = refused(lambda: plumbline.kernel(name="a", **arguments)(lambda case: case), ValueError)
    assert " is not one of " in said
    assert said.endswith(f"; did you mean {meant}?") if meant else "did you mean" not in said


@pytest.mark.parametrize("bare", [True, False])
def test_a_function_of_q_k_and_v(bare):
    def attention(q, k, v):
        return q

    decorate = plumbline.kernel if bare else plumbline.kernel(name="mine")
    said = refused(lambda: decorate(attention))
    assert f"kernel {'attention' if bare else 'mine'!r} has the parameters (q, k, v)" in said
    assert "one argument, the case" in said


def test_parameters_with_defaults_and_of_methods():
    class Kernels:
        def run(self, case, scale=1):
            return case

    plumbline.kernel(name="a")(Kernels().run)
    plumbline.kernel(name="b")(lambda *case, **more: case)
    assert [one.name for one in declarations.declared] == ["a", "b"]


def test_the_old_module_is_the_new_one_and_warns():
    with pytest.warns(FutureWarning, match="plumbline_provider is plumbline.kernels now"):
        import plumbline_provider

    assert plumbline_provider.kernel is declarations.kernel


KERNEL = """
import numpy as np
from plumbline.kernels import kernel, options
options("0.01", "1e-8")  # the size of the noise

generator = np.random.default_rng()

@kernel(dtypes="fp32")
def noisy(case):
    noise = float(case.options or 0)
    out = case.new_out()
    for b in range(case.batch):
        q, k, v = (x.astype(np.float64) for x in case.sample(b))
        s = np.einsum("qhd,khd->hqk", q, k) * case.scale
        p = np.exp(s - s.max(-1, keepdims=True))
        o = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v)
        out[case.query_rows(b)] = o * 1.001 + noise * generator.standard_normal(o.shape)
    return out
"""
CASE = "noisy/noisy/fp32/b1-h1-s40-d64"


def run_kernel(folder, program, *arguments):
    (folder / "noisy.py").write_text(KERNEL, encoding="utf-8")
    return subprocess.run([program, "run", *arguments, "--no-store"], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


@pytest.fixture(name="program")
def program_of_the_build(monkeypatch):
    monkeypatch.setenv("PLUMBLINE_PYTHON", sys.executable)
    return pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"


def test_a_kernel_that_is_not_deterministic_is_called_that_first(tmp_path, program):
    ran = run_kernel(tmp_path, program, "--provider", "noisy.py:0.01", "-v", "--case", CASE)
    assert ran.returncode == 1, ran.stdout
    text = " ".join(ran.stdout.split())
    assert "fail: the second call (the same plan again) gave " in text
    assert "the kernel is not deterministic: two calls with the same inputs differ by" in text
    assert "would be explained" not in ran.stdout and "0.1 %" not in ran.stdout


def test_a_change_that_is_small_beside_the_error_hides_no_cause(tmp_path, program):
    ran = run_kernel(tmp_path, program, "--provider", "noisy.py:1e-8", "-v", "--case", CASE)
    assert ran.returncode == 1, ran.stdout
    assert "the second call (the same plan again) gave " in ran.stdout
    assert "not deterministic" not in ran.stdout


def test_a_file_under_another_name_than_the_suite_asks_for(tmp_path, program):
    (tmp_path / "suite.toml").write_text("""schema = 1
name = "s"
[[group]]
name = "g"
reason = "the file of the kernels was renamed"
kernels = ["mine/*"]
set = { seq = 8, dtype = "fp32" }
""", encoding="utf-8")
    ran = run_kernel(tmp_path, program, "suite.toml", "--provider", "noisy.py")
    assert ran.returncode == 2, ran.stdout
    assert 'no kernel matches "mine/*"' in ran.stdout
    assert 'no provider called "mine" is loaded; there are noisy/noisy' in ran.stdout
    assert "--kernel 'noisy/*'" in ran.stdout
    assert run_kernel(tmp_path, program, "suite.toml", "--provider", "noisy.py", "--kernel",
                      "noisy/*").returncode in (0, 1)
