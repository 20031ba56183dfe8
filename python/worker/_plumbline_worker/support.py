"""The worker's C++ functions, by ctypes: plumbline_python_support.so.

The library has sources of plumbline-worker (python_support.h of harness/provider): mapping of the
arena, crash report, process state, sentinel and peak memory.
"""
from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Callable

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = os.path.join(FOLDER, "plumbline_python_support.so")
# Makes faulthandler write the Python stack. Libraries use SIGUSR1 and SIGUSR2 for other things.
STACK_SIGNAL = int(signal.SIGRTMAX)

_PeakCall = ctypes.CFUNCTYPE(None)


class Support:
    """The loaded library. Raises OSError if it is missing."""

    set_request: Callable[[int], None]
    unmap: Callable[[], None]
    remember_state: Callable[[], None]
    """Floating-point state, directory, umask, blocked signals, environment and handlers."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        for name, result, arguments in (
            ("_start", None, [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p]),
            ("set_request", None, [ctypes.c_uint64]),
            ("_set_phase", None, [ctypes.c_char_p]),
            ("_map", ctypes.c_void_p,
             [ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p,
                                      ctypes.c_size_t]),
            ("unmap", None, []),
            ("remember_state", None, []),
            ("_restore_state", None, [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]),
            ("_run_sentinel", None, [ctypes.c_int64]),
            ("_peak_memory", ctypes.c_int64, [_PeakCall]),
        ):
            function = getattr(self._library, f"plumbline_support_{name.lstrip('_')}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        # The crash report keeps the pointer, so a phase's text must never be freed.
        self._phases: dict = {}

    def start(self, reply_descriptor: int) -> None:
        """Installs the crash report: the message goes to `reply_descriptor`, the kernel's Python
        stack to stderr."""
        import faulthandler
        stack = os.memfd_create("python stack", os.MFD_CLOEXEC)
        faulthandler.register(STACK_SIGNAL, file=stack, all_threads=True, chain=False)
        self._start(reply_descriptor, stack, STACK_SIGNAL, FOLDER.encode())

    def set_phase(self, phase: str) -> None:
        """Sets the phase that a crash message names."""
        self._set_phase(self._phases.setdefault(phase, phase.encode()))

    def map(self, descriptor: int, arena_bytes: int, tensors_json: str) -> int:
        """Maps the tensors and returns the address of byte 0 of the arena. Raises MemoryError if
        mapping fails."""
        reason = ctypes.create_string_buffer(512)
        base = self._map(descriptor, arena_bytes, tensors_json.encode(), reason, len(reason))
        if base is None:
            raise MemoryError(reason.value.decode(errors="replace"))
        return base

    def restore_state(self, allowance: int) -> str:
        """Restores the state and returns the forbidden changes in words."""
        changes = ctypes.create_string_buffer(1024)
        self._restore_state(allowance, changes, len(changes))
        return changes.value.decode(errors="replace")

    # A method, because time_in_turn needs a function with a hash, which a ctypes function lacks.
    def run_sentinel(self, count: int) -> None:
        self._run_sentinel(count)

    def peak_memory(self, call: Callable[[], object]) -> int:
        """Returns the bytes by which `call` raises resident memory at its peak; -1 if /proc does
        not report it. Raises the exceptions of `call`."""
        failure: list = []

        def run() -> None:  # an exception must not cross the library
            try:
                call()
            except BaseException:  # noqa: B036 - raised again below
                failure.append(sys.exc_info()[1])
        peak = self._peak_memory(_PeakCall(run))
        if failure:
            raise failure[0]
        return peak
