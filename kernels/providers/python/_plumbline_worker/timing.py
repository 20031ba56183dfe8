"""Times a kernel and the sentinel in turn, as harness/provider/child/timing.cc does."""
from __future__ import annotations

import gc
from time import perf_counter_ns, process_time_ns
from typing import Callable, Dict, List, Tuple

REPETITION_NS = 15e6
CALIBRATION_NS = 1e6

Calls = Callable[[int], object]  # makes that many calls and waits for them


def _time(calls: Calls, count: int) -> Tuple[int, int]:
    """Nanoseconds on the wall, and of processor time of all threads of this process."""
    cpu_start = process_time_ns()
    start = perf_counter_ns()
    calls(count)
    elapsed = perf_counter_ns() - start
    return elapsed, process_time_ns() - cpu_start


def _calls_per_repetition(calls: Calls) -> int:
    """Calls that fill one repetition: doubles a batch until it is long enough to be timed by the
    clock."""
    count = 1
    while True:
        elapsed, _ = _time(calls, count)
        if elapsed >= CALIBRATION_NS or count >= 1 << 30:
            return max(1, int(REPETITION_NS * count / max(elapsed, 1)))
        count *= 2


_sentinel_calls: Dict[Calls, int] = {}  # calibrated once


def time_in_turn(kernel: Calls, sentinel: Calls, repetitions: int) -> Dict[str, List[float]]:
    """kernel_ns and sentinel_ns, and kernel_cpu_ns and sentinel_cpu_ns, which are processor time of
    the process; nanoseconds per call, one entry a repetition; entry i of all was measured one after
    the other."""
    if sentinel not in _sentinel_calls:
        _sentinel_calls[sentinel] = _calls_per_repetition(sentinel)
    counts = {"kernel": _calls_per_repetition(kernel), "sentinel": _sentinel_calls[sentinel]}
    times: Dict[str, List[float]] = {f"{name}{clock}": []
                                     for clock in ("_ns", "_cpu_ns") for name in counts}
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, calls in (("kernel", kernel), ("sentinel", sentinel)):
                wall_ns, cpu_ns = _time(calls, counts[name])
                times[f"{name}_ns"].append(wall_ns / counts[name])
                times[f"{name}_cpu_ns"].append(cpu_ns / counts[name])
    finally:
        if collecting:
            gc.enable()
    return times


def processor_mhz() -> float:
    """MHz of the processor that this process ran on last, by /proc/cpuinfo; 0 = not known."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            here = int(file.read().rpartition(")")[2].split()[36])  # field 39, behind the name
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
