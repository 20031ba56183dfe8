"""Tests ci/same_results.py: which changes of a database it reports, with and without texts."""
import os
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLUMBLINE = pathlib.Path(os.environ["PLUMBLINE_BUILD"]) / "bin" / "plumbline"
FAILING = "cpu/flash/bf16/b1-h4-s40-d64/mask=causal_bottom_right"


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A database with one case that fails, so that it has a cause and findings."""
    path = tmp_path_factory.mktemp("same") / "before.db"
    done = subprocess.run(
        [PLUMBLINE, "run", "--provider", "cpu:drop_last_key=1", "--case", FAILING, "--db", path,
         "--quiet"], text=True, capture_output=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return path


def compared(before, after, change, *options):
    shutil.copy(before, after)
    connection = sqlite3.connect(after)
    assert connection.execute(change).rowcount == 1
    connection.commit()
    connection.close()
    return subprocess.run([SOURCE / "ci/same_results.py", before, after, *options], text=True,
                          capture_output=True, check=False)


@pytest.mark.parametrize("text", ["cause = 'other words'", "notes = json_array('other words')"])
def test_texts_are_ignored_on_request_only(before, tmp_path, text):
    change = f"UPDATE outcome SET {text}"
    done = compared(before, tmp_path / "a.db", change)
    assert done.returncode == 1
    assert "cases: 1 before, 1 after, 2 rows differ" in done.stdout
    done = compared(before, tmp_path / "b.db", change, "--ignore-texts")
    assert done.returncode == 0, done.stdout
    assert "cases: 1 before, 1 after, 0 rows differ" in done.stdout


@pytest.mark.parametrize("change", ["UPDATE outcome SET rms = rms + 1e-9",
                                    "UPDATE outcome SET output_digest = 'other'",
                                    "UPDATE outcome SET verdict = 'passed'"])
def test_other_changes_are_always_reported(before, tmp_path, change):
    assert compared(before, tmp_path / "a.db", change).returncode == 1
    assert compared(before, tmp_path / "b.db", change, "--ignore-texts").returncode == 1


def test_a_missing_file_is_refused(before):
    done = subprocess.run([SOURCE / "ci/same_results.py", before, before.with_name("none.db")],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert "none.db is no file" in done.stderr
