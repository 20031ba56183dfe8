#!/usr/bin/env python3
"""Sends hostile requests to `plumbline serve` on 127.0.0.1 and counts wrong answers.

    ci/hostile_requests.py                          200 requests to build/ci/bin/plumbline
    ci/hostile_requests.py --count 2000 --record    as the weekly job does

The requests have paths out of the root, foreign hosts, other methods, two requests in one, wrong
queries, 100 kB of data, noise, other versions, TLS, or a few changed bytes in an honest request,
which a page could make. An answer is wrong if
  - its status is 2xx or 3xx, although no page makes such a request;
  - it repeats text of the request, or a file of the machine;
  - it is not HTTP, or does not come within 20 s;
  - its status is 2xx or 3xx, and it lacks nosniff or the policy that forbids frames.
Afterwards the server must answer an honest request, have as many open descriptors as before, and
end with 0 after SIGTERM.
Exit codes: 0 nothing found, 1 something found, 2 usage, 3 the server cannot be started.
"""
import argparse
import os
import pathlib
import random
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import hardening

THREADS, PATIENCE_S = 8, 20
SUITE = """schema = 1
name = "requests"
[[group]]
name = "g"
reason = "something to serve"
kernels = ["cpu/flash"]
set = { heads_q = 1, heads_kv = 1, head_dim = 64, seq = 16, dtype = "fp16" }
"""
# Text in the requests, which no answer may contain.
MARK = "hostile-mark"
PATHS = ["/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
         "/./../proc/self/environ", "/..\\..\\etc\\passwd", "/api/../../x", "/index.html",
         "/.git/config", "/api/case/../report", "file:///etc/passwd", "*", "/api/report/",
         "/API/REPORT", "/\x00", "/api/report?x=1", "/?a", f"/{MARK}", f"/<script>{MARK}</script>"]
METHODS = ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "PRI", "get", "G\x00ET",
           "GET" * 500]
FRAMING = ["Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: -1\r\n",
           "Content-Length: 99999999999999999999\r\n", "Content-Length: 4\r\nContent-Length: 5\r\n",
           "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding:\tchunked\r\n",
           "Transfer-Encoding : chunked\r\n", " Host: x\r\n", "X: y\r\n z\r\n",
           "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n",
           "Range: bytes=" + ",".join(["0-1"] * 2000) + "\r\n", "Expect: 100-continue\r\n"]
QUERIES = ["row=-1", "row=1e3", "row=18446744073709551616", "row=0&row=1", "row=0&report=x",
           "row=" + "9" * 5000, "report=x", "row=0;DROP TABLE", "row=0&" + "a=b&" * 3000,
           "row=\xff", "row=0'--", "row=0x10", "row= 0", "row=+0", f"row={MARK}"]
VERSIONS = ["HTTP/0.9", "HTTP/2.0", "HTTP/1.1 x", "", "HTTP/1.", "XTTP/1.1"]


class CannotServe(Exception):
    """The server cannot be started: exit code 3."""


class Requests:
    """Makes requests of each kind from random numbers."""

    def __init__(self, port, random_numbers):
        self.port, self.random = port, random_numbers
        self.host = f"127.0.0.1:{port}"
        host = self.host
        self.hosts = ["evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1",
                      f"localhost.evil.example:{port}", f"{host}.evil.example", "",
                      f"0.0.0.0:{port}", f"127.1:{port}", f"[::]:{port}", f"user@{host}",
                      f"{host}#", f"{host}/", f"2130706433:{port}",
                      f"{host}\r\nHost: evil.example"]
        self.kinds = {name[5:]: getattr(self, name) for name in dir(self)
                      if name.startswith("make_")}

    def get(self, path, host=None, more="", method="GET", version="HTTP/1.1"):
        host = self.host if host is None else host
        return (f"{method} {path} {version}\r\nHost: {host}\r\nX-Mark: {MARK}\r\n"
                f"Connection: close\r\n{more}\r\n").encode("latin-1")

    def make_path(self):
        return self.get(self.random.choice(PATHS))

    def make_host(self):
        return self.get(self.random.choice(["/", "/api/report"]), self.random.choice(self.hosts))

    def make_method(self):
        return self.get("/", method=self.random.choice(METHODS), more="Content-Length: 0\r\n")

    def make_framing(self):
        """Returns a request with odd framing, maybe with a second one that must get no page."""
        second = f"0\r\n\r\nGET /{MARK} HTTP/1.1\r\nHost: evil.example\r\n\r\n".encode()
        return self.get("/api/case?row=0&report=none", more=self.random.choice(FRAMING)) + \
            self.random.choice([b"", second])

    def make_query(self):
        return self.get("/api/case?" + self.random.choice(QUERIES))

    def make_huge(self):
        return self.random.choice([
            b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
            self.get("/", more="X: " + "y" * 100000 + "\r\n"),
            self.get("/", more="".join(f"X{n}: y\r\n" for n in range(5000))), b"A" * 200000])

    def make_noise(self):
        return self.random.randbytes(self.random.randrange(1, 600)) + \
            self.random.choice([b"", b"\r\n\r\n"])

    def make_version(self):
        return self.get("/", version=self.random.choice(VERSIONS))

    def make_tls(self):
        return b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + self.random.randbytes(500)

    def make_mutated(self):
        request = bytearray(self.get(self.random.choice(["/", "/api/report", "/api/case?row=0"])))
        for _ in range(self.random.randrange(1, 4)):
            request[self.random.randrange(len(request))] = self.random.randrange(256)
        return bytes(request)


