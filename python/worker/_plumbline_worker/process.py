"""The process: descriptors, limits, deadline."""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import sys
import threading
import traceback
from typing import Iterator, Optional

from .support import FOLDER

REQUESTS, REPLIES, ARENA = 3, 4, 5  # descriptors that a worker inherits
LOG = 2
# A parent kills its worker at the deadline. A worker that still computes this long afterwards has
# lost its parent.
ORPHAN_GRACE_S = 5


def is_started_by_plumbline() -> bool:
    try:
        fcntl.fcntl(REQUESTS, fcntl.F_GETFD)
        fcntl.fcntl(REPLIES, fcntl.F_GETFD)
    except OSError:
        return False
    return True


class Channel:
    """Requests and replies, on descriptors whose numbers no library knows. After __init__,
    reads from 3 find the end of the file, and writes to 4 go to the log."""

    def __init__(self) -> None:
        def lifted(descriptor: int) -> int:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64)
        self._requests = os.fdopen(lifted(REQUESTS), "rb")
        self.replies = lifted(REPLIES)
        self.arena = lifted(ARENA)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, REQUESTS), (LOG, REPLIES), (nothing, ARENA)):
            os.dup2(source, target, inheritable=False)
        os.close(nothing)

    def receive(self) -> Optional[dict]:
        """Returns the next request; None at the end of requests."""
        line = self._requests.readline()
        return json.loads(line) if line else None

    def send(self, reply: dict) -> None:
        # Text may contain anything; invalid Unicode is replaced.
        line = (json.dumps(reply, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
                + b"\n")
        while line:
            line = line[os.write(self.replies, line):]


def set_up() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w",
                                            encoding="ascii") as score:
        score.write("1000")  # if memory runs out, the system should kill the worker, not the run
    for stream in (sys.stdout, sys.stderr):  # a crash must not lose earlier output
        stream.reconfigure(line_buffering=True, errors="backslashreplace")


class MemoryLimit:
    """RLIMIT_DATA: `limit_bytes` beyond the process's memory at rebase(); 0 = no limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._hard = resource.getrlimit(resource.RLIMIT_DATA)[1]

    def rebase(self) -> None:
        if self._limit_bytes == 0:
            return
        with open("/proc/self/statm", encoding="ascii") as statm:
            data_pages = int(statm.read().split()[5])
        wanted = data_pages * resource.getpagesize() + self._limit_bytes
        resource.setrlimit(resource.RLIMIT_DATA,
                           (wanted if self._hard < 0 else min(wanted, self._hard), self._hard))

    def lift(self) -> None:
        """Allows reporting that memory ran out; the process is replaced afterwards."""
        resource.setrlimit(resource.RLIMIT_DATA, (self._hard, self._hard))


def _write_stack(thread: Optional[int]) -> None:
    """Logs the stack of a thread, innermost call first, without the worker's own frames."""
    frame = sys._current_frames().get(thread)
    own = (os.path.join(FOLDER, "_plumbline_worker"), os.path.join(FOLDER, "plumbline_worker.py"))
    frames = [f for f in traceback.extract_stack(frame) if not f.filename.startswith(own)]
    text = " <- ".join(f"{f.filename}:{f.lineno} in {f.name}" for f in reversed(frames))
    print(f"the deadline is near; the kernel is at {text or 'an unknown place'}", file=sys.stderr,
          flush=True)


@contextlib.contextmanager
def deadline(timeout_s: float) -> Iterator[None]:
    """Ends the process some time after the deadline, in case its parent has died. Shortly before
    the deadline, logs where the kernel is."""
    if timeout_s <= 0:
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, timeout_s + ORPHAN_GRACE_S)
    watch = threading.Timer(0.9 * timeout_s, _write_stack, [threading.get_ident()])
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
