"""Starts `plumbline serve` on a database with more cases than a report has details of."""
import contextlib
import http.client
import json
import re
import signal
import subprocess
import time

import pytest
from conftest import PROGRAM, run

SUITE = """
schema = 1
name = "many"
tier = "smoke"
defaults = { heads_q = 2, heads_kv = 1, head_dim = 64 }
[[group]]
name = "g"
reason = "more cases than the 200 nearest to their limit"
kernels = ["cpu/flash", "cpu/split_kv"]
[group.product]
dtype = ["bf16", "fp16"]
seq_q = [1, 2, 3, 4, 5, 6, 7, 8]
seq_kv = [9, 10, 11, 12, 13, 14, 15, 16]
"""


def make_database(folder):
    if not (PROGRAM.parents[1] / "share/plumbline/page.html").exists():
        pytest.skip("this plumbline was built without its page (ci/setup.sh --page)")
    (folder / "many.toml").write_text(SUITE)
    made = run(folder, "run", "many.toml", "--db", "runs.db", "-q")
    assert made.returncode == 0, made.stderr


@contextlib.contextmanager
def serving(folder, *arguments):
    """Starts a server and yields its port. SIGTERM must end it with exit code 0 and an empty
    stderr."""
    server = subprocess.Popen([PROGRAM, "serve", "--db", "runs.db", "--port", "0", *arguments],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", line)
        assert found, line + server.stderr.read()
        # The server reads a file younger than 0.1 s again (harness/cli/commands/live_page.cc).
        time.sleep(0.2)
        yield int(found.group(1))
        assert server.poll() is None, "it ended by itself"
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=30)
        assert (server.returncode, errors) == (0, "")
    finally:
        server.kill()
        server.wait()


def ask(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def report_of(port):
    """Returns the report and its id."""
    answer, body = ask(port, "/api/report")
    assert answer.status == 200, body
    return json.loads(body), answer.headers["Plumbline-Report"]


def row_without_detail(report):
    held = {detail["row"] for detail in report["details"]}
    return next(row for row in range(report["rows"]) if row not in held)
