"""`plumbline serve`: the page and its JSON, for a database that is still being written."""
import concurrent.futures
import json
import os
import shutil
import socket
import sqlite3
import subprocess

import pytest
from conftest import PROGRAM, SOURCE, run
from serving import ask, make_database, report_of, row_without_detail, serving

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
PLAYWRIGHT = SOURCE / "page/node_modules/playwright-core"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    make_database(folder)
    return folder


def test_page_and_json_come(served):
    with serving(served) as port:
        page, text = ask(port, "/")
        assert page.status == 200 and text.startswith(b"<!DOCTYPE html>")
        assert text.count(b"@PLUMBLINE_DATA@") == 1
        report, of = report_of(port)
        assert report["live"] and report["rows"] == 256
        row = row_without_detail(report)
        answer, body = ask(port, f"/api/case?row={row}&report={of}")
        detail = json.loads(body)
        assert answer.status == 200 and detail["row"] == row
        assert len(detail["picture"]["histogram"]) == 41
        assert len(detail["history"]["night"]) == 1
        held = report["details"][0]
        assert json.loads(ask(port, f"/api/case?row={held['row']}")[1]) == held
        for path in ("/", "/api/report", f"/api/case?row={row}"):
            got, body = ask(port, path)
            head, nothing = ask(port, path, "HEAD")
            assert head.status == 200 and nothing == b""
            assert head.headers["Content-Length"] == str(len(body))
            assert got.headers["X-Content-Type-Options"] == "nosniff"
            assert got.headers["Cache-Control"] == "no-store"
            assert got.headers["Referrer-Policy"] == "no-referrer"
            assert got.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "frame-ancestors 'none'" in got.headers["Content-Security-Policy"]


def test_new_run_keeps_old_report(served):
    with serving(served) as port:
        before, of = report_of(port)
        assert report_of(port)[1] == of, "nothing has changed"
        run(served, "run", "many.toml", "--db", "runs.db", "-q")
        after, newer = report_of(port)
        assert newer != of and after["subject"]["run_ids"] != before["subject"]["run_ids"]
        row = row_without_detail(before)
        old = json.loads(ask(port, f"/api/case?row={row}&report={of}")[1])
        new = json.loads(ask(port, f"/api/case?row={row}&report={newer}")[1])
        assert (len(old["history"]["night"]), len(new["history"]["night"])) == (1, 2)


def test_changed_past_is_conflict(served):
    with serving(served) as port:
        report, of = report_of(port)
        row = row_without_detail(report)
        with sqlite3.connect(served / "runs.db") as database:
            database.execute("UPDATE outcome SET verdict = 'fail' WHERE rowid = 1")
        database.close()
        answer, body = ask(port, f"/api/case?row={row}&report={of}")
        assert answer.status == 409 and b"load the page again" in body
        assert report_of(port)[1] != of
        assert ask(port, f"/api/case?row={row}&report=0")[0].status == 409


@pytest.mark.skipif(not (CHROMIUM and shutil.which("node") and PLAYWRIGHT.exists()),
                    reason="no chromium, node or playwright-core (ci/setup.sh --page)")
def test_browser_loads_missing_details(served):
    with serving(served) as port:
        report, _ = report_of(port)
        row = row_without_detail(report)
        ids = next(column for column in report["cases"] if column["name"] == "case_id")
        case = ids["words"][ids["places"][row]]
        done = subprocess.run(
            ["node", SOURCE / "tests/report_reading/open_served.mjs",
             f"http://127.0.0.1:{port}/", case, str(row)], capture_output=True, text=True,
            timeout=120, check=False, env={**os.environ, "CHROMIUM": CHROMIUM})
        assert done.returncode == 0, done.stdout + done.stderr
        seen = json.loads(done.stdout)
        assert seen["errors"] == [] and seen["elsewhere"] == []
        assert case in seen["text"] and "Over the nights" in seen["text"]
        assert seen["pictures"] >= 1
        assert seen["asked"] == 1, "the case was asked for once"


def test_concurrent_requests(served):
    with serving(served) as port:
        report, of = report_of(port)
        paths = [f"/api/case?row={row}&report={of}" for row in range(report["rows"])]
        paths += ["/", "/api/report"] * 20
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda path: ask(port, path), paths))
        assert {answer.status for answer, _ in answers} == {200}
        assert [json.loads(body)["row"] for _, body in answers[:256]] == list(range(256))


def test_errors_have_remedy(served, tmp_path):
    missing = run(tmp_path, "serve", "--db", "absent.db")
    assert missing.returncode == 3 and "plumbline run --db" in missing.stderr
    sqlite3.connect(tmp_path / "empty.db").close()
    empty = run(tmp_path, "serve", "--db", "empty.db")
    assert empty.returncode != 0 and "remedy" in empty.stderr
    unknown = run(served, "serve", "zzzz", "--db", "runs.db")
    assert unknown.returncode == 2 and "remedy" in unknown.stderr
    assert run(served, "serve", "--port", "70000", "--db", "runs.db").returncode == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = run(served, "serve", "--port", port, "--db", "runs.db")
    assert refused.returncode == 3 and port in refused.stderr and "--port 0" in refused.stderr


def test_two_servers_do_not_share_a_port(served):
    with serving(served) as port:
        second = run(served, "serve", "--port", str(port), "--db", "runs.db")
        assert second.returncode == 3


def test_json_is_one_envelope_at_the_end(served):
    server = subprocess.Popen([PROGRAM, "serve", "--db", "runs.db", "--port", "0", "--format",
                               "json"], cwd=served, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    url = server.stderr.readline().strip()
    port = int(url.rstrip("/").rsplit(":", 1)[1])
    assert ask(port, "/")[0].status == 200
    assert ask(port, "/absent")[0].status == 404
    server.terminate()
    out, _ = server.communicate(timeout=30)
    answer = json.loads(out)
    assert server.returncode == answer["exit_code"] == 0
    assert answer["schema"]["name"] == "plumbline.serve"
    assert answer["data"]["url"] == url and answer["data"]["of"].startswith("run ")
    assert (answer["data"]["answered"], answer["data"]["refused"]) == (1, 1)
