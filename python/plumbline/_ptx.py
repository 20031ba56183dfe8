"""libplumbline_ptx.so through ctypes: emulator/ptx/c/plumbline_ptx.h in Python."""
from __future__ import annotations

import csv
import ctypes
import functools
from typing import Dict, Iterable, List, Optional, Tuple

from ._library import HARNESS_REMEDY, NATIVE, loaded

SCHEDULES = {"in_order": 0, "reversed": 1, "random": 2}
LANES = {"lockstep": 0, "independent": 1}
SEPARATE_PRODUCTS = 1

_ERROR_BYTES = 1 << 16
_Size = ctypes.POINTER(ctypes.c_size_t)

Extent = Tuple[int, int]
"""The address and bytes of an allocation."""


def tagged(address: int, tag: int) -> int:
    """Returns a pointer that reaches only allocations with the same tag (plumbline_ptx.h)."""
    return address | tag << 48


class _Launch(ctypes.Structure):
    _fields_ = [("arch", ctypes.c_char_p), ("grid", ctypes.c_uint32 * 3),
                ("block", ctypes.c_uint32 * 3), ("dynamic_shared_bytes", ctypes.c_size_t),
                ("parameters", ctypes.c_char_p), ("schedule", ctypes.c_int32),
                ("seed", ctypes.c_uint64), ("lanes", ctypes.c_int32),
                ("allocations", ctypes.c_void_p)]


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Loads the library. Raises ImportError, with a remedy, if it cannot be loaded."""
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    path = NATIVE / "lib" / "plumbline" / "libplumbline_ptx.so"
    return loaded("plumbline_ptx", 2, path, "library of compiled kernels", HARNESS_REMEDY, {
        "_load": (pointer, [text, size, text, text, ctypes.c_uint32, text, size]),
        "_unload": (None, [pointer]),
        "_parameter_count": (size, [pointer]),
        "_parameter_bytes": (size, [pointer]),
        "_parameter": (ctypes.c_int32, [pointer, size, _Size, _Size]),
        "_static_shared_bytes": (size, [pointer]),
        "_allocations_new": (pointer, []),
        "_allocations_free": (None, [pointer]),
        "_allocations_add": (None, [pointer, pointer, size]),
        "_launch": (ctypes.c_int32, [pointer, ctypes.POINTER(_Launch), text, size]),
    })


@functools.lru_cache(maxsize=None)
def architectures() -> Dict[str, Dict[str, str]]:
    """Returns the emulated rows of the table of architectures (emulator/architectures.csv), by
    name."""
    path = NATIVE / "lib" / "plumbline" / "python" / "_plumbline_worker" / "architectures.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {row["name"]: row for row in csv.DictReader(file) if row["emulated"] == "yes"}
    except OSError as error:
        raise ImportError(f"plumbline's table of architectures cannot be read: {error}\n  "
                          f"remedy: {HARNESS_REMEDY}") from None


class Error(RuntimeError):
    """The library's error for a kernel that cannot be loaded or whose launch failed."""


class Kernel:
    """One compiled entry of a PTX text (plumbline_ptx_load). Raises Error."""

    def __init__(self, text: bytes, entry: str, name: str, flags: int = 0) -> None:
        self._handle = None
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        self._library = library()
        self._handle = self._library.plumbline_ptx_load(
            text, len(text), entry.encode(), name.encode(), flags, error, _ERROR_BYTES)
        if not self._handle:
            raise Error(error.value.decode(errors="replace"))
        self.parameters: List[Tuple[int, int]] = self._read_parameters()
        """(offset, bytes) of each parameter."""
        self.parameter_bytes: int = self._library.plumbline_ptx_parameter_bytes(self._handle)
        self.static_shared_bytes: int = (
            self._library.plumbline_ptx_static_shared_bytes(self._handle))

    def _read_parameters(self) -> List[Tuple[int, int]]:
        found = []
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        for index in range(self._library.plumbline_ptx_parameter_count(self._handle)):
            self._library.plumbline_ptx_parameter(self._handle, index, ctypes.byref(offset),
                                                  ctypes.byref(size))
            found.append((offset.value, size.value))
        return found

    def __del__(self) -> None:
        if self._handle:
            self._library.plumbline_ptx_unload(self._handle)

    def launch(self, arch: str, grid: Tuple[int, int, int], block: Tuple[int, int, int],
               parameters: bytes, shared: int = 0, schedule: str = "in_order", seed: int = 0,
               lanes: str = "lockstep", allocations: Optional[Iterable[Extent]] = None) -> None:
        """Raises Error. `allocations`: accessible extents, which may overlap; None: all memory."""
        if len(parameters) != self.parameter_bytes:
            raise ValueError(f"{len(parameters)} bytes of parameters, and the kernel takes "
                             f"{self.parameter_bytes}")
        known = None
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        try:
            if allocations is not None:
                known = self._library.plumbline_ptx_allocations_new()
                for begin, size in merged(allocations):
                    self._library.plumbline_ptx_allocations_add(known, begin, size)
            options = _Launch(arch.encode(), grid, block, shared, parameters, SCHEDULES[schedule],
                              seed, LANES[lanes], known)
            failed = self._library.plumbline_ptx_launch(self._handle, ctypes.byref(options), error,
                                                        _ERROR_BYTES)
        finally:
            self._library.plumbline_ptx_allocations_free(known)
        if failed:
            raise Error(error.value.decode(errors="replace"))


def merged(extents: Iterable[Extent]) -> List[Extent]:
    """Returns the same memory without overlaps: views of one buffer are merged. Adjacent extents
    stay separate, so that an overrun of the first is detected."""
    result: List[Extent] = []
    for begin, size in sorted(extents):
        if size == 0:
            continue
        if result and begin < sum(result[-1]):
            first = result[-1][0]
            result[-1] = (first, max(sum(result[-1]), begin + size) - first)
        else:
            result.append((begin, size))
    return result
