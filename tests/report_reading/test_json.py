"""Every command's JSON: the envelope of docs/json.md, and numbers that pandas reads as numbers."""
import json
import re

import pandas
import pytest
from conftest import LIBRARIES, SOURCE, run

# Verb, arguments, exit code and, by list of `data`, the columns that docs/json.md promises to be
# numbers.
OUTCOMES = {"outcomes": ["percent_of_limit", "errors.peak", "errors.rms", "errors.lse_z", "wall_ms",
                         "time_ns", "time_ratio", "rows_total", "faults.nan", "worst.sigma"],
            "diffs": ["max_sigma", "max_abs", "percent_of_limit", "rms_a"],
            "suite_scores": ["value", "limit", "cases"]}
ANSWERS = [
    ("run", ["s.toml", "-q", "--no-store"], 0, OUTCOMES),
    ("run", ["s.toml", "-q", "--no-store", "--invariances=split", "--kernel", "cpu/split_kv"], 0,
     {"invariances": ["calls", "elements", "other_bits", "percent_of_limit"]}),
    ("list", ["s.toml"], 0, {}),
    ("list", ["s.toml", "--count"], 0, {"groups": ["cases"]}),
    ("list", ["--kernels"], 0, {}),
    ("list", ["--suites"], 0, {}),
    ("init", ["start"], 0, {}),
    ("show", ["latest", "--db", "runs.db"], 0, OUTCOMES),
    ("compare", ["latest~1", "latest", "--db", "runs.db"], 1,
     {"cases": ["rms_before", "rms_after", "time_ratio_after"]}),
    ("matrix", ["latest", "--db", "emulated.db"], 0,
     {"rows": ["cases"], "bits": ["common", "equal"]}),
    ("history", ["*", "--db", "runs.db"], 0,
     {"rows": ["rms", "percent_of_limit", "time_ns", "time_ratio"]}),
    ("bisect", ["--case", "cpu/flash/bf16/b1-h4x2-s17x70-d64", "--build", "true", "--good", "a1b2",
                "--bad", "c3d4", "--by", "verdict", "--db", "runs.db"], 0, {}),
    ("export", ["--parquet", "runs.parquet", "--db", "runs.db"], 0, {}),
    ("report", ["latest", "--data", "-o", "r.json", "--db", "runs.db"], 0, {}),
    ("night", ["open", "--id", "n1", "--who", "me", "--db", "runs.db"], 0, {}),
    ("prune", ["runs.db", "--dry-run"], 0, {}),
    ("judge", ["latest", "--db", "runs.db"], 1, OUTCOMES),
    ("merge", ["all.db", "runs.db"], 0, {}),
    ("reduce", ["{failing}", "-q", "--provider", "{broken}"], 0, {}),
    ("query",
     ["SELECT verdict, count(*) AS n, max(rms) AS rms FROM v_latest GROUP BY verdict", "--db",
      "runs.db"], 0,
     {"rows": ["n", "rms"]}),
    ("check", ["{dump}"], 1, {"dumps": ["percent_of_limit", "rows"]}),
    ("diff", ["{dump}", "{dump}"], 1, {"diffs": ["rows", "max_abs", "limit"]}),
    ("diff", ["cpu/flash", "cpu/split_kv", "s.toml", "-q"], 0,
     {"diffs": ["rows", "max_sigma", "kappa.median"]}),
    ("audit", ["a.toml", "-q"], None, {"mutants": [], "legal": ["runs", "false_alarms"]}),
    ("baseline", ["accept", "latest~1", "--why", "a test", "--who", "me", "--db", "runs.db"], 0,
     {}),
    ("baseline", ["list", "--db", "runs.db"], 0, {}),
    ("support", ["suggest", "--db", "runs.db"], 0, {}),
    ("doctor", [], 0, {}),
]
VERBS = {"run", "list", "show", "compare", "matrix", "history", "bisect", "export", "judge",
         "merge", "confirm", "night", "prune", "reduce", "query", "check", "diff", "audit",
         "resources", "baseline", "support", "doctor", "report", "serve", "init", "completion",
         "manual"}
