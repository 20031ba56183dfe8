"""The package prints the same as the program, for the file that save wrote."""
import json

import numpy as np
import pytest
from conftest import DTYPES, attention, random_inputs

import plumbline

QUESTION = {"causal": "top_left", "layout": "padded_bshd"}


def outputs(dtype):
    q, k, v = random_inputs(dtype)
    good, lse = attention(q, k, v, "top_left")
    wrong = good.copy()
    wrong[1, 5] = attention(q, k, v)[0][1, 5]
    return (q, k, v), good, wrong, lse


@pytest.mark.parametrize("dtype", DTYPES)
def test_check_prints_what_the_package_says(dtype, tmp_path, plumbline_program):
    (q, k, v), good, wrong, lse = outputs(dtype)
    for out, answer, code in ((good, "ROUNDING", 0), (wrong, "BUG", 1)):
        path = tmp_path / f"{answer}.safetensors"
        plumbline.save(path, out=out, q=q, k=k, v=v, lse=lse, **QUESTION)
        report = plumbline.check(out, q, k, v, lse=lse, name=str(path), **QUESTION)
        printed = plumbline_program("check", path)
        assert (printed.returncode, report.answer) == (code, answer), printed
        assert report.text == printed.stdout
        assert str(report) == report.text
        assert report.in_full() == plumbline_program("check", path, "-v").stdout
        assert bool(report) == (answer == "ROUNDING")
        assert (report.percent <= 100) == (answer == "ROUNDING")
        assert (report.json
                == json.loads(plumbline_program("check", path, "--format", "json").stdout)["data"])


def test_assert_attention_raises_the_text():
    (q, k, v), _, wrong, lse = outputs("bf16")
    with pytest.raises(AssertionError) as raised:
        plumbline.assert_attention(wrong, q, k, v, lse=lse, name="decode", **QUESTION)
    report = plumbline.check(wrong, q, k, v, lse=lse, name="decode", **QUESTION)
    lines = report.text.splitlines()
    answer, judged = lines[0], next(line for line in lines if line.startswith("  decode: "))
    assert answer.startswith("BUG: ")
    # pytest prefixes the lines of an exception, so the long first line is broken at another column
    # than in report.text. The test compares only the beginning of this line.
    assert judged in str(raised.value).splitlines()
    assert str(raised.value).startswith(answer[:40])
    assert "percent of the limit" in report.in_full() and "ladder" not in report.text


@pytest.mark.parametrize("dtype", DTYPES)
def test_diff_prints_what_the_package_says(dtype, tmp_path, plumbline_program):
    (q, k, v), good, wrong, lse = outputs(dtype)
    paths = [str(tmp_path / "good.safetensors"), str(tmp_path / "wrong.safetensors")]
    plumbline.save(paths[0], out=good, q=q, k=k, v=v, lse=lse, **QUESTION)
    plumbline.save(paths[1], out=wrong, q=q, k=k, v=v, **QUESTION)
    report = plumbline.diff(good, wrong, q, k, v, lse_a=lse, names=paths, **QUESTION)
    printed = plumbline_program("diff", *paths)
    assert report.text == printed.stdout
    assert (report.answer, printed.returncode) == ("BUG", 1)
    assert "wrong.safetensors) is wrong" in report.sentence
    assert report.percent > 100
    assert report.json["answer"] == "BUG"
    same = plumbline.diff(good, good, q, k, v, **QUESTION)
    assert (same.answer == "ROUNDING" and same.percent == 0
            and "equal in every element" in same.sentence)


def test_diff_of_two_rounded_outputs_is_rounding():
    (q, k, v), good, _, _ = outputs("bf16")
    nudged = good.view(np.uint16).copy()
    nudged[0, 3, 1, 7] += 1  # one ulp
    report = plumbline.diff(good, nudged.view(good.dtype), q, k, v, **QUESTION)
    assert report.answer == "ROUNDING"
    assert "1 bf16 ulp of" in report.sentence


def test_save_writes_safetensors(tmp_path):
    load_file = pytest.importorskip("safetensors.numpy").load_file
    (q, k, v), good, _, lse = outputs("fp16")
    path = tmp_path / "dump.safetensors"
    stated = {"seqlens_kv": [24, 24], "window": (3, 0), "scale": 0.25, "spec": "FlashAttention-2"}
    plumbline.save(path, out=good[:, ::2], q=q[:, ::2], k=k, v=v, lse=lse, **stated)
    tensors = load_file(path)
    assert set(tensors) == {"out", "q", "k", "v", "lse", "seqlens_kv"}
    np.testing.assert_array_equal(tensors["q"], q[:, ::2])
    assert tensors["seqlens_kv"].tolist() == [24, 24]
    with pytest.importorskip("safetensors").safe_open(path, "np") as file:
        assert file.metadata() == {"window": "3,0", "scale": "0.25", "spec": "FlashAttention-2"}
    # no temporary file remains
    assert [file.name for file in tmp_path.iterdir()] == ["dump.safetensors"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (q, k, v), *_ = outputs("fp16")
    with pytest.raises(OSError):
        plumbline.save(tmp_path / "missing" / "dump.safetensors", q=q, k=k, v=v)
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError):
        plumbline.save(tmp_path / "directory", q=q, k=k, v=v)
    assert [file.name for file in tmp_path.iterdir()] == ["directory"]
