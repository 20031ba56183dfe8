"""Sends a thousand hostile requests over raw sockets; `plumbline serve` must keep working."""
import concurrent.futures
import hashlib
import random
import socket

import pytest
from serving import ask, make_database, report_of, serving

MARK = "plumbline_marker"
SECRET = "the-secret-beside-the-database"
SCRIPT = f"<script>{MARK}</script>"
ENCODED = f"%3Cscript%3E{MARK}%3C%2Fscript%3E"
COUNT = 1000


def head(line, host="{here}", *more):
    lines = [line, *([] if host is None else [f"Host: {host}"]), *more, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def methods(random_numbers):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PRI", "get",
                   "PROPFIND", "M" * 300):
        for path in ("/", "/api/report", "/api/case?row=0"):
            yield head(f"{method} {path} HTTP/1.1")
            yield head(f"{method} {path} HTTP/1.1", "{here}", "Content-Length: 9") + b"row=0&a=b"


def traversals(random_numbers):
    for up in ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "..\\", "....//", "..%252f",
               "%c0%ae%c0%ae/", "..;/"):
        for depth in (1, 3, 9):
            for file in ("etc/passwd", "secret.txt", "runs.db"):
                for front in ("/", "/api/", "/api/case/"):
                    yield head(f"GET {front}{up * depth}{file} HTTP/1.1")
    for path in ("/secret.txt", "//secret.txt", "/./secret.txt", "file:///etc/passwd",
                 "/etc/passwd", "/runs.db", "/api", "/api/", "/api/report/", "/API/REPORT", "*",
                 "secret.txt"):
        yield head(f"GET {path} HTTP/1.1")


def hosts(random_numbers):
    for path in ("/", "/api/report", "/api/case?row=0"):
        for host in (None, "", "evil.example", "evil.example:{port}", "127.0.0.1", "localhost",
                     "127.0.0.1:1", "127.0.0.1:{port}.evil.example", "localhost.evil:{port}",
                     "0.0.0.0:{port}", "127.1:{port}", "2130706433:{port}", "{here}, evil",
                     "user@{here}", "{here}/", "[::ffff:127.0.0.1]:{port}", SCRIPT):
            yield head(f"GET {path} HTTP/1.1", host)
            yield head(f"GET http://{{here}}{path} HTTP/1.1", host)
        yield head(f"GET {path} HTTP/1.1", "{here}", "Host: {here}")
        yield head(f"GET {path} HTTP/1.1", "{here}", "Host: evil.example")
        yield head(f"GET {path} HTTP/1.1", "evil.example", "Host: {here}")
        yield head(f"GET {path} HTTP/1.1", "evil.example", "X-Forwarded-Host: {here}")
        yield head(f"GET {path} HTTP/1.0", None)


def queries(random_numbers):
    for row in ("", "-1", "-0", "+1", "1e3", "NaN", "nan", "inf", "1.5", "0x10", " 1", "1%20",
                "1%00", "9" * 30, "18446744073709551615", "18446744073709551616", "256", SCRIPT,
                ENCODED, "1;DROP TABLE run", "1' OR '1'='1", "0%27%20UNION%20SELECT", "%", "%zz",
                "%u0031", "1&row=2", "1&x=1", f"0&report={ENCODED}", "0&report=" + "a" * 5000,
                "0&report=1&report=2"):
        yield head(f"GET /api/case?row={row} HTTP/1.1")
        yield head(f"HEAD /api/case?row={row} HTTP/1.1")
    for path in ("/?", "/api/report?"):
        for query in (ENCODED, SCRIPT, f"a={ENCODED}", f"{ENCODED}=a"):
            yield head(f"GET {path}{query} HTTP/1.1")
    for path in (f"/{ENCODED}", f"/{SCRIPT}", f"/api/{ENCODED}", "/api/case", "/api/case?",
                 f"/api/case?{ENCODED}=1"):
        yield head(f"GET {path} HTTP/1.1")


