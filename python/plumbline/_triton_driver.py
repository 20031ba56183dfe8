"""Triton's driver for the emulator, made active by plumbline.triton.emulate."""
from __future__ import annotations

import ctypes
import functools
import hashlib
import operator
import struct
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from . import _ptx
from .triton import TRITON, EmulationError

# The architecture that Triton compiles for: the newest whose instructions the translator supports.
_TARGET = 80
_WARP = 32
Pair = Tuple[str, Any]
"""An argument's type, as Triton spells it, and the argument."""
_FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}


class Utils:
    """The part of a driver that describes the device to Triton's runtime."""

    def __init__(self, arch: str) -> None:
        row = _ptx.architectures()[arch]
        self._multiprocessors = int(row["multiprocessors"])
        self._shared_kib = int(row["block_shared_kib"])

    def load_binary(self, name: str, binary: bytes, shared: int, device: int
                    ) -> Tuple[None, bytes, int, int, int]:
        """Returns module, function, registers, spills and the maximum number of threads. The
        function is the PTX, because only the launcher knows the options to compile it with. The
        module is None, because Triton might unload a module while another driver is active."""
        return None, binary, 0, 0, 1024

    def get_device_properties(self, device: int) -> Dict[str, int]:
        return {"max_shared_mem": self._shared_kib << 10, "max_num_regs": 65536,
                "multiprocessor_count": self._multiprocessors, "warpSize": _WARP}