def ask(port, request, parts=1):
    """Returns the answer; b"" if the connection ended without one, None if the time ran out."""
    end, answer = time.monotonic() + PATIENCE_S, b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
            try:
                step = -(-len(request) // parts)
                for begin in range(0, len(request), step):
                    connection.sendall(request[begin:begin + step])
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused before all was sent; there may still be an answer
            while True:
                connection.settimeout(max(0.01, end - time.monotonic()))
                more = connection.recv(65536)
                if not more:
                    return answer
                answer += more
    except TimeoutError:
        return None
    except OSError:
        return answer


# Requests of these kinds may be honest, for example if the server ignores the changed header.
CAN_BE_HONEST = ("mutated", "framing", "version")


def wrong_with(kind, answer):
    """Returns what is wrong with an answer, as one line; "" if nothing is."""
    if answer is None:
        return f"no answer and no end within {PATIENCE_S} s"
    if answer == b"":
        return ""
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    if not found:
        return f"no HTTP: {answer[:60]!r}"
    status, (head, _, body) = int(found.group(1)), answer.partition(b"\r\n\r\n")
    if MARK.encode() in answer or b"root:" in body or b"evil.example" in answer:
        return f"repeats the request or a file: {answer[:200]!r}"
    if 200 <= status < 400:
        if kind not in CAN_BE_HONEST:
            return f"answered with {status}"
        head = head.lower()
        if b"nosniff" not in head or b"frame-ancestors 'none'" not in head:
            return f"status {status} without nosniff or frame policy: {head[:200]!r}"
    return ""


class Server:
    """Runs `plumbline serve` on a new database until end() is called."""

    def __init__(self, program, folder):
        (folder / "s.toml").write_text(SUITE, encoding="utf-8")
        made = subprocess.run([program, "run", "s.toml", "-q", "-j1", "--no-config", "--db",
                               "r.db"], cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise CannotServe(f"plumbline run ends with {made.returncode}: {made.stdout[-300:]}"
                              f"{made.stderr[-300:]}")
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--db", "r.db"], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline() if ready else "no output within 60 s"
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", line)
        if not found:
            self.process.kill()
            raise CannotServe(f"plumbline serve did not print its address: {line}")
        self.port = int(found.group(1))

    def descriptors(self):
        """Returns the number of open descriptors, after closed connections are gone."""
        counts = []
        for _ in range(10):
            counts.append(len(os.listdir(f"/proc/{self.process.pid}/fd")))
            time.sleep(0.1)
        return min(counts)

    def end(self):
        """Ends the server and returns what went wrong; "" if nothing did."""
        if self.process.poll() is not None:
            return f"the server ended with {self.process.returncode}"
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"the server still runs {PATIENCE_S} s after SIGTERM"
        return "" if code == 0 else f"the server ended with {code} after SIGTERM"


def attack(server, count, seed):
    """Sends all requests; returns (requests sent by kind, findings)."""
    numbers = random.Random(seed)
    requests = Requests(server.port, numbers)
    names = sorted(requests.kinds)
    todo = [(n, names[n % len(names)], requests.kinds[names[n % len(names)]](),
             numbers.choice([1, 1, 1, 3])) for n in range(count)]
    sent, findings, lock = dict.fromkeys(names, 0), [], threading.Lock()
    progress = hardening.Progress(count)

    def work():
        while True:
            with lock:
                if not todo:
                    return
                number, kind, request, parts = todo.pop()
            wrong = wrong_with(kind, ask(server.port, request, parts))
            with lock:
                sent[kind] += 1
                progress.step(kind)
                if wrong:
                    findings.append(f"request {number}, {kind}, {request[:60]!r}: {wrong}")

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress.end()
    return sent, findings


def run_all(arguments, folder):
    server = Server(arguments.program, folder)
    try:
        honest = Requests(server.port, random.Random(0)).get("/api/report")
        if not (ask(server.port, honest) or b"").startswith(b"HTTP/1.1 200 "):
            raise CannotServe("plumbline serve does not answer an honest request")
        before = server.descriptors()
        sent, findings = attack(server, arguments.count, arguments.seed)
        wrong = len(findings)
        if not (ask(server.port, honest) or b"").startswith(b"HTTP/1.1 200 "):
            findings.append("an honest request is not answered afterwards")
        after = server.descriptors() if server.process.poll() is None else 0
        if after > before:
            findings.append(f"{after} open descriptors afterwards, {before} before")
    finally:
        ending = server.end()
    if ending:
        findings.append(ending)
    return sent, {"requests": sum(sent.values()), "wrong": wrong, "descriptors_before": before,
                  "descriptors_after": after}, findings


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int,
                        help="seed of the random requests (default: drawn and printed)")
    return hardening.parse_attack(parser)


def main():
    arguments, begin, commit = parse(), time.monotonic(), hardening.tested_commit()
    with tempfile.TemporaryDirectory(prefix="plumbline-requests-") as folder:
        try:
            sent, counts, findings = run_all(arguments, pathlib.Path(folder))
        except CannotServe as error:
            print(f"ci/hostile_requests.py: {error}", file=sys.stderr)
            return 3
    print(", ".join(f"{number} {kind}" for kind, number in sent.items()))
    for line in findings:
        print(f"  {line}")
    print(f"seed {arguments.seed}: {counts['requests']} requests, {counts['wrong']} wrong answers; "
          f"descriptors {counts['descriptors_before']} before, {counts['descriptors_after']} after")
    if arguments.record:
        hardening.record(hardening.FILE, "requests", {
            "commit": commit, "seed": arguments.seed, "seconds": round(time.monotonic() - begin),
            **counts, "findings": findings})
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
