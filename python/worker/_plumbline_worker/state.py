"""Process-wide state that a call must leave unchanged.

The support library (harness/provider/child/process_state.h) restores floating-point state, working
directory, umask, blocked signals, and C's environment and signal handlers. This module restores
Python's copies of the environment (os.environ) and of the handlers (signal.getsignal).
"""
from __future__ import annotations

import os
import signal
from typing import Any, Dict, List, Set

from .support import Support

# The allowed changes of environment and handlers, as in Allowance of process_state.h.
NONE, ADDITIONS, EVERYTHING = range(3)

SIGNALS = sorted(signal.valid_signals())
NO_HANDLER = (signal.SIG_DFL, None)  # None: not set by Python


def reason_of(changes: str) -> str:
    return ("the call changed state that the next kernel of the process uses: "
            f"{changes}; restore it before the call returns")


class SharedState:
    """Records the state of a process before each call and restores it afterwards."""

    def __init__(self, support: Support) -> None:
        self._support = support
        self._called: Set[str] = set()
        self._environment: Dict[str, str] = {}
        self._handlers: List[Any] = []

    def remember(self) -> None:
        self._environment = dict(os.environ)
        self._handlers = [signal.getsignal(number) for number in SIGNALS]
        self._support.remember_state()

    def allowance_of(self, kernel: str) -> int:
        """Returns the allowance for the call of `kernel` that just ended. Frameworks may set some
        state on first use."""
        is_first, is_new = not self._called, kernel not in self._called
        self._called.add(kernel)
        return EVERYTHING if is_first else ADDITIONS if is_new else NONE

    def restore(self, allowance: int) -> str:
        """Restores the state. Returns the forbidden changes in words, or ""."""
        changes: List[str] = []
        if allowance != EVERYTHING:
            changes = self._restore_environment(allowance) + self._restore_handlers(allowance)
        rest = self._support.restore_state(allowance)
        return ", ".join([change for change in (rest, *changes) if change])

    def _restore_environment(self, allowance: int) -> List[str]:
        now = dict(os.environ)
        changed = [name for name in {**now, **self._environment}
                   if now.get(name) != self._environment.get(name)
                   and (name in self._environment or allowance == NONE)]
        for name in changed:
            if name in self._environment:
                os.environ[name] = self._environment[name]
            else:
                del os.environ[name]
        return [f"the variable {name}" for name in sorted(changed)]

    def _restore_handlers(self, allowance: int) -> List[str]:
        changed = []
        for number, before in zip(SIGNALS, self._handlers):
            if signal.getsignal(number) is before or before is None:
                continue
            if before in NO_HANDLER and allowance == ADDITIONS:
                continue
            signal.signal(number, before)
            changed.append(f"the handler of {signal.Signals(number).name}"
                           if number in signal.Signals._value2member_map_
                           else f"the handler of signal {number}")
        return changed if len(changed) <= 3 else [f"the handlers of {len(changed)} signals"]
