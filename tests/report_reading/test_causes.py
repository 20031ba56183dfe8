"""Checks the causes that `plumbline run` names for twenty known bugs.

The expected causes in causes_of_mutants.toml were written before the first run.
"""
import collections
import fnmatch
import html
import json
import pathlib
import random
import re
import tomllib

import pytest
from conftest import LIBRARIES, SOURCE, run

TABLE = tomllib.loads((pathlib.Path(__file__).parent / "causes_of_mutants.toml").read_text())
DIAGNOSES = {"head", "edge", "denominator", "scale", "mask"}
NAMED_WITHIN = 200  # characters from the start of a failure


def drawn():
    """Repeats the draw described at the top of causes_of_mutants.toml."""
    mutants = tomllib.loads((SOURCE / "kernels/mutants/mutants.toml").read_text())["mutant"]
    by_name = {mutant["name"]: mutant for mutant in mutants}
    candidates = [by_name[name] for name in TABLE["candidates"]]
    assert all(mutant["diagnosis"] in DIAGNOSES for mutant in candidates)
    random.Random(TABLE["seed"]).shuffle(candidates)

    def at_most(a_class):
        taken = collections.Counter()
        for mutant in candidates:
            taken[mutant["class"]] += 1
            if taken[mutant["class"]] <= a_class:
                yield mutant["name"]

    two = list(at_most(2))
    return two + [name for name in at_most(3) if name not in two][: 20 - len(two)]


def test_table_matches_draw():
    assert [cause["mutant"] for cause in TABLE["cause"]] == drawn()


def named(failure, expected):
    return fnmatch.fnmatchcase(re.sub(r"\s+", " ", failure[:NAMED_WITHIN]),
                               f"*{expected.replace('[', '[[]')}*")


@pytest.mark.parametrize("cause", TABLE["cause"], ids=lambda cause: cause["mutant"])
def test_run_names_the_cause(cause, tmp_path):
    ids = [f"mutants/{cause['mutant']}/{problem}" for problem in cause["problem"]]
    arguments = ["run", "-q", "-j", "1", "--provider", LIBRARIES / "plumbline_mutants.so"]
    for case_id in ids:
        arguments += ["--case", case_id]
    printed = {}
    for format_ in ("text", "markdown", "json"):
        done = run(tmp_path, *arguments, "--verbose", "--format", format_)
        assert done.returncode == 1, done.stdout + done.stderr
        printed[format_] = done.stdout
    last = ids[-1]

    text = "\n" + printed["text"]
    # Long names are broken after a slash.
    name = re.search(r"\n  " + re.escape(last).replace("/", r"/(?:\n  )?") + ":", text)
    assert name, text
    failure = text[text.rindex("\nfail: ", 0, name.start()) + 1:]
    print("text:", failure[:NAMED_WITHIN])
    first = failure.splitlines()[0]
    assert fnmatch.fnmatchcase(first, f"fail: *{cause['expected'][:40]}*"), failure
    assert named(failure, cause["expected"]), failure

    markdown = html.unescape(printed["markdown"])
    failure = markdown[markdown.index(f"fail: {last}"):]
    assert named(failure, cause["expected"]), failure

    raw = printed["json"]
    outcome = next(o for o in json.loads(raw)["data"]["outcomes"] if o["case"] == last)
    assert fnmatch.fnmatchcase(outcome["cause"], f"*{cause['expected']}*"), outcome["cause"]
    failure = raw[raw.rindex("{", 0, raw.index(f'"case": "{last}"')):]
    assert named(failure, cause["expected"]), failure


# A case that a looser rounding model explains, one that none explains, and one with a wrong LSE.
LOOSER = [
    ("precision_scores_rounded/bf16/b1-h6x2-s33x130-d64/law=peaky/v=uniform",
     "PyTorch math: S to bf16 and P to bf16"),
    ("mask_drops_first_key/bf16/b1-h6x2-s33x130-d64", ""),
    ("epilogue_lse_base_two/bf16/b1-h6x2-s33x130-d64", ""),
]


@pytest.mark.parametrize(("case", "rung"), LOOSER, ids=[case.split("/")[0] for case, _ in LOOSER])
def test_run_names_the_looser_rung(case, rung, tmp_path):
    printed = {}
    for format_ in ("text", "markdown", "json"):
        done = run(tmp_path, "run", "-q", "-v", "--provider", LIBRARIES / "plumbline_mutants.so",
                   "--case", f"mutants/{case}", "--format", format_)
        assert done.returncode == 1, done.stdout + done.stderr
        printed[format_] = re.sub(r"\s+", " ", html.unescape(done.stdout))
    outcome = json.loads(printed["json"])["data"]["outcomes"][0]
    assert outcome["looser_rung"].startswith(rung) and bool(outcome["looser_rung"]) == bool(rung)
    for format_ in ("text", "markdown"):
        assert (f"looser would be explained by {rung}" in printed[format_]) == bool(rung)


def test_no_location_for_lse(tmp_path):
    done = run(tmp_path, "run", "-q", "--provider", LIBRARIES / "plumbline_mutants.so",
               "--case", f"mutants/{LOOSER[2][0]}")
    assert "where no location: only the LSE is beyond its limit" in re.sub(r"\s+", " ", done.stdout)
