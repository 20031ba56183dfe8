"""Datasette opens every view and table of a database of runs."""
import contextlib
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

import httpx

START = 60  # seconds


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def datasette(database, log):
    """The address at which Datasette serves a database."""
    port = free_port()
    with open(log, "w", encoding="utf-8") as output:
        server = subprocess.Popen([sys.executable, "-m", "datasette", "serve", str(database),
                                   "--host", "127.0.0.1", "--port", str(port), "--setting",
                                   "sql_time_limit_ms", "20000"], stdout=output,
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
    assert {"v_latest", "v_history", "v_head_rms", "v_runs"} <= set(views)
    wrong = []
    with datasette(folder / "runs.db", tmp_path / "datasette.log") as address:
        for name, _ in pages:
            for page in (name, name + ".json"):
                answer = httpx.get(f"{address}/runs/{urllib.parse.quote(page)}", timeout=60)
                if answer.status_code != 200:
                    wrong.append((page, answer.status_code, answer.text[:200]))
    assert not wrong, wrong
    print(f"{len(views)} views and {len(pages) - len(views)} tables")


def test_no_view_holds_bytes(folder):
    """A BLOB is what Datasette cannot link to in a view, which has no key."""
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
