"""Times a kernel of torch on a GPU by events on its stream.

Each repetition is timed with a flushed L2, and with the L2 as the previous call left it.
"""
from __future__ import annotations

from statistics import median
from time import perf_counter_ns
from typing import Any, Callable, Dict, List

from .nvml import GpuClocks, throttle_words

REPETITION_MS = 5.0  # kernel time in each repetition of each kind
MAX_CALLS = 1000
CYCLES_PER_NS = 2.0  # above the clock of A100, H100 and B200; a faster GPU waits for less time


class TorchTimer:
    """Measures kernel_ns (cold), hot_ns and sentinel_ns, in nanoseconds per call; with NVML also
    clocks and throttle reasons at the end of each repetition of kernel_ns and hot_ns. Enqueues
    everything on `stream`."""

    def __init__(self, torch: Any, device: str, stream: Any) -> None:
        self._torch, self._device, self._stream = torch, device, stream
        properties = torch.cuda.get_device_properties(device)
        l2_bytes = int(getattr(properties, "L2_cache_size", 0)) or 64 << 20
        self._clocks = GpuClocks(torch.device(device).index or 0, str(properties.name))
        self._flushed = torch.empty(2 * l2_bytes, dtype=torch.int8, device=device)
        self._quarters = self._flushed[: l2_bytes // 4], self._flushed[l2_bytes // 4: l2_bytes // 2]

    def times(self, call: Callable[[], Any], repetitions: int) -> Dict[str, Any]:
        with self._torch.cuda.stream(self._stream):
            count, enqueue_ns = self._calls_per_repetition(call)
            sentinel_count, sentinel_enqueue_ns = self._calls_per_repetition(self._sentinel)
            times: Dict[str, Any] = {"kernel_ns": [], "hot_ns": [], "sentinel_ns": []}
            clocks: Dict[str, List[float]] = {"kernel_mhz": [], "hot_mhz": [],
                                              "kernel_throttle": [], "hot_throttle": []}
            for _ in range(repetitions):
                times["kernel_ns"].append(self._cold(call, count, enqueue_ns))
                self._note(clocks, "kernel")
                times["hot_ns"].append(self._hot(call, count, enqueue_ns))
                self._note(clocks, "hot")
                times["sentinel_ns"].append(self._hot(self._sentinel, sentinel_count,
                                                      sentinel_enqueue_ns))
        if clocks["kernel_mhz"]:
            times.update(clocks, mhz=median(clocks["kernel_mhz"]),
                         throttled=throttle_words(clocks["kernel_throttle"]
                                                  + clocks["hot_throttle"]))
        return times

    def _note(self, clocks: Dict[str, List[float]], kind: str) -> None:
        now = self._clocks.now()
        if now is not None:
            clocks[f"{kind}_mhz"].append(now[0])
            clocks[f"{kind}_throttle"].append(now[1])

    def _sentinel(self) -> None:
        """Does the work of DeviceClock::sentinel_ns (harness/provider/child/device_clock.h), the
        unit of times."""
        source, target = self._quarters
        for _ in range(8):
            target.copy_(source)

    def _event(self) -> Any:
        return self._torch.cuda.Event(enable_timing=True)

    def _calls_per_repetition(self, call: Callable[[], Any]) -> tuple:
        """Returns the number of calls in one repetition, and the nanoseconds that the host needs to
        enqueue one call."""
        count = 1
        while True:
            before, start, end = perf_counter_ns(), self._event(), self._event()
            start.record(self._stream)
            for _ in range(count):
                call()
            end.record(self._stream)
            enqueue_ns = (perf_counter_ns() - before) / count
            end.synchronize()
            elapsed = start.elapsed_time(end)
            if elapsed >= REPETITION_MS / 4 or count >= MAX_CALLS:
                return max(1,
                           min(MAX_CALLS,
                               int(REPETITION_MS * count / max(elapsed, 1e-6)))), enqueue_ns
            count *= 2

    def _delay_device(self, count: int, enqueue_ns: float) -> None:
        """Makes the GPU wait until the calls are enqueued, so that events do not measure the host.
        """
        sleep = getattr(self._torch.cuda, "_sleep", None)
        if sleep is not None:
            sleep(int(min(count * enqueue_ns, 50e6) * CYCLES_PER_NS))

    def _cold(self, call: Callable[[], Any], count: int, enqueue_ns: float) -> float:
        pairs = [(self._event(), self._event()) for _ in range(count)]
        self._delay_device(count, 2 * enqueue_ns)
        for start, end in pairs:
            self._flushed.zero_()
            start.record(self._stream)
            call()
            end.record(self._stream)
        pairs[-1][1].synchronize()
        return sum(start.elapsed_time(end) for start, end in pairs) * 1e6 / count

    def _hot(self, call: Callable[[], Any], count: int, enqueue_ns: float) -> float:
        start, end = self._event(), self._event()
        call()
        self._delay_device(count, enqueue_ns)
        start.record(self._stream)
        for _ in range(count):
            call()
        end.record(self._stream)
        end.synchronize()
        return start.elapsed_time(end) * 1e6 / count