class Driver(DriverBase):
    """One emulation. Active from start() until stop()."""

    def __init__(self, arch: str, schedule: str, seed: int, lanes: str, bounds: bool) -> None:
        super().__init__()
        self.arch = arch
        self.how = {"arch": arch, "schedule": schedule, "seed": seed, "lanes": lanes}
        self.bounds = bounds
        self.known: List[Any] = []
        self.utils = Utils(arch)
        self.launcher_cls = Launcher
        self._before: Optional[Tuple[Any, Any]] = None

    def start(self) -> None:
        _ptx.library()
        runtime = triton.runtime.driver
        self._before = (getattr(runtime, "_active", None), knobs.runtime.add_stages_inspection_hook)
        knobs.runtime.add_stages_inspection_hook = _stop_at_ptx
        runtime.set_active(self)

    def stop(self) -> None:
        if self._before is not None:
            driver, hook = self._before
            triton.runtime.driver.set_active(driver)
            knobs.runtime.add_stages_inspection_hook = hook
            self._before = None
            self.known.clear()

    def know(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            _storage(tensor)
            self.known.append(tensor)

    def fenced(self, pairs: Sequence[Pair]) -> Tuple[List[Pair], Optional[List[_ptx.Extent]]]:
        """Returns the arguments for the launch and the memory it may access; None: not checked.

        A tensor's pointer has its own tag, with which it reaches only the view that was passed.
        Tensors in known memory and addresses that kernels load have no tag: they reach all memory
        of the launch."""
        if not self.bounds:
            return list(pairs), None
        known = [_storage(tensor) for tensor in self.known]
        arguments, extents = [], list(known)
        for tag, (kind, value) in enumerate(pairs, 1):
            if hasattr(value, "data_ptr"):
                extents.append(_storage(value))
                begin, size = _view(value)
                if size and not any(_overlap((begin, size), other) for other in known):
                    extents.append((_ptx.tagged(begin, tag), size))
                    value = _ptx.tagged(value.data_ptr(), tag)
            arguments.append((kind, value))
        return arguments, extents

    # Triton's driver interface.
    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", _TARGET, _WARP)

    def get_current_device(self) -> int:
        """Triton caches compiled code and device properties by this number. Each architecture has
        its own, which no GPU of this machine has."""
        return int(self.arch[3:])

    def set_current_device(self, device: int) -> None:
        if device != self.get_current_device():
            raise EmulationError(f"there is no GPU {device}: {self.arch} is emulated")

    def get_current_stream(self, device: Optional[int] = None) -> int:
        return 0

    def get_device_capability(self, device: Optional[int] = None) -> Tuple[int, int]:
        return divmod(self.get_current_device(), 10)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise EmulationError("Triton's ahead-of-time launchers need CUDA and are not emulated")

    def get_benchmarker(self) -> Callable[..., List[float]]:
        return _run_once

    def get_device_interface(self) -> Any:
        raise EmulationError("there is no GPU to time; an emulated kernel's time is the time of "
                             "this machine's CPU\n  remedy: do not call do_bench while kernels "
                             "are emulated")

    def get_empty_cache_for_benchmark(self) -> Any:
        return self.get_device_interface()

    def clear_cache(self, cache: Any) -> None:
        self.get_device_interface()


def start(arch: str, schedule: str, seed: int, lanes: str, bounds: bool) -> Driver:
    known = _ptx.architectures()
    if arch not in known:
        raise ValueError(f"no architecture {arch!r}\n  remedy: choose one of {', '.join(known)}")
    if not hasattr(knobs.runtime, "add_stages_inspection_hook"):
        raise ImportError(f"Triton {triton.__version__} is too old for plumbline.triton\n  remedy: "
                          f"pip install triton=={TRITON}")
    if knobs.runtime.interpret:
        raise EmulationError("TRITON_INTERPRET is set: Triton would interpret kernels in Python "
                             "and compile none\n  remedy: unset it before kernels are defined")
    driver = Driver(arch, schedule, seed, lanes, bounds)
    driver.start()
    return driver


def _run_once(kernel_call: Callable[[], None], *, quantiles: Sequence[float] = (0.5,),
              **_: Any) -> List[float]:
    """Returns the same "time" for every call, so that Triton's autotuner picks the first
    configuration that runs."""
    kernel_call()
    return [1.0] * len(quantiles)


def _stop_at_ptx(backend: Any = None, stages: Any = None, *_: Any) -> Optional[Tuple[str, str]]:
    """Hook of Triton's compiler that makes PTX the last stage. Without arguments, returns a key by
    which Triton's cache separates results of this hook from others."""
    if stages is None:
        name = "plumbline.triton: PTX alone"
        return name, hashlib.sha256(name.encode()).hexdigest()
    stages["cubin"] = lambda ptx, metadata: ptx.encode()
    return None


@functools.lru_cache(maxsize=None)
def _loaded(ptx: bytes, entry: str, flags: int) -> _ptx.Kernel:
    return _ptx.Kernel(ptx, entry, f"{entry}.ptx", flags)


class Launcher:
    """Called by Triton for each launch of one compiled kernel."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self._metadata = metadata
        self._kinds = tuple(src.signature.values())
        self._kernel: Optional[_ptx.Kernel] = None
        if getattr(metadata, "launch_cooperative_grid", False):
            raise self._refusal("blocks that wait for one another (launch_cooperative_grid): the "
                                "emulator runs blocks in any order")
        if any(kind.startswith(("tensordesc", "nvTmaDesc")) for kind in _flat(self._kinds)):
            raise self._refusal("a tensor descriptor made on the host\n  remedy: pass the tensor, "
                                "and make the descriptor in the kernel with "
                                "tl.make_tensor_descriptor")

    def __call__(self, x: int, y: int, z: int, stream: int, function: bytes, packed: Any,
                 launch_metadata: Any, enter: Any, leave: Any, *arguments: Any) -> None:
        driver = triton.runtime.driver.active
        if not isinstance(driver, Driver):
            raise EmulationError(f"{self._metadata.name} was compiled for an emulation that has "
                                 "ended\n  remedy: launch it within plumbline.triton.emulate")
        if enter is not None:
            enter(launch_metadata)
        if x * y * z > 0:
            self._launch(driver, (x, y, z), function, arguments)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, driver: Driver, grid: Tuple[int, int, int], ptx: bytes,
                arguments: Sequence[Any]) -> None:
        pairs = list(_pairs(self._kinds, arguments))
        for _, value in pairs:
            _require_host_memory(value)
        try:
            if self._kernel is None:
                flags = 0 if self._metadata.enable_fp_fusion else _ptx.SEPARATE_PRODUCTS
                self._kernel = _loaded(ptx, self._metadata.name, flags)
            blocks = grid[0] * grid[1] * grid[2]
            pairs += self._scratch(blocks, len(self._kernel.parameters) - len(pairs))
            fenced, allocations = driver.fenced(pairs)
            self._kernel.launch(grid=grid, block=(_WARP * self._metadata.num_warps, 1, 1),
                                parameters=self._packed(fenced), shared=self._metadata.shared,
                                allocations=allocations, **driver.how)
        except _ptx.Error as error:
            raise EmulationError(f"{self._metadata.name} on emulated {driver.arch}: {error}"
                                 + _view_remedy(str(error), pairs)) from None

    def _scratch(self, blocks: int, count: int) -> List[Pair]:
        """Returns memory for the parameters that Triton's compiler adds after the kernel's own:
        global scratch and profiler scratch."""
        sizes = [self._metadata.global_scratch_size, self._metadata.profile_scratch_size]
        if not 0 <= count <= len(sizes):
            raise self._refusal(f"{count} parameters that are not in its signature")
        return [("*i8", Scratch(blocks * size)) for size in sizes[:count]]

    def _packed(self, pairs: Sequence[Pair]) -> bytes:
        assert self._kernel is not None
        packed = bytearray(self._kernel.parameter_bytes)
        for (offset, size), (kind, value) in zip(self._kernel.parameters, pairs):
            packed[offset:offset + size] = _encoded(kind, value, size)
        return bytes(packed)

    def _refusal(self, what: str) -> EmulationError:
        return EmulationError(f"{self._metadata.name} is not supported by the emulator: {what}")


class Scratch:
    """Zeroed host memory; the address is 0 if the size is 0."""

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size)
        self.nbytes = size

    def data_ptr(self) -> int:
        if self.nbytes == 0:
            return 0
        return ctypes.addressof((ctypes.c_char * self.nbytes).from_buffer(self._bytes))


def _flat(kinds: Any) -> Iterator[str]:
    """Yields the types of a signature; types of tuple arguments are nested tuples."""
    for kind in kinds:
        if isinstance(kind, tuple):
            yield from _flat(kind)
        else:
            yield kind


def _pairs(kinds: Any, arguments: Any) -> Iterator[Pair]:
    """Yields the arguments that the kernel receives: all but constexpr ones."""
    for kind, argument in zip(kinds, arguments):
        if isinstance(kind, tuple):
            yield from _pairs(kind, argument)
        elif kind != "constexpr":
            yield kind, argument


def _encoded(kind: str, value: Any, size: int) -> bytes:
    """Returns a value as the kernel's parameter of `size` bytes."""
    if kind[0] == "*":
        address = value.data_ptr() if hasattr(value, "data_ptr") else value
        return int(address or 0).to_bytes(size, "little")
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    if kind in _FLOATS:
        return struct.pack(_FLOATS[kind], value)
    return (operator.index(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _require_host_memory(tensor: Any) -> None:
    device = getattr(tensor, "device", None)
    if getattr(device, "type", "cpu") != "cpu":
        raise EmulationError(f"a tensor is on {device}, but the emulator reads host memory"
                             "\n  remedy: give the kernel tensors in host memory (.cpu())")


def _overlap(a: _ptx.Extent, b: _ptx.Extent) -> bool:
    return a[0] < sum(b) and b[0] < sum(a)


def _view_remedy(error: str, pairs: Sequence[Pair]) -> str:
    """Returns a remedy if the kernel may have meant the tensor that an argument is a view of."""
    tensors = [value for _, value in pairs if hasattr(value, "data_ptr")]
    if "out of bounds" not in error or all(_view(one) == _storage(one) for one in tensors):
        return ""
    return ("\n  remedy: an argument is a view of a larger tensor; if the kernel may access all of "
            "the larger one, call know(TENSOR) of the emulation")


def _view(tensor: Any) -> _ptx.Extent:
    """Returns the address of a tensor's first element, and the bytes from the first to the last."""
    _require_host_memory(tensor)
    base = getattr(tensor, "base", None)
    if hasattr(base, "data_ptr"):  # triton.reinterpret
        return _view(base)
    if not (hasattr(tensor, "stride") and hasattr(tensor, "element_size")):
        return _storage(tensor)
    if 0 in tensor.shape:
        return tensor.data_ptr(), 0
    size = tensor.element_size()
    steps = [size * (extent - 1) * step for extent, step in zip(tensor.shape, tensor.stride())]
    before = sum(step for step in steps if step < 0)
    return tensor.data_ptr() + before, sum(map(abs, steps)) + size


def _storage(tensor: Any) -> _ptx.Extent:
    """Returns the address and bytes of a tensor's memory, shared with all its views."""
    _require_host_memory(tensor)
    base = getattr(tensor, "base", None)
    if hasattr(base, "data_ptr"):  # triton.reinterpret
        return _storage(base)
    if hasattr(tensor, "untyped_storage"):
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    if hasattr(tensor, "element_size"):  # Array
        return _view(tensor)
    if hasattr(tensor, "nbytes"):
        return tensor.data_ptr(), tensor.nbytes
    raise EmulationError(f"an argument of type {type(tensor).__name__} does not say how much "
                         "memory it has\n  remedy: give it nbytes, or use emulate(bounds=False)")
