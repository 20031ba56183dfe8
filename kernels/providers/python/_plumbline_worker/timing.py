"""Times a kernel and the sentinel in turn, as harness/provider/child/timing.cc does."""
from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import Callable, Dict, List

REPETITION_NS = 15e6
CALIBRATION_NS = 1e6

Calls = Callable[[int], object]  # makes that many calls and waits for them


def _time(calls: Calls, count: int) -> int:
    start = perf_counter_ns()
    calls(count)
    return perf_counter_ns() - start


def _calls_per_repetition(calls: Calls) -> int:
    """Calls that fill one repetition: doubles a batch until it is long enough to be timed by the
    clock."""
    count = 1
    while True:
        elapsed = _time(calls, count)
        if elapsed >= CALIBRATION_NS or count >= 1 << 30:
            return max(1, int(REPETITION_NS * count / max(elapsed, 1)))
        count *= 2


_sentinel_calls: Dict[Calls, int] = {}  # calibrated once


def time_in_turn(kernel: Calls, sentinel: Calls, repetitions: int) -> Dict[str, List[float]]:
    """kernel_ns and sentinel_ns, nanoseconds per call, one entry a repetition; entry i of both was
    measured one after the other."""
    if sentinel not in _sentinel_calls:
        _sentinel_calls[sentinel] = _calls_per_repetition(sentinel)
    counts = {"kernel_ns": _calls_per_repetition(kernel), "sentinel_ns": _sentinel_calls[sentinel]}
    times: Dict[str, List[float]] = {"kernel_ns": [], "sentinel_ns": []}
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, calls in (("kernel_ns", kernel), ("sentinel_ns", sentinel)):
                times[name].append(_time(calls, counts[name]) / counts[name])
    finally:
        if collecting:
            gc.enable()
    return times
