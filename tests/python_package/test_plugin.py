"""The pytest plugin, as pytest loads it in projects of their own."""
import os
import pathlib
import re
import resource
import shlex
import subprocess

import pytest

PYPROJECT = """
[tool.plumbline]
layout = "padded_bshd"
causal = "top_left"
spec = "FlashAttention-2"
"""
# The first lines of each project's tests.
BEGIN = """
import numpy as np
import pytest
from fp64 import attention, random_inputs

q, k, v = random_inputs("fp16")
good, lse = attention(q, k, v, "top_left")
wrong, _ = attention(q, k, v)
"""


def counts(output):
    """Returns {"passed": 2} from pytest's last line."""
    return {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)",
                                                   output.splitlines()[-1])}


def named_dumps(output, project):
    """Returns the files of the lines to paste, each of which must exist."""
    commands = re.findall(r"^E? +in full: plumbline check (\S+) -v$", output, re.MULTILINE)
    paths = [list(project.glob(shlex.split(command)[0])) for command in commands]
    for found in paths:
        assert len(found) == 1 and found[0].is_file(), output
    return [found[0] for found in paths]


def test_defaults_of_the_project(suite_of_tests):
    tests = BEGIN + """
def test_defaults(attention_judge):
    attention_judge.assert_attention(good, q, k, v)
    assert "FlashAttention-2" in attention_judge.check(good, q, k, v).sentence

def test_arguments_win(attention_judge):
    heads_first = [array.transpose(0, 2, 1, 3) for array in (wrong, q, k, v)]
    attention_judge.assert_attention(*heads_first, layout="bhsd", causal=False)
    attention_judge.assert_attention(*heads_first, layout="bhsd", is_causal=False)
    report = attention_judge.check(good, q, k, v, spec="PyTorch math")
    assert "PyTorch math" in report.sentence

def test_a_mask_of_torch_takes_the_place_of_causal(attention_judge):
    attention_judge.assert_attention(wrong, q, k, v, attn_mask=np.ones((24, 24), bool))

def test_diff(attention_judge):
    assert attention_judge.diff(good, good, q, k, v)
    assert attention_judge.diff(good, wrong, q, k, v).answer == "BUG"

def test_merge(attention_judge):
    parts = np.ones((3, 2, 4, 8), np.float32), np.zeros((3, 2, 4), np.float32)
    attention_judge.assert_merge(np.ones((3, 4, 8), np.float32), *parts)
"""
    ran = suite_of_tests({"pyproject.toml": PYPROJECT, "test_mine.py": tests})
    assert counts(ran.stdout) == {"passed": 5}, ran.stdout
    header = ("layout=padded_bshd, spec=FlashAttention-2, causal=top_left (pyproject.toml); "
              "dumps of failures: .pytest_cache/d/plumbline")
    assert header in ran.stdout


FP32 = """
def single(*arrays):
    return [array.astype(np.float32) for array in arrays]

def test_passes(attention_judge):
    fp32 = random_inputs("fp32")
    assert attention_judge.check(attention(*fp32, "top_left")[0], *fp32)
    attention_judge.assert_attention(attention(*fp32, "top_left")[0], *fp32)

def test_diff(attention_judge):
    fp32 = random_inputs("fp32")
    out = attention(*fp32, "top_left")[0]
    assert attention_judge.diff(out, out, *fp32)

def test_argument(attention_judge):
    for stated in ({"spec": "FlashAttention-2"}, {"spec": "FA2"}):
        with pytest.raises(ValueError, match="is not a rounding model for fp32"):
            attention_judge.check(*single(good, q, k, v), **stated)
    with pytest.raises(ValueError, match="is not a rounding model for fp32"):
        attention_judge.diff(*single(good, good, q, k, v), spec_b="FlashAttention-2")

def test_half_has_the_default(attention_judge):
    assert "FlashAttention-2" in attention_judge.check(good, q, k, v).sentence

def test_fails(attention_judge):
    attention_judge.assert_attention(*single(wrong, q, k, v))
"""
NOTE = ('the default of pyproject.toml is not applied: spec "FlashAttention-2" is not a rounding '
        "model for fp32 inputs")


