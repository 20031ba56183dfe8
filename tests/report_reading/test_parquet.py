"""`plumbline export` writes the rows of the views."""
import fcntl
import math
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys

import pyarrow.parquet
from conftest import PROGRAM, run

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "baselines" / "export_parquet.py"


def rows_of(database, sql, *arguments):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    cursor = connection.execute(sql, arguments)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def key(row):
    return row["run_order"], row["suite"], row["case_id"]


def is_same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a)
                      and math.isnan(b))


def test_has_every_row_and_column(folder):
    done = run(folder, "export", "--db", "runs.db", "--parquet", "all.parquet")
    assert done.returncode == 0, done.stderr
    table = pyarrow.parquet.read_table(folder / "all.parquet")
    expected = sorted(rows_of(folder / "runs.db", "SELECT * FROM v_history"), key=key)
    read = sorted(table.to_pylist(), key=key)
    assert len(read) == len(expected) > 0
    assert f"{len(expected)} outcomes of 3 runs" in done.stdout
    for row, wanted in zip(read, expected):
        assert set(row) == set(wanted)
        assert all(is_same(row[name], wanted[name]) for name in wanted), row["case_id"]


def test_columns_have_one_type(folder):
    run(folder, "export", "--db", "runs.db", "--parquet", "types.parquet")
    types = {field.name: str(field.type)
             for field in pyarrow.parquet.read_schema(folder / "types.parquet")}
    assert types["rms"] == types["time_ns"] == types["gate_level"] == "double"
    assert types["seed"] == types["is_failure"] == types["finished"] == "int64"
    assert types["case_id"] == types["machine"] == types["findings"] == "string"


def test_chosen_runs(folder):
    newest = rows_of(folder / "runs.db", "SELECT run_id FROM v_runs ORDER BY run_order DESC")[0]
    assert run(folder, "export", "--db", "runs.db", "--run", "latest", "--parquet",
               "one.parquet").returncode == 0
    column = pyarrow.parquet.read_table(folder / "one.parquet")["run_id"]
    assert set(column.to_pylist()) == {newest["run_id"]}
    for arguments in (["--since", "2099-01-01"], ["--night", "none"], ["--since", "yesterday"],
                      ["--run", "latest", "--since", "2026"]):
        done = run(folder, "export", "--db", "runs.db", "--parquet", "none.parquet", *arguments)
        assert done.returncode in (2, 3), arguments
        assert "remedy" in done.stderr or "needs" in done.stderr or "--" in done.stderr
        assert not (folder / "none.parquet").exists()


def test_nights(folder):
    subprocess.run(["cp", "runs.db", "nights.db"], cwd=folder, check=True)
    connection = sqlite3.connect(folder / "nights.db")
    connection.execute("UPDATE run SET night_id = '2027-01-30'")
    connection.execute(
        "INSERT OR REPLACE INTO night_times SELECT run_id, machine_key, 30, 0.001, 0.02, 0, '', 3,"
        " 1, 0, 0.05, 4, 0, 0.3 FROM run")
    connection.commit()
    connection.close()
    done = run(folder, "export", "--db", "nights.db", "--night", "latest-night", "--parquet",
               "night.parquet", "--nights", "times.parquet")
    assert done.returncode == 0, done.stderr
    nights = pyarrow.parquet.read_table(folder / "times.parquet").to_pylist()
    assert len(nights) == 3
    assert nights[0]["night_id"] == "2027-01-30" and nights[0]["expected_false_alerts"] == 0.05
    history = pyarrow.parquet.read_table(folder / "night.parquet")
    assert set(history["night_id"].to_pylist()) == {"2027-01-30"}


def test_error_keeps_old_file(folder):
    (folder / "old.parquet").write_bytes(b"old")
    done = run(folder, "export", "--db", "runs.db", "--since", "2099", "--parquet", "old.parquet")
    assert done.returncode == 3
    assert (folder / "old.parquet").read_bytes() == b"old"
    assert not list(folder.glob("*.partial-*"))
    assert run(folder, "export", "--db", "runs.db", "--parquet", "old.parquet").returncode == 0
    assert pyarrow.parquet.read_table(folder / "old.parquet").num_rows > 0


def test_missing_pyarrow_has_remedy(folder):
    bare = folder / "bare-python"
    bare.write_text("#!/bin/sh\nexec python3 -I -S \"$@\"\n")
    bare.chmod(0o755)
    done = subprocess.run([PROGRAM, "export", "--db", "runs.db", "--parquet", "no.parquet"],
                          cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PLUMBLINE_PYTHON": str(bare)})
    assert done.returncode == 3
    assert "has no pyarrow" in done.stderr and "ci/setup.sh --python" in done.stderr
    assert not (folder / "no.parquet").exists()


def test_only_regular_files_are_replaced(folder):
    """A link is kept and its target written; a pipe is written to."""
    (folder / "link.parquet").symlink_to("linked.parquet")
    os.mkfifo(folder / "pipe.parquet")
    with subprocess.Popen(["cat", "pipe.parquet"], cwd=folder, stdout=subprocess.PIPE) as reader:
        for name in ("link", "pipe"):
            done = run(folder, "export", "--db", "runs.db", "--parquet", f"{name}.parquet")
            assert done.returncode == 0, done.stderr
        piped = reader.stdout.read()
    assert (folder / "link.parquet").is_symlink() and (folder / "pipe.parquet").is_fifo()
    assert pyarrow.parquet.read_table(folder / "linked.parquet").num_rows > 0
    assert piped == (folder / "linked.parquet").read_bytes()
    assert not list(folder.glob("*partial*"))
    full = run(folder, "export", "--db", "runs.db", "--parquet", "/dev/full")
    assert full.returncode == 3 and "/dev/full" in full.stderr, full.stderr
    assert pathlib.Path("/dev/full").is_char_device()


def test_killed_export_leaves_no_file(folder):
    (folder / "killed").mkdir()
    code = ("import os, signal, export_parquet as e; f = e.PendingFile('killed/o.parquet'); "
            "f.file.write(b'x' * 100000); f.file.flush(); os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run(["python3", "-c", code], cwd=folder, check=False,
                          env={**os.environ, "PYTHONPATH": str(SCRIPT.parent)})
    assert done.returncode == -signal.SIGKILL
    assert not list((folder / "killed").iterdir())


def test_partial_files_of_dead_exports_are_removed(folder):
    """Such files remain if the file system has no files without a name."""
    (folder / "swept.parquet.partial-1").write_bytes(b"of a dead process")
    with open(folder / "swept.parquet.partial-2", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = run(folder, "export", "--db", "runs.db", "--parquet", "swept.parquet")
        assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.glob("swept.parquet.*")] == ["swept.parquet.partial-2"]


def test_interpreter_may_be_a_script(folder):
    script = folder / "python-of-a-module"
    script.write_text(f"#!/bin/sh\n{sys.executable} \"$@\"\n")
    script.chmod(0o755)
    done = subprocess.run([PROGRAM, "export", "--db", "runs.db", "--parquet", "script.parquet"],
                          cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PLUMBLINE_PYTHON": str(script)})
    assert done.returncode == 0, done.stderr


def test_export_ends_with_caller(folder):
    with subprocess.Popen(["true"]) as caller:
        caller.wait()
    done = subprocess.run([sys.executable, SCRIPT, "--db", "runs.db", "--parquet", "late.parquet",
                           "--caller", str(caller.pid)], cwd=folder, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 3 and "has ended" in done.stdout, done.stdout + done.stderr
    assert not (folder / "late.parquet").exists()