# Text that looks like a number. Only ids, digests and versions may consist of digits.
NUMBER = re.compile(r"^\s*[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|nan|inf(inity)?)\s*%?\s*$",
                    re.IGNORECASE)
TEXTS = {"run_id", "commit", "code_commit", "build_id", "output_digest", "problem_digest",
         "version", "host", "shard"}


@pytest.fixture(scope="module")
def things(folder):
    """Creates what the arguments above name: a failing case, the provider that breaks it, its dump
    and further files in the folder."""
    broken = str(LIBRARIES / "plumbline_cpu.so") + ":drop_last_key=1"
    failing = "cpu/flash/bf16/b1-h4x2-s17x70-d64"
    run(folder, "run", "--case", failing, "--provider", broken, "--save-failures", "failures", "-q")
    dump = next((folder / "failures").iterdir())
    (folder / "a.toml").write_text(
        'schema = 1\nname = "a"\ntier = "pr"\n[[group]]\nname = "g"\n'
        'reason = "two bugs, one variant"\n'
        'kernels = ["mutants/mask_drops_last_key", "mutants/head_modulo", '
        '"mutants/legal_baseline"]\n'
        'set = { dtype = "bf16", heads_q = 6, heads_kv = 2, seq_q = 17, seq_kv = 70, '
        'head_dim = 64 }\n')
    (folder / "e.toml").write_text(
        'schema = 1\nname = "e"\ntier = "pr"\n[[group]]\nname = "g"\n'
        'reason = "two architectures"\n'
        'kernels = ["emulated/prefill_mma"]\ndevices = ["emulated:sm_80", "emulated:sm_90"]\n'
        'set = { dtype = "bf16", heads = 1, seq = 16, head_dim = 64 }\n')
    run(folder, "run", "e.toml", "--db", "emulated.db", "-q")
    return {"failing": failing, "broken": broken, "dump": str(dump)}


