"""`show`, `history` and `compare` write at most 80 columns to a terminal of 80 columns."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from conftest import PROGRAM

WIDTH = 80


def on_a_terminal(folder, *arguments):
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    # os.environ, because pytest loads readline, which sets COLUMNS without Python noticing.
    program = subprocess.Popen([PROGRAM, *arguments], cwd=folder, stdin=terminal, stdout=terminal,
                               stderr=terminal, env=dict(os.environ))
    os.close(terminal)
    printed = b""
    try:
        while part := os.read(controller, 65536):
            printed += part
    except OSError:  # reading fails once the program has ended
        pass
    os.close(controller)
    program.wait()
    return re.sub(r"\x1b\[[0-9;]*m", "", printed.decode()).replace("\r", "")


@pytest.mark.parametrize("arguments",
                         [("show", "latest"), ("show", "latest~1"), ("show", "latest", "*s17x70*"),
                          ("history", "*"), ("compare", "latest~1", "latest")], ids=" ".join)
def test_no_line_is_wider(folder, arguments):
    text = on_a_terminal(folder, *arguments, "--db", "runs.db")
    assert text.count("\n") > 10, text
    for line in text.splitlines():
        assert len(line) <= WIDTH, line
