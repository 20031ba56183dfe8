"""Clocks and throttle reasons of an NVIDIA GPU, as in harness/provider/child/gpu_clocks.cc."""
from __future__ import annotations

import contextlib
import ctypes
import os
from typing import List, Optional, Tuple

SM_CLOCK = 1  # NVML_CLOCK_SM
# bits of nvmlClocksThrottleReason… that slow a GPU down
REASONS = ((0x4, "power cap"), (0x8, "hardware slowdown"), (0x20, "thermal slowdown"),
           (0x40, "hardware thermal slowdown"), (0x80, "power brake"))


def throttle_words(samples: List[float]) -> str:
    """Returns the reasons of all samples in words; "" for none."""
    return ", ".join(words for bit, words in REASONS if any(int(bits) & bit for bits in samples))


class GpuClocks:
    """The GPU with the CUDA ordinal `ordinal` and the name `model`. Without NVML, or if NVML has
    another name for it, now() returns None."""

    def __init__(self, ordinal: int, model: str) -> None:
        self._nvml: Optional[ctypes.CDLL] = None
        self._device = ctypes.c_void_p()
        with contextlib.suppress(OSError, AttributeError, ValueError, IndexError):
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ""
            entry = visible.split(",")[ordinal] if visible else str(ordinal)
            name = ctypes.create_string_buffer(96)
            if nvml.nvmlInit_v2() == 0 and self._find(nvml, entry) == 0 \
                    and nvml.nvmlDeviceGetName(self._device, name, len(name)) == 0 \
                    and name.value.decode(errors="replace") == model:
                self._nvml = nvml

    def _find(self, nvml: ctypes.CDLL, entry: str) -> int:
        if entry.isdecimal():
            return nvml.nvmlDeviceGetHandleByIndex_v2(int(entry), ctypes.byref(self._device))
        return nvml.nvmlDeviceGetHandleByUUID(entry.encode(), ctypes.byref(self._device))

    def now(self) -> Optional[Tuple[float, float]]:
        """Returns the SM clock in MHz and the bits of the throttle reasons; None: unknown."""
        mhz, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        if self._nvml is None or self._nvml.nvmlDeviceGetClockInfo(
                self._device, SM_CLOCK, ctypes.byref(mhz)) != 0:
            return None
        if self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(
                self._device, ctypes.byref(reasons)) != 0:
            reasons.value = 0
        return float(mhz.value), float(reasons.value)
