"""Times a kernel and the sentinel in turn, as harness/provider/child/timing.cc does."""
from __future__ import annotations

import gc
from time import perf_counter_ns, process_time_ns, sleep
from typing import Callable, Dict, List, Tuple

REPETITION_NS = 2e6
MAX_SENTINEL_NS = 15e6
CALIBRATION_NS = 1e6
ALL_REPETITIONS_NS = 100e6  # total time of a kernel's repetitions; the first few always run
MIN_REPETITIONS = 4
LONGEST_WAIT_S = 0.5  # for a quiet core, for all repetitions of a measurement together
WAIT_STEP_S = 0.002

Calls = Callable[[int], object]  # makes that many calls and waits for them


def _time(calls: Calls, count: int) -> Tuple[int, int]:
    """Returns wall time and the processor time of all threads of this process, in nanoseconds."""
    cpu_start = process_time_ns()
    start = perf_counter_ns()
    calls(count)
    elapsed = perf_counter_ns() - start
    return elapsed, process_time_ns() - cpu_start


def _ns_per_call(calls: Calls) -> float:
    """Returns the nanoseconds of one call from a batch that is doubled until it is long enough.
    Uses processor time, because wall time is several times too long on a busy machine, but at least
    1/8 of wall time, for calls that mostly wait."""
    count = 1
    while True:
        wall_ns, cpu_ns = _time(calls, count)
        elapsed = max(cpu_ns, wall_ns / 8)
        if elapsed >= CALIBRATION_NS or count >= 1 << 30:
            return max(elapsed, 1) / count
        count *= 2


def _calls_in(time_ns: float, ns_per_call: float) -> int:
    return max(1, int(time_ns / ns_per_call))


_sentinel_call_ns: Dict[Calls, float] = {}  # measured once


class _QuietCore:
    """Sleeps until the core is quiet, for a limited total time."""

    def __init__(self, sentinel: Calls, quiet_ns: float) -> None:
        self._sentinel, self._quiet_ns = sentinel, quiet_ns
        self._left_s = LONGEST_WAIT_S if quiet_ns > 0 else 0.0

    def wait(self) -> None:
        # the faster of two, because the first call after a sleep has cold caches
        while self._left_s > 0 and min(_time(self._sentinel, 1)[1],
                                       _time(self._sentinel, 1)[1]) > self._quiet_ns:
            sleep(WAIT_STEP_S)
            self._left_s -= WAIT_STEP_S


def time_in_turn(kernel: Calls, sentinel: Calls, repetitions: int,
                 quiet_ns: float = 0) -> Dict[str, List[float]]:
    """Returns kernel_ns and sentinel_ns, and the process's processor time as kernel_cpu_ns and
    sentinel_cpu_ns: nanoseconds per call, one entry per repetition, which times the kernel,
    then the sentinel. If calls are long, there are fewer repetitions, but at least MIN_REPETITIONS.
    If quiet_ns is not 0, each repetition first waits, for a limited time, until a sentinel call
    takes at most that long."""
    if sentinel not in _sentinel_call_ns:
        _sentinel_call_ns[sentinel] = _ns_per_call(sentinel)
    call_ns = _ns_per_call(kernel)
    counts = {"kernel": _calls_in(REPETITION_NS, call_ns)}
    kernel_ns = call_ns * counts["kernel"]
    # as long as the kernel's repetitions, so that both minima are equally likely to be undisturbed
    counts["sentinel"] = _calls_in(min(max(kernel_ns, REPETITION_NS), MAX_SENTINEL_NS),
                                   _sentinel_call_ns[sentinel])
    repetitions = min(repetitions, max(MIN_REPETITIONS, int(ALL_REPETITIONS_NS / kernel_ns)))
    times: Dict[str, List[float]] = {f"{name}{clock}": []
                                     for clock in ("_ns", "_cpu_ns") for name in counts}
    core = _QuietCore(sentinel, quiet_ns)
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repetitions):
            core.wait()
            for name, calls in (("kernel", kernel), ("sentinel", sentinel)):
                wall_ns, cpu_ns = _time(calls, counts[name])
                times[f"{name}_ns"].append(wall_ns / counts[name])
                times[f"{name}_cpu_ns"].append(cpu_ns / counts[name])
    finally:
        if collecting:
            gc.enable()
    return times


def processor_mhz() -> float:
    """Returns the MHz of the processor that last ran this process, from /proc/cpuinfo; 0 = unknown.
    """
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            here = int(file.read().rpartition(")")[2].split()[36])  # field 39; the name may contain
                                                                    # spaces
        processor = -1
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == "processor":
                    processor = int(value)
                elif key.strip() == "cpu MHz" and processor == here:
                    return float(value)
    except (OSError, ValueError, IndexError):
        pass
    return 0.0
