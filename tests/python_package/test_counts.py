"""Every report counts the rows and tensors that were given but not judged."""
import json

import numpy as np
import pytest
from conftest import attention, random_inputs

import plumbline

ROWS = 2 * 24 * 4  # batch, queries, heads
KEYS = [24, 10]
PADDED = (24 - 10) * 4
WHY = "padding by the mask of valid keys"
GRADIENTS = "nothing judges gradients yet"
OF_DROPOUT = "nothing judges a call with dropout yet"


@pytest.fixture(name="call")
def fixture_call():
    """q, k, v and out of a padded batch with noise in the padded rows, and the mask of its keys."""
    q, k, v = random_inputs("fp16", heads_kv=4)
    out, _ = attention(q, k, v, keys=KEYS)
    out[1, 10:] = 99
    return {"q": q, "k": k, "v": v, "out": out}, np.arange(24)[None] < np.array(KEYS)[:, None]


def rows_not_judged(report):
    return [(some["count"], some["of"], some["why"]) for some in report["not_judged"]
            if some["what"] == "rows"]


def require_all_counted(dump, by_lengths=0):
    left_out = sum(count for count, _, _ in rows_not_judged(dump))
    assert dump["rows_compared"] + left_out + by_lengths == dump["rows_given"]


def by_file(program, path, *options):
    done = program("check", str(path), "--format", "json", *options)
    return json.loads(done.stdout)["data"]["dumps"][0], done.returncode


def test_every_way_in_counts_rows(call, plumbline_program, tmp_path, suite_of_tests):
    arrays, seen = call
    asked = {"layout": "bshd", "mask": seen}
    expected = [(PADDED, ROWS, WHY)]
    # Python
    report = plumbline.check(**arrays, **asked)
    assert report and rows_not_judged(report.json["dumps"][0]) == expected
    assert [some["count"] for some in report.not_judged] == [PADDED]
    assert f"not judged: {PADDED} of {ROWS} rows ({WHY})" in " ".join(report.text.split())
    require_all_counted(report.json["dumps"][0])
    # a dump
    path = tmp_path / "a.safetensors"
    plumbline.save(path, **arrays, **asked)
    dump, code = by_file(plumbline_program, path)
    assert (rows_not_judged(dump), code) == (expected, 0)
    require_all_counted(dump)
    dump, _ = by_file(plumbline_program, path, "--reference-cost", "1")
    require_all_counted(dump)
    assert dump["rows_compared"] < 136 and len(dump["not_judged"]) == 2
    # diff, of files and of arrays
    done = plumbline_program("diff", str(path), str(path), "--format", "json")
    compared = json.loads(done.stdout)["data"]["diffs"][0]
    assert done.returncode == 0 and [row[0] for row in rows_not_judged(compared)] == [PADDED] * 2
    question = {key: arrays[key] for key in "qkv"}
    assert len(plumbline.diff(arrays["out"], arrays["out"], **question, **asked).not_judged) == 2
    # a layer as ci/capture.py records it: lengths describe the padding
    lengths = np.array(KEYS, "int32")
    plumbline.save(path, **arrays, layout="bshd", padding="right", seqlens_q=lengths,
                   seqlens_kv=lengths)
    dump, code = by_file(plumbline_program, path)
    assert (dump["not_judged"], code) == ([], 0)
    require_all_counted(dump, PADDED)
    # pytest, which does not print a report that passes
    np.savez(suite_of_tests.project / "call.npz", seen=seen, **arrays)
    ran = suite_of_tests({"test_mine.py": TESTS}, "-q")
    assert "2 passed" in ran.stdout, ran.stdout
    assert f"plumbline: {PADDED} of {ROWS} rows not judged: {WHY} (2 calls)" in ran.stdout


TESTS = """
import numpy as np
import plumbline

call = np.load("call.npz")
asked = {"layout": "bshd", "mask": call["seen"]}
arrays = [call[name] for name in ("out", "q", "k", "v")]

def test_fixture(attention_judge):
    attention_judge.assert_attention(*arrays, **asked)

def test_function():
    plumbline.assert_attention(*arrays, **asked)
"""


SUITE = """schema = 1
name = "small"
[[group]]
name = "one"
reason = "padded, ragged and paged rows"
kernels = ["cpu/flash"]
set = { dtype = "bf16", batch = 3, heads = 2, seq_q = 9, seq_kv = 40, lengths = "random" }
product = { layout = ["padded_bshd", "ragged", "paged_nhd"] }
"""


