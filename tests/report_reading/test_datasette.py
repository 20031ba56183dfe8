"""Datasette shows every view and table of a database of runs, and runs the named queries."""
import contextlib
import json
import pathlib
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

import httpx

BASELINES = pathlib.Path(__file__).resolve().parents[2] / "baselines"
METADATA, QUERIES = BASELINES / "datasette_metadata.py", BASELINES / "queries"
START = 60  # seconds


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def datasette(database, log, *options):
    """Starts Datasette on a database and yields its address."""
    port = free_port()
    with open(log, "w", encoding="utf-8") as output:
        server = subprocess.Popen([sys.executable, "-m", "datasette", "serve", str(database),
                                   "--host", "127.0.0.1", "--port", str(port), "--setting",
                                   "sql_time_limit_ms", "20000", *options], stdout=output,
                                  stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        end = time.monotonic() + START
        while True:
            try:
                httpx.get(address, timeout=30)
                break
            except httpx.TransportError:
                assert server.poll() is None and time.monotonic() < end, log.read_text()
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_every_view_and_table_opens(folder, tmp_path):
    database = sqlite3.connect(folder / "runs.db")
    pages = database.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('view', 'table') ORDER BY "
        "name").fetchall()
    database.close()
    views = [name for name, kind in pages if kind == "view"]
    assert {"v_latest", "v_history", "v_head_rms", "v_runs", "v_error_pictures",
            "v_cases"} <= set(views)
    wrong = []
    with datasette(folder / "runs.db", tmp_path / "datasette.log") as address:
        for name, _ in pages:
            for page in (name, name + ".json"):
                answer = httpx.get(f"{address}/runs/{urllib.parse.quote(page)}", timeout=60)
                if answer.status_code != 200:
                    wrong.append((page, answer.status_code, answer.text[:200]))
    assert not wrong, wrong
    print(f"{len(views)} views and {len(pages) - len(views)} tables")


def test_views_have_no_blobs(folder):
    """Datasette cannot link to a BLOB in a view, because views have no key."""
    database = sqlite3.connect(folder / "runs.db")
    views = [name
             for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    for view in views:
        cursor = database.execute(f'SELECT * FROM "{view}"')
        for row in cursor:
            blobs = [column[0] for column, cell in zip(cursor.description, row)
                     if isinstance(cell, bytes)]
            assert not blobs, (view, blobs)
    database.close()


def test_named_queries_and_view_descriptions(folder, tmp_path):
    metadata = tmp_path / "metadata.json"
    with open(metadata, "w", encoding="utf-8") as output:
        subprocess.run([sys.executable, METADATA, folder / "runs.db"], stdout=output, check=True)
    told = json.loads(metadata.read_text(encoding="utf-8"))["databases"]["runs"]
    named = sorted(path.stem.split("-", 1)[1] for path in QUERIES.glob("*.sql"))
    assert sorted(told["queries"]) == named and len(named) >= 10
    with datasette(folder / "runs.db", tmp_path / "datasette.log", "--metadata",
                   metadata) as address:
        for name in named:
            answer = httpx.get(f"{address}/runs/{name}.json?_shape=array", timeout=60)
            assert answer.status_code == 200, (name, answer.text[:200])
            assert isinstance(answer.json(), list), name
            page = httpx.get(f"{address}/runs/{name}", timeout=60)
            assert page.status_code == 200 and "Error" not in page.text[:200], name
        runs = httpx.get(f"{address}/runs/runs.json?_shape=array", timeout=60).json()
        assert runs, "a query of a database with runs has rows"
        front = httpx.get(f"{address}/runs", timeout=60).text
        assert told["queries"]["flaky"]["title"] in front.replace("&#39;", "'")
        view = httpx.get(f"{address}/runs/v_cases", timeout=60).text
        assert "25 columns" in view


def test_metadata_of_another_file_is_refused(tmp_path):
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE t(a)").connection.close()
    for path in (other, tmp_path / "none.db"):
        answer = subprocess.run([sys.executable, METADATA, path], capture_output=True, text=True,
                                check=False)
        assert answer.returncode != 0 and str(path) in answer.stderr
    assert not (tmp_path / "none.db").exists()