@pytest.mark.parametrize("spread", [[], ["-n", "2"]])
def test_a_default_spec_that_the_dtype_has_no_rung_for(suite_of_tests, plumbline_program, spread):
    if spread:
        pytest.importorskip("xdist")
    ran = suite_of_tests({"pyproject.toml": PYPROJECT, "test_mine.py": BEGIN + FP32}, *spread)
    assert counts(ran.stdout) == {"passed": 4, "failed": 1}, ran.stdout
    # pytest marks each line of an error, and may break the note into several.
    assert NOTE in " ".join(re.sub(r"(?m)^E +", "", ran.stdout).split())
    # Two calls of the first test, one of the second and of the last.
    assert f"\nplumbline: {NOTE} (4 calls)\n" in ran.stdout
    [dump] = named_dumps(ran.stdout, suite_of_tests.project)
    again = plumbline_program("check", dump)
    assert again.returncode == 1 and "is not a rounding model" not in again.stdout, again.stdout


def test_a_default_spec_that_does_not_exist(suite_of_tests):
    wrong = PYPROJECT.replace("FlashAttention-2", "FlashAtention-2")
    ran = suite_of_tests({"pyproject.toml": wrong, "test_mine.py": BEGIN + """
def test_a(attention_judge):
    attention_judge.assert_attention(good, q, k, v)
"""})
    assert counts(ran.stdout) == {"failed": 1}
    assert 'spec "FlashAtention-2" is not a rounding model for fp16' in ran.stdout


def test_an_ambiguous_layout_names_the_default(suite_of_tests):
    ran = suite_of_tests({"test_mine.py": BEGIN + """
import plumbline

def square(*arrays):
    return [array[:, :4] for array in arrays]

def test_fixture(attention_judge):
    attention_judge.assert_attention(*square(good, q, k, v))

def test_function():
    plumbline.assert_attention(*square(good, q, k, v))
"""})
    assert counts(ran.stdout) == {"failed": 2}
    remedy = "remedy for all tests of a project: set layout in [tool.plumbline] of pyproject.toml"
    assert ran.stdout.count(f"E         {remedy}, which the fixture attention_judge reads") == 2


def test_ini_options_go_before_the_table(suite_of_tests):
    tests = BEGIN + """
def test_both(attention_judge):
    _, lse = attention(q, k, v)
    attention_judge.assert_attention(wrong, q, k, v, lse=lse / np.float32(np.log(2)))
"""
    ini = "[pytest]\nplumbline_causal = false\nplumbline_lse_base = 2\nplumbline_dumps = none\n"
    ran = suite_of_tests({"pyproject.toml": PYPROJECT, "pytest.ini": ini, "test_mine.py": tests})
    assert counts(ran.stdout) == {"passed": 1}, ran.stdout
    assert "causal=False, lse_base=2 (pyproject.toml and pytest.ini)" in ran.stdout
    assert "dumps of failures: none (pytest.ini)" in ran.stdout


@pytest.mark.parametrize("line, message", [
    ('layuot = "bhsd"', "unknown key 'layuot'\n  remedy: did you mean layout? The keys are"),
    ('layout = "raged"', "layout = 'raged' is not known\n  remedy: did you mean ragged? One of"),
    ('causal = "left"', "remedy: write one of true, false, top_left, bottom_right"),
    ("lse_base = 10", "lse_base = 10 is not known"),
    ("spec = 2", "a text in quotes"),
])
def test_usage_errors(suite_of_tests, line, message):
    pyproject = f"[tool.plumbline]\n{line}\n"
    ran = suite_of_tests({"pyproject.toml": pyproject, "test_mine.py": "def test_a(): pass"})
    assert ran.returncode == 4 and message in ran.stdout.replace("\nERROR: ", "\n"), ran.stdout
    assert "pyproject.toml: [tool.plumbline]" in ran.stdout