def test_what_a_provider_wrote_is_counted(plumbline_program, tmp_path):
    (tmp_path / "s.toml").write_text(SUITE, "utf-8")
    run = ("run", str(tmp_path / "s.toml"), "--no-store", "-q", "--format", "json")
    done = plumbline_program(*run, "--save-outputs", str(tmp_path / "saved"))
    outcomes = json.loads(done.stdout)["data"]["outcomes"]
    assert [o["reference_rows"] - o["rows_total"] for o in outcomes] == [0] * 3, done.stderr
    for path in (tmp_path / "saved").glob("*.safetensors"):
        dump, code = by_file(plumbline_program, path)
        assert (code, dump["not_judged"]) == (0, []), dump
        require_all_counted(dump, dump["rows_given"] - outcomes[0]["rows_total"])
    sampled = plumbline_program(*run, "--reference-cost", "1")
    outcomes = json.loads(sampled.stdout)["data"]["outcomes"]
    assert all(o["reference_rows"] < o["rows_total"] for o in outcomes)


def test_every_way_in_says_what_is_not_judged_yet(call, plumbline_program, tmp_path,
                                                  suite_of_tests):
    arrays, _ = call
    arrays["out"], _ = attention(*(arrays[key] for key in "qkv"))
    gradients = {"layout": "bshd", "dq": arrays["q"], "dv": arrays["v"]}
    dropout = {"layout": "bshd", "dropout_p": 0.1}
    for asked, reason in ((gradients, GRADIENTS), (dropout, OF_DROPOUT)):
        report = plumbline.check(**arrays, **asked)
        assert report.answer == "UNDECIDED" and reason in report.sentence
        with pytest.raises(AssertionError, match="^UNDECIDED: "):
            plumbline.assert_attention(**arrays, **asked)
        path = tmp_path / "a.safetensors"
        plumbline.save(path, **arrays, **asked)
        dump, code = by_file(plumbline_program, path)
        assert (dump["answer"], code) == ("UNDECIDED", 5) and reason in dump["sentence"]
        done = plumbline_program("diff", str(path), str(path), "--format", "json")
        assert done.returncode == 5 and reason in json.loads(done.stdout)["data"]["diffs"][0][
            "sentence"]
        question = {key: arrays[key] for key in "qkv"}
        compared = plumbline.diff(arrays["out"], arrays["out"], **question, **asked)
        assert compared.answer == "UNDECIDED" and reason in compared.sentence
    assert plumbline.check(**arrays, layout="bshd", dropout_p=0.0)
    np.savez(suite_of_tests.project / "call.npz", **arrays)
    ran = suite_of_tests({"test_mine.py": OPEN}, "-q")
    assert "2 failed" in ran.stdout and ran.stdout.count("UNDECIDED: ") >= 2, ran.stdout


OPEN = """
import numpy as np
import pytest

call = np.load("call.npz")
arrays = [call[name] for name in ("out", "q", "k", "v")]

@pytest.mark.parametrize("asked", [{"dk": call["k"]}, {"dropout_p": 0.5}])
def test_fixture(attention_judge, asked):
    attention_judge.assert_attention(*arrays, layout="bshd", **asked)
"""


def test_a_mask_of_queries_and_keys_hides_no_rows(call):
    arrays, _ = call
    seen = np.zeros((24, 24), bool)
    seen[:, :10] = True
    q, k, v = (arrays[key] for key in "qkv")
    out, _ = attention(q, k, v, keys=[10, 10])
    for word in ("mask", "attn_mask"):
        asked = {"layout": "bshd", word: seen}
        plumbline.assert_attention(out, q, k, v, **asked)
        spoilt = out.copy()
        spoilt[:, 10:] = spoilt[:, :14]
        assert plumbline.check(spoilt, q, k, v, **asked).answer == "BUG"


def test_three_extents_mean_the_same_from_a_file_and_from_python(plumbline_program, tmp_path):
    q, k, v = random_inputs("fp16", heads_q=4, heads_kv=4)
    generator = np.random.default_rng(1)

    def of(mask):  # [batch, heads, queries, keys]
        s = np.einsum("bqhd,bkhd->bhqk", q.astype(float), k.astype(float)) / 32 ** 0.5
        p = np.exp(np.where(mask, s, -np.inf))
        return np.einsum("bhqk,bkhd->bqhd", p / p.sum(-1, keepdims=True), v.astype(float))

    for first, place in ((4, 0), (2, 1)):  # heads; batch
        mask = generator.random((first, 24, 24)) < 0.5
        mask[..., 0] = True
        out = of(np.expand_dims(mask, place)).astype(np.float16)
        for word in ("mask", "attn_mask"):
            asked = {"layout": "bshd", word: mask}
            plumbline.assert_attention(out, q, k, v, **asked)
            plumbline.save(tmp_path / "a.safetensors", out=out, q=q, k=k, v=v, **asked)
            assert by_file(plumbline_program, tmp_path / "a.safetensors")[1] == 0
    two_heads = [array[:, :, :2] for array in (q, k, v)]
    for word in ("mask", "attn_mask"):
        with pytest.raises(ValueError, match="may be .batch, seq_q, seq_kv. or .heads"):
            plumbline.check(out[:, :, :2], *two_heads, layout="bshd", **{word: mask})