def garbage(random_numbers):
    yield b"\r\n\r\n"
    yield b"\0" * 5000 + b"\r\n\r\n"
    yield b"GET /\0secret.txt HTTP/1.1\r\nHost: {here}\r\n\r\n"
    yield b"GET /%00secret.txt HTTP/1.1\r\nHost: {here}\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: {here}\0evil\r\n\r\n"
    yield b"GET / HTTP/9.9\r\nHost: {here}\r\n\r\n"
    yield b"GET /\r\nHost: {here}\r\n\r\n"
    yield b"GET  /absent  HTTP/1.1\r\nHost: {here}\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x07" * 500
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for size in (8_000, 9_000, 40_000, 1_000_000):
        yield head(f"GET /{'a' * size} HTTP/1.1")
        yield head("GET /absent HTTP/1.1", "{here}", f"X: {'a' * size}")
        yield head("GET /absent HTTP/1.1", "{here}", *["X: a"] * (size // 6))
        yield b"a" * size + b"\r\n\r\n"
    for value in ("-1", "99999999999999999999", "1e9", SCRIPT):
        yield head("POST / HTTP/1.1", "{here}", f"Content-Length: {value}")
        yield head("GET /absent HTTP/1.1", "{here}", f"Range: bytes={value}-{value}")
    for chunk in (b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\nhello", b"-1\r\n", b"zz\r\n",
                  b"a" * 100_000):
        yield head("POST /api/report HTTP/1.1", "{here}", "Transfer-Encoding: chunked") + chunk
        yield head("GET /absent HTTP/1.1", "{here}", "Transfer-Encoding: chunked",
                   "Content-Length: 3") + chunk
    yield head("POST / HTTP/1.1", "{here}", "Content-Type: multipart/form-data; boundary=x",
               "Content-Length: 60") + b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n"
    yield head("POST / HTTP/1.1", "{here}", "Expect: 100-continue", "Content-Length: 5")
    # Bytes after a request must not count as a second one.
    yield head("GET /absent HTTP/1.1") + head("GET /secret.txt HTTP/1.1")


def noise(random_numbers):
    while True:
        yield random_numbers.randbytes(random_numbers.randrange(1, 4000)) + b"\r\n\r\n"


def unfinished(random_numbers):
    """Returns incomplete request heads. The client keeps their connections open."""
    whole = head("GET /absent HTTP/1.1", "{here}", "X: y")
    return [whole[:random_numbers.randrange(len(whole) - 2)] for _ in range(60)]


def all_of_them():
    random_numbers = random.Random(19)
    kinds = [methods, traversals, hosts, queries, garbage]
    requests = [request for kind in kinds for request in kind(random_numbers)]
    assert len(requests) <= COUNT - 60, len(requests)
    more = noise(random_numbers)
    requests += [next(more) for _ in range(COUNT - 60 - len(requests))]
    random_numbers.shuffle(requests)
    return requests, unfinished(random_numbers)


def exchange(port, request, slowly=False):
    """Returns all bytes until the server closes the connection, which it must do within seconds."""
    here = f"127.0.0.1:{port}".encode()
    request = request.replace(b"{here}", here).replace(b"{port}", str(port).encode())
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(request)
            if not slowly:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                received += part
        except (ConnectionResetError, BrokenPipeError):
            pass
    return received


def check(request, answer):
    if not answer:  # not HTTP, or too long: the server closes the connection
        return 0
    top, _, body = answer.partition(b"\r\n\r\n")
    status = int(top.split(b" ", 2)[1])
    assert top.startswith(b"HTTP/1.1 ") and 400 <= status < 500, (request[:300], answer[:300])
    assert b"\r\nContent-Type: text/plain; charset=utf-8" in top, (request[:300], top)
    assert b"\r\nX-Content-Type-Options: nosniff" in top
    assert answer.count(b"HTTP/1.1 ") == 1, "one answer a connection"
    for leak in (MARK, SECRET, "root:", "SQLite format", "/secret"):
        assert leak.encode() not in answer, (request[:300], answer[:600])
    assert b"<" not in body
    return status


@pytest.fixture(name="folder")
def a_folder(tmp_path):
    make_database(tmp_path)
    (tmp_path / "secret.txt").write_text(SECRET)
    return tmp_path


def test_a_thousand_hostile_requests(folder):
    database = folder / "runs.db"
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    requests, stalled = all_of_them()
    assert len(requests) + len(stalled) == COUNT
    statuses = {}
    with serving(folder) as port:
        first = report_of(port)[1]
        with concurrent.futures.ThreadPoolExecutor(len(stalled)) as pool:
            waiting = [pool.submit(exchange, port, request, True) for request in stalled]
            for request in requests:
                status = check(request, exchange(port, request))
                statuses[status] = statuses.get(status, 0) + 1
            for request, answer in zip(stalled, waiting):
                check(request, answer.result(timeout=60))
        assert ask(port, "/")[0].status == 200
        assert report_of(port)[1] == first, "it is the same server with the same report"
        assert ask(port, "/api/case?row=0")[0].status == 200
    # Each kind of request must get its error: bad form, unknown path, method, length or host.
    for status, least in {400: 50, 404: 250, 405: 40, 414: 2, 421: 60}.items():
        assert statuses.get(status, 0) >= least, statuses
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert (folder / "secret.txt").read_text() == SECRET


def test_stops_with_open_connections(folder):
    with serving(folder) as port:
        open_ones = [socket.create_connection(("127.0.0.1", port)) for _ in range(80)]
        for connection in open_ones[::2]:
            connection.sendall(b"GET / HT")
        assert ask(port, "/")[0].status == 200
    for connection in open_ones:
        connection.close()