def test_dumps_of_failures(suite_of_tests, plumbline_program):
    files = {"pyproject.toml": PYPROJECT, "test_mine.py": BEGIN + """
outs = {"good": good, "wrong": wrong}
judged = "wrong"

@pytest.mark.parametrize("n", ["a/b", "a-b"])
def test_named_alike(attention_judge, n):
    with pytest.raises(AssertionError):
        attention_judge.assert_attention(wrong, q, k, v)
    attention_judge.assert_attention(outs[judged], q, k, v, msg="step 7")

def test_expects_a_bug(attention_judge):
    with pytest.raises(AssertionError, match="plumbline check"):
        attention_judge.assert_attention(wrong, q, k, v)

def test_merge(attention_judge):
    parts = np.ones((3, 2, 4, 8), np.float32), np.zeros((3, 2, 4), np.float32)
    attention_judge.assert_merge(np.zeros((3, 4, 8), np.float32), *parts, lse_base=2)
"""}
    ran = suite_of_tests(files)
    assert counts(ran.stdout) == {"failed": 3, "passed": 1}, ran.stdout
    folder = suite_of_tests.project / ".pytest_cache" / "d" / "plumbline"
    paths = named_dumps(ran.stdout, suite_of_tests.project)
    assert len(set(paths)) == 3 and all(path.parent == folder for path in paths)
    # One per failing call; none for the test that passes.
    first = set(folder.iterdir())
    assert len(first) == 5 and set(paths) < first
    assert "step 7" in ran.stdout
    assert (suite_of_tests.project / ".pytest_cache" / ".gitignore").is_file()
    for path in paths:
        answer = plumbline_program("check", str(path))
        assert answer.returncode == 1 and answer.stdout.startswith("BUG"), answer
        assert "FlashAttention-2" in answer.stdout or "merge" in path.name
    # The tests run again and fail: new dumps replace the old ones.
    suite_of_tests({})
    second = set(folder.iterdir())
    assert len(second) == 5 and not second & first
    # The tests pass.
    files["test_mine.py"] = files["test_mine.py"].replace('judged = "wrong"', 'judged = "good"')
    ran = suite_of_tests(files, "-k", "not merge")
    assert counts(ran.stdout)["passed"] == 3, ran.stdout
    assert ["merge" in path.name for path in folder.iterdir()] == [True]


FAILING = {"pyproject.toml": PYPROJECT, "test_mine.py": BEGIN + """
@pytest.mark.parametrize("n", range(6))
def test_wrong(attention_judge, n):
    attention_judge.assert_attention(wrong, q, k, v)
"""}


@pytest.mark.parametrize("spread, runs", [("load", 1), ("each", 2)])
def test_with_xdist(suite_of_tests, spread, runs):
    pytest.importorskip("xdist")
    ran = suite_of_tests(FAILING, "-n2", f"--dist={spread}", "--plumbline-dumps=kept")
    assert counts(ran.stdout) == {"failed": 6 * runs}, ran.stdout
    paths = named_dumps(ran.stdout, suite_of_tests.project)
    kept = list((suite_of_tests.project / "kept").iterdir())
    # If $CI is set, pytest's summary names the dumps again.
    assert len(kept) == 6 * runs and set(paths) == set(kept)
    assert {path.name.split(".")[2] for path in kept} == {"gw0", "gw1"}
    assert "dumps of failures: kept" in ran.stdout


def test_no_dumps(suite_of_tests):
    ran = suite_of_tests(FAILING, "--plumbline-no-dumps", "-k", "test_wrong and 3")
    assert counts(ran.stdout)["failed"] == 1 and "plumbline check" not in ran.stdout, ran.stdout
    assert not (suite_of_tests.project / ".pytest_cache" / "d").exists()
    ran = suite_of_tests({}, "-p", "no:cacheprovider", "-k", "test_wrong and 3")
    assert counts(ran.stdout)["failed"] == 1 and "plumbline check" not in ran.stdout, ran.stdout
    assert "pytest's cache is off" in ran.stdout


def test_a_folder_that_cannot_be_written_hides_no_failure(suite_of_tests):
    ran = suite_of_tests(FAILING, "--plumbline-dumps=pyproject.toml", "-k", "test_wrong and 3")
    assert counts(ran.stdout)["failed"] == 1, ran.stdout
    assert "BUG: " in ran.stdout and "no dump was written" in ran.stdout