def envelope(done, command):
    answer = json.loads(done.stdout,
                        parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    assert done.stderr == ""
    assert answer["schema"] == {"name": f"plumbline.{command}", "version": 1}
    assert answer["command"] == command
    assert answer["exit_code"] == done.returncode
    assert re.match(r"\d+\.\d+\.\d+", answer["plumbline"])
    return answer


def lists_of_objects(value):
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            yield value
        for item in value:
            yield from lists_of_objects(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from lists_of_objects(item)


def numbers_as_texts(value, key=""):
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers_as_texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_as_texts(item, key)
    elif isinstance(value, str) and key not in TEXTS and NUMBER.match(value):
        yield key, value


def is_number(value):
    """Returns true for a number except NaN, which pandas uses if a row lacks the column."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


@pytest.mark.parametrize(("verb", "arguments", "code", "columns"), ANSWERS,
                         ids=[" ".join([v, *a])[:40] for v, a, _, _ in ANSWERS])
def test_numbers_are_numbers(folder, things, verb, arguments, code, columns):
    done = run(folder, verb, *[argument.format(**things) for argument in arguments], "--format",
               "json")
    answer = envelope(done, verb)
    assert code is None or answer["exit_code"] == code, answer
    assert answer["errors"] == []
    data = answer["data"]
    assert isinstance(data, dict) and data
    assert list(numbers_as_texts(data)) == []
    for objects in lists_of_objects(data):
        frame = pandas.json_normalize(objects)
        for column in frame:
            if any(is_number(value) for value in frame[column]):
                assert pandas.api.types.is_numeric_dtype(frame[column]), (
                    (column, list(frame[column])[:5]))
    for name, numeric in columns.items():
        frame = pandas.json_normalize(data[name])
        assert len(frame) > 0, name
        for column in numeric:
            assert pandas.api.types.is_numeric_dtype(frame[column]), (
                (name, column, frame[column].dtype))


def test_resources(folder):
    """If nvcc is missing, the envelope reports an error."""
    answer = envelope(run(folder, "resources", "--format", "json"), "resources")
    if answer["exit_code"] == 4:
        assert answer["data"] is None and answer["errors"]
        return
    frame = pandas.json_normalize(answer["data"]["rows"])
    for column in ("registers", "threads"):
        assert pandas.api.types.is_numeric_dtype(frame[column]), column


def test_every_verb_is_covered():
    listed = run(SOURCE, "--help").stdout
    offered = set(re.findall(r"^  ([a-z]+) {2,}", listed, re.MULTILINE)) - {"help"}
    assert offered == VERBS
    # tests/fleet has unconfirmed cases for confirm; test_serve.py ends a server; completion and
    # manual write text for other programs.
    elsewhere = {"resources", "confirm", "serve", "completion", "manual"}
    assert {verb for verb, *_ in ANSWERS} | elsewhere == VERBS


ERRORS = [
    ("run", ["absent.toml"], 2, "absent.toml"),
    ("run", ["s.toml", "--kernel", "cpu/flsh"], 2, None),
    ("run", ["s.toml", "--no-such-option"], 2, None),
    ("list", ["absent.toml"], 2, "absent.toml"),
    ("show", ["latest", "--db", "absent.db"], 3, "absent.db"),
    ("serve", ["--db", "absent.db"], 3, "absent.db"),
    ("compare", ["zzzz", "latest", "--db", "runs.db"], 2, None),
    ("matrix", ["latest", "--db", "runs.db"], 4, None),
    ("history", ["nothing*", "--db", "runs.db"], 4, None),
    ("bisect", ["--case", "no/such", "--build", "true", "--db", "runs.db"], 4, None),
    ("export", ["--parquet", "x.parquet", "--night", "none", "--db", "runs.db"], 2, None),
    ("night", ["show", "none", "--db", "runs.db"], None, None),
    ("prune", ["absent.db"], 3, None),
    ("confirm", ["absent.json", "--past", "runs.db", "--db", "c.db"], 2, None),
    ("judge", ["zzzz", "--db", "runs.db"], None, None),
    ("merge", ["out.db", "absent.db"], 3, "absent.db"),
    ("reduce", ["no/such/case", "-q"], 2, None),
    ("query", ["SELECT nonsense", "--db", "runs.db"], 2, None),
    ("check", ["absent.safetensors"], 2, "absent.safetensors"),
    ("diff", ["absent.safetensors", "other.safetensors"], 2, "absent.safetensors"),
    ("audit", ["absent.toml"], 2, "absent.toml"),
    ("resources", ["--reports", "absent"], 2, "absent"),
    ("baseline", ["accept", "zzzz", "--why", "a test", "--who", "me", "--db", "runs.db"], 2, None),
    ("support", ["suggest", "--db", "absent.db"], 3, "absent.db"),
    ("doctor", ["--baselines", "absent"], 3, None),
]


@pytest.mark.parametrize(("verb", "arguments", "code", "file"), ERRORS,
                         ids=[" ".join([v, *a])[:40] for v, a, _, _ in ERRORS])
def test_errors_are_in_the_envelope(folder, verb, arguments, code, file):
    answer = envelope(run(folder, verb, *arguments, "--format", "json"), verb)
    assert answer["exit_code"] != 0
    assert code is None or answer["exit_code"] == code, answer
    if verb == "doctor":  # an error of doctor is part of its data
        assert not answer["data"]["fine"]
        return
    assert answer["errors"], answer
    for error in answer["errors"]:
        assert error["error"]
        assert set(error) == {"error", "file", "line", "remedy"}
        assert error["line"] is None or is_number(error["line"])
    assert file is None or file in str(answer["errors"][0]["file"])
