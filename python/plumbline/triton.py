"""Triton kernels without a GPU: compiled as usual, launched on plumbline's emulator.

    import plumbline.triton

    with plumbline.triton.emulate("sm_90"):
        kernel[grid](x, y, out, n, BLOCK=128)        # tensors in host memory

Triton compiles for sm_80, whatever the architecture. Its PTX is translated to C++, compiled by
this machine's C++ compiler, and run with the tensor cores of the given architecture. So "sm_90"
means sm_80's instructions with the tensor-core arithmetic, number of multiprocessors and shared
memory of sm_90. wgmma, tcgen05 and TMA are not emulated.
Triton's copy of NVIDIA's assembler is not run.

The emulator raises EmulationError, with the line of the kernel's source, for an access outside
the tensor whose pointer was passed, a barrier that threads do not reach together, or an unknown
instruction. docs/emulator.md describes the model.
"""
from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type

from . import _ptx

__all__ = ["Array", "EmulationError", "Emulation", "emulate"]

TRITON = "3.8.0"
"""The version of Triton that plumbline is tested with; 3.6 to 3.9 also work."""


class EmulationError(RuntimeError):
    """An error found by the emulator, or a limit of the emulator. The text names the kernel, and
    the line if it is known."""


def _require(name: str, value: str, known: Any) -> None:
    if value not in known:
        raise ValueError(f"no {name} {value!r}\n  remedy: one of {', '.join(known)}")


class Emulation:
    """From the call of emulate, Triton's launches run on the emulator. stop(), or the end of the
    `with` block, restores the previous driver. Emulations must end in reverse order. Triton has one
    driver per process, so an emulation affects all threads."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    @property
    def arch(self) -> str:
        """The emulated architecture, for example "sm_90"."""
        return self._driver.arch

    @property
    def schedule(self) -> str:
        """The order of a block's threads, for example "in_order"; may be set between launches."""
        return self._driver.how["schedule"]

    @schedule.setter
    def schedule(self, schedule: str) -> None:
        _require("schedule", schedule, _ptx.SCHEDULES)
        self._driver.how["schedule"] = schedule

    def know(self, *tensors: Any) -> None:
        """Adds memory that kernels may access although no argument covers it: memory whose address
        a kernel loads, or all of a tensor if an argument is a view of it. Keeps the tensors alive
        until the emulation ends."""
        self._driver.know(tensors)

    def stop(self) -> None:
        """Ends the emulation; further calls do nothing."""
        self._driver.stop()

    def __enter__(self) -> "Emulation":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.stop()


def emulate(arch: str = "sm_80", *, schedule: str = "in_order", seed: int = 0,
            lanes: str = "lockstep", bounds: bool = True) -> Emulation:
    """Makes Triton launch kernels on an emulated `arch` from now on.

    arch: "sm_80" (A100), "sm_90" (H100) or another emulated architecture (docs/emulator.md).
    schedule: which of a block's runnable threads continues: "in_order", "reversed" or "random",
        drawn from `seed`. A correct kernel gives the same bits under each.
    lanes: "lockstep", as GPUs run code that has not diverged, or "independent", which is all that
        CUDA promises.
    bounds: if True, a pointer must stay within the tensor that it was passed as: from the first to
        the last element of a PyTorch tensor or an Array, which may be a view; for other objects
        `nbytes` from data_ptr(). Two tensors of one storage have separate bounds.

    Kernel arguments are tensors in host memory: PyTorch's, or any object with data_ptr(), dtype
    and nbytes (Array makes one of a NumPy array). Autotuned kernels use the first of their
    configurations that runs, the same on every machine, because times of an emulator mean nothing.
    Each configuration is run once.

    Raises ValueError for an invalid architecture, schedule or lanes, and ImportError if Triton or
    plumbline's library is missing.
    """
    _require("schedule", schedule, _ptx.SCHEDULES)
    _require("lanes", lanes, _ptx.LANES)
    try:
        import triton  # noqa: F401
    except ImportError as error:
        raise ImportError(f"plumbline.triton.emulate needs Triton: {error}\n  remedy: "
                          f"pip install triton=={TRITON}") from None
    from . import _triton_driver

    return Emulation(_triton_driver.start(arch, schedule, seed, lanes, bounds))


class Array:
    """A NumPy array (bf16 by ml_dtypes) as an argument of a Triton kernel, without PyTorch. Shares
    the array's memory. Also has the shape and, in elements, the strides of a PyTorch tensor."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = array.dtype.name
        self.shape = array.shape
        self.nbytes = array.nbytes

    def element_size(self) -> int:
        return self.array.itemsize

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self, dim: Optional[int] = None) -> Any:
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        return strides if dim is None else strides[dim]