SUITE = """
schema = 1
name = "mine"
defaults = { batch = 2, heads_q = 4, heads_kv = 2, seq = 33, head_dim = 32 }

[[group]]
name = "prefill"
reason = "tails"
kernels = ["mine/*"]
set = { layout = "padded_bhsd" }
product = { dtype = ["fp16", "bf16"], mask = ["none", "causal_bottom_right"] }
"""
KERNEL = """
import pytest
from fp64 import attention

def mine(case):
    bshd = [array.transpose(0, 2, 1, 3) for array in (case.q, case.k, case.v)]
    assert case.question["layout"] == "padded_bhsd"
    out, lse = attention(*bshd, case.question["causal"] or None, scale=case.question["scale"])
    assert case.out_dtype == out.dtype.name
    case.q[:] = 0  # judged is what was asked
    return out.transpose(0, 2, 1, 3), lse.transpose(0, 2, 1)

@pytest.mark.plumbline_suite("mine.toml", kernel="mine/softmax")
def test_mine(plumbline_case, attention_judge):
    out, lse = mine(plumbline_case)
    attention_judge.assert_case(plumbline_case, out, lse=lse, lse_layout="heads_first")

@pytest.mark.plumbline_suite("mine.toml", kernel="mine/softmax", match="*/fp16/*causal*")
def test_a_bug_is_found(plumbline_case, attention_judge):
    with pytest.raises(AssertionError, match=r"^BUG: (.|\\n)*?\\n  mine/softmax/fp16/"):
        attention_judge.assert_case(plumbline_case, mine(plumbline_case)[0][:, ::-1])
    with pytest.raises(TypeError, match="takes causal from the suite"):
        attention_judge.assert_case(plumbline_case, mine(plumbline_case)[0], causal=False)
"""


def test_a_suite_as_parameters(suite_of_tests):
    # A project's causal and layout do not apply to a suite.
    pyproject = PYPROJECT.replace("padded_bshd", "paged_nhd")
    files = {"pyproject.toml": pyproject, "mine.toml": SUITE, "test_mine.py": KERNEL}
    ran = suite_of_tests(files, "-v", "-n2", "--dist=load")
    assert counts(ran.stdout) == {"passed": 5}, ran.stdout
    for dtype in ("fp16", "bf16"):
        shape = f"test_mine[mine/softmax/{dtype}/b2-h4x2-s33-d32"
        assert f"{shape}/layout=padded_bhsd]" in ran.stdout
        assert f"{shape}/mask=causal_bottom_right/layout=padded_bhsd]" in ran.stdout


def test_a_suite_in_torch(suite_of_tests):
    pytest.importorskip("torch")
    tests = """
import pytest, torch

@pytest.mark.plumbline_suite("mine.toml", kernel="torch/sdpa", exclude="*causal*")
def test_sdpa(plumbline_case, attention_judge):
    case = plumbline_case.torch()
    assert case.q.dtype is getattr(torch, case.out_dtype)
    out = torch.nn.functional.scaled_dot_product_attention(case.q, case.k, case.v, enable_gqa=True)
    attention_judge.assert_case(case, out)
"""
    ran = suite_of_tests({"mine.toml": SUITE, "test_mine.py": tests}, "-q")
    assert counts(ran.stdout) == {"passed": 2}, ran.stdout


FEATURES = """
schema = 1
name = "features"
defaults = { batch = 2, heads_q = 4, heads_kv = 2, seq_q = 9, seq_kv = 33, head_dim = 32 }

[[group]]
name = "all"
reason = "whatever a question can say"
kernels = ["mine/*"]
pairwise.dtype = ["fp16", "bf16", "fp32"]
pairwise.mask = ["none", "causal_top_left", "causal_bottom_right", "custom"]
pairwise.layout = ["padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd"]
pairwise.lengths = ["full", "random"]
pairwise.padding = ["right", "left"]
pairwise.window = ["-1,-1", "7,-1"]
pairwise.scale = [0.0, 0.3]
pairwise.softcap = [0.0, 20.0]
pairwise.alibi = ["none", "random"]
pairwise.sinks = ["none", "normal"]

[[group]]
name = "fp8"
reason = "scales of blocks"
kernels = ["mine/*"]
set = { dtype = "e4m3", kv_dtype = "e4m3", kv_scales = "block", scale_block = 16 }

[[group]]
name = "views"
reason = "tensors with gaps, outputs in fp32"
kernels = ["mine/*"]
set = { view = "packed_kv", out_dtype = "fp32" }
"""


def test_a_case_states_all_of_its_question(tmp_path, monkeypatch):
    """The bundled kernel's output is right for the question that a test gets, and for no other."""
    import plumbline
    from plumbline import _suite_cases

    program = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
    monkeypatch.setenv("PLUMBLINE", str(program))
    (tmp_path / "features.toml").write_text(FEATURES, encoding="utf-8")
    cases = _suite_cases.listed(_suite_cases.asked(tmp_path, tmp_path, "features.toml"))
    subprocess.run([program, "run", "features.toml", "--kernel", _suite_cases._WRITER, "--no-store",
                    "--quiet", "--save-outputs", "out"], cwd=tmp_path, check=True,
                   stdout=subprocess.DEVNULL)
    answers = {}
    for path in (tmp_path / "out").iterdir():
        tensors, stated = _suite_cases._read(path)
        answers[stated["problem"]] = [_suite_cases._numpy(tensors[key]) for key in ("out", "lse")]
    assert len(answers) == len(cases) > 20
    for listed in cases:
        case = _suite_cases.inputs_of(listed, tmp_path)
        out, lse = answers[case.problem]
        asked = {**case.question, "lse": lse, "lse_layout": "heads_last"}
        report = plumbline.check(out, case.q, case.k, case.v, **asked)
        assert report.answer != "BUG", f"{case}: {report}"
        for key in ("softcap", "alibi_slopes", "sinks", "mask"):
            if key in asked:
                other = plumbline.check(out, case.q, case.k, case.v, **{**asked, key: None})
                assert other.answer != "ROUNDING", f"{case} without {key}"


@pytest.mark.parametrize("marker, environment, message", [
    ("", {}, "needs a suite: mark the test with @pytest.mark.plumbline_suite("),
    ('@pytest.mark.plumbline_suite("none.toml")', {}, "none.toml"),
    ('@pytest.mark.plumbline_suite("mine.toml", match="nothing*")', {}, "nothing*"),
    ('@pytest.mark.plumbline_suite("mine.toml", kernels="a")', {}, "kernels"),
    ('@pytest.mark.plumbline_suite("mine.toml")', {"PLUMBLINE": "/nowhere/plumbline"},
     "PLUMBLINE=/nowhere/plumbline is not a program"),
])
def test_suites_that_cannot_be_expanded(suite_of_tests, marker, environment, message):
    tests = f"import pytest\n{marker}\ndef test_a(plumbline_case): pass\n"
    ran = suite_of_tests({"mine.toml": SUITE, "test_mine.py": tests}, environment=environment)
    if environment and installed_command():
        pytest.skip("the package has the command within")
    assert counts(ran.stdout) == {"error": 1} and message in ran.stdout, ran.stdout
    assert "Traceback" not in ran.stdout


def installed_command():
    import plumbline

    return (pathlib.Path(plumbline.__file__).parent / "_native" / "bin" / "plumbline").is_file()


def test_24_tests_take_at_most_twice_what_assert_allclose_takes(suite_of_tests):
    """Compares the CPU time of a pytest run that judges with that of one that evaluates the same
    formula again. On an idle core of 2026, judging takes less than 3 s."""
    tests = """
import numpy
import pytest
from fp64 import attention, random_inputs

@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("causal", [None, "top_left", "bottom_right"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_mine(attention_judge, dtype, causal, seed):
    q, k, v = random_inputs(dtype, 2, 4, 4, 128, 128, 64, seed)
    out, _ = attention(q, k, v, causal)
    JUDGE
"""
    judge = 'attention_judge.assert_attention(out, q, k, v, causal=causal, layout="padded_bshd")'
    compare = "numpy.testing.assert_allclose(out, attention(q, k, v, causal)[0])"

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def seconds(line):
        before = used()
        ran = suite_of_tests({"test_mine.py": tests.replace("JUDGE", line)}, "-q",
                             environment={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
        assert counts(ran.stdout) == {"passed": 24}, ran.stdout
        return used() - before

    pairs = [(seconds(judge), seconds(compare)) for _ in range(3)]
    print(", ".join(f"{judged:.2f} s of CPU, {compared:.2f} s" for judged, compared in pairs))
    assert min(judged / compared for judged, compared in pairs) < 2
