"""Arrays of NumPy, PyTorch or JAX on the harness's memory, and copies of outputs back to it.

Inputs of numpy and torch (on the CPU) are views of read-only pages: a write to them is a SIGSEGV.
JAX arrays and GPU tensors are copies. torch and jax are imported when their first kernel runs.

On a GPU a torch kernel runs on a stream that is not the default one. The inputs arrive late on this
stream, so work that the kernel launches on another stream reads poison.
"""
from __future__ import annotations

import ctypes
import importlib
import os
import sys
from time import perf_counter_ns
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy

from . import gpu_facts
from .failures import Stop
from .gpu_timing import CYCLES_PER_NS, TorchTimer
from .kernels import TENSOR_DTYPES
from .wire import DTYPES, word

POISON = 0xFF  # NaN in every float format: unwritten elements stay NaN
Tensor = Mapping[str, Any]  # protocol: name, dtype, extent, stride (elements), offset, bytes


def _import(module: str, what_for: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        remedy = f"{sys.executable} -m pip install {module}"
        raise Stop("unsupported",
                   f"not measured: {what_for} needs {module}, which cannot be imported: {error}; "
                   f"{remedy}") from None


def _memory(base: int, tensor: Tensor) -> Any:
    return (ctypes.c_char * tensor["bytes"]).from_address(base + tensor["offset"])


def index_array(base: int, tensor: Tensor) -> numpy.ndarray:
    """Returns int32 on the host, as a copy that a kernel may pass to any library."""
    return numpy.frombuffer(_memory(base, tensor), numpy.int32).reshape(tensor["extent"]).copy()


class Numpy:
    name = "numpy"

    def __init__(self) -> None:
        self.version = f"numpy {numpy.__version__}"

    def use_device(self, device: Mapping[str, Any]) -> bool:
        """Returns True if a GPU is used for the first time; False on the CPU. Raises Stop if this
        framework cannot run on the device."""
        if device["name"] != "cpu":
            raise Stop("unsupported",
                       f"kernels of framework {self.name} run on the CPU only, not on "
                       f"{device['name']}")
        return False

    def facts(self) -> Dict[str, Any]:
        """Returns facts about the GPU in use; {} on the CPU."""
        return {}

    def dtype(self, dtype: str) -> numpy.dtype:
        name = TENSOR_DTYPES[dtype]
        library = numpy if hasattr(numpy, name) else _import("ml_dtypes", f"{dtype} in NumPy")
        return numpy.dtype(getattr(library, name))

    def host_view(self, base: int, tensor: Tensor, writable: bool) -> numpy.ndarray:
        dtype = self.dtype(word(DTYPES, tensor["dtype"]))
        if 0 in tensor["extent"]:
            return numpy.empty(tensor["extent"], dtype)
        strides = [s * dtype.itemsize for s in tensor["stride"]]
        array: numpy.ndarray = numpy.ndarray(tensor["extent"], dtype, _memory(base, tensor),
                                             strides=strides)
        array.flags.writeable = writable
        return array

    def input(self, base: int, tensor: Tensor) -> Any:
        return self.host_view(base, tensor, writable=False)

    def poisoned(self, shape: Tuple[int, ...], dtype: str) -> Any:
        array = numpy.empty(shape, self.dtype(dtype))
        self.poison(array)
        return array

    def poison(self, array: Any) -> None:
        """Poisons an array from poisoned() once more; does nothing if arrays are immutable."""
        if array.flags.writeable:
            array.reshape(-1).view(numpy.uint8)[...] = POISON

    def is_array(self, value: object) -> bool:
        return isinstance(value, numpy.ndarray)

    def copy_out(self, array: Any, base: int, tensor: Tensor) -> None:
        self.host_view(base, tensor, writable=True)[...] = array

    def wait_for(self, result: Any) -> None:
        """Waits for one call's result; part of the timed work."""

    def synchronize(self) -> None:
        """Waits for all calls; once per repetition, part of the timed work."""

    def first_call(self, call: Callable[[], Any]) -> Any:
        """Returns the complete result of one call. On a GPU further calls follow, which check
        streams."""
        result = call()
        self.wait_for(result)
        self.synchronize()
        return result

    def judged_run(self, call: Callable[[], Any], is_first: bool = True) -> Any:
        """Returns the complete result of a judged run. `is_first`: there was no earlier call."""
        return self.first_call(call)

    def device_times(self, call: Callable[[], Any],
                     repetitions: int) -> Optional[Dict[str, Any]]:
        """Returns kernel_ns with a flushed L2, hot_ns and sentinel_ns by the device's clock; None:
        use the host's clock."""
        return None

    def input_fault(self, base: int) -> str:
        """Returns a message if the kernel wrote to an input that is not mapped read-only, or ""."""
        return ""


class Torch(Numpy):
    name = "torch"

    def __init__(self) -> None:
        self.torch = _import("torch", "this kernel")
        self.version = f"torch {self.torch.__version__}"
        self.device = "cpu"
        self._uploads: List[Tuple[Tensor, Any]] = []
        self._facts: Dict[str, Dict[str, Any]] = {}
        self._streams: Dict[str, Any] = {}

    def use_device(self, device: Mapping[str, Any]) -> bool:
        self.device = device["name"]
        self._uploads.clear()
        if self.device == "cpu":
            return False
        if not self.device.startswith("cuda:"):
            raise Stop("unsupported",
                       f"kernels of framework torch run on cpu and cuda:N, not on {self.device}")
        if not self.torch.cuda.is_available():
            raise Stop("unsupported",
                       f"not measured: {self.version} finds no CUDA device "
                       f"(torch.cuda.is_available() is False)")
        count = self.torch.cuda.device_count()
        if device["ordinal"] >= count:
            raise Stop("unsupported",
                       f"not measured: {self.version} finds {count} CUDA devices, no {self.device}")
        self.torch.cuda.set_device(device["ordinal"])
        if self.device in self._facts:
            return False
        self._facts[self.device] = gpu_facts.of_torch(self.torch, device["ordinal"])
        self._streams[self.device] = self.torch.cuda.Stream(device["ordinal"])
        return True

    def facts(self) -> Dict[str, Any]:
        return self._facts.get(self.device, {})

    def dtype(self, dtype: str) -> Any:
        return getattr(self.torch, TENSOR_DTYPES[dtype])

    def _flat(self, base: int, tensor: Tensor) -> Any:
        # Declared writable, so that torch does not warn; the pages are read-only anyway.
        return self.torch.frombuffer(_memory(base, tensor),
                                     dtype=self.dtype(word(DTYPES, tensor["dtype"])))

    def host_view(self, base: int, tensor: Tensor, writable: bool) -> Any:
        if 0 in tensor["extent"]:
            return self.torch.empty(tensor["extent"],
                                    dtype=self.dtype(word(DTYPES, tensor["dtype"])))
        return self._flat(base, tensor).as_strided(tensor["extent"], tensor["stride"])

    def input(self, base: int, tensor: Tensor) -> Any:
        if self.device == "cpu" or 0 in tensor["extent"]:
            return self.host_view(base, tensor, writable=False).to(self.device)
        upload = self._flat(base, tensor).to(self.device)
        self._uploads.append((tensor, upload))
        return upload.as_strided(tensor["extent"], tensor["stride"])

    def poisoned(self, shape: Tuple[int, ...], dtype: str) -> Any:
        array = self.torch.empty(shape, dtype=self.dtype(dtype), device=self.device)
        self.poison(array)
        return array

    def poison(self, array: Any) -> None:
        with self.torch.inference_mode():  # a kernel may have made it in inference mode
            array.view(-1).view(self.torch.uint8).fill_(POISON)

    def is_array(self, value: object) -> bool:
        return isinstance(value, self.torch.Tensor)

    def copy_out(self, array: Any, base: int, tensor: Tensor) -> None:
        self.host_view(base, tensor, writable=True).copy_(array.detach())

    def synchronize(self) -> None:
        if self.device != "cpu":
            self.torch.cuda.synchronize(self.device)

    def first_call(self, call: Callable[[], Any]) -> Any:
        if self.device == "cpu":
            return super().first_call(call)
        stream = self._streams[self.device]
        self.synchronize()  # work that prepare enqueued
        with self.torch.cuda.stream(stream):
            copy = _copied(call())
            stream.synchronize()  # the default stream copies the result to the host and does not
                                  # wait for this one
            return copy

    def judged_run(self, call: Callable[[], Any], is_first: bool = True) -> Any:
        if self.device == "cpu":
            return super().judged_run(call)
        if is_first:  # loads and compiles kernels, so that the next call only enqueues
            self.first_call(call)
        stream = self._streams[self.device]
        self.synchronize()  # work that prepare enqueued
        with self.torch.cuda.stream(stream):
            begin = perf_counter_ns()
            call()
            enqueue_ns = perf_counter_ns() - begin
            stream.synchronize()
            self._bring_inputs_late(4 * enqueue_ns + 5e6)
            result = call()
            stream.synchronize()  # waits for no work on other streams
            copy = _copied(result)
            stream.synchronize()  # the default stream copies the result to the host and does not
                                  # wait for this one
            return copy

    def _bring_inputs_late(self, ns: float) -> None:
        """Poisons the inputs until the current stream restores them, about `ns` from now: long
        enough to enqueue a call."""
        right = [(upload, upload.clone()) for _, upload in self._uploads]
        for upload, _ in right:
            upload.view(self.torch.uint8).fill_(POISON)
        self.synchronize()
        sleep = getattr(self.torch.cuda, "_sleep", None)
        if sleep is not None:
            sleep(int(min(ns, 100e6) * CYCLES_PER_NS))
        for upload, content in right:
            upload.copy_(content)

    def device_times(self, call: Callable[[], Any],
                     repetitions: int) -> Optional[Dict[str, Any]]:
        if self.device == "cpu":
            return None
        return TorchTimer(self.torch, self.device,
                          self._streams[self.device]).times(call, repetitions)

    def input_fault(self, base: int) -> str:
        for tensor, upload in self._uploads:
            sent, now = self._flat(base, tensor), upload.cpu()
            if not self.torch.equal(now.view(self.torch.uint8), sent.view(self.torch.uint8)):
                return f"input {tensor['name']} was written to in device memory"
        return ""


def _copied(result: Any) -> Any:
    """Copies on the current stream, so that later writes of other streams are not included."""
    if isinstance(result, tuple):
        return tuple(_copied(part) for part in result)
    return result.clone() if hasattr(result, "clone") else result


class Jax(Numpy):
    """On a GPU XLA uses its own streams and orders the work of prepare and run. Times are host
    times."""

    name = "jax"

    def __init__(self) -> None:
        # Otherwise the first worker takes three quarters of a GPU's memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = _import("jax", "this kernel")
        self.version = f"jax {self.jax.__version__}"
        self._device = self._cpu = self.jax.devices("cpu")[0]
        self._facts: Dict[Any, Dict[str, Any]] = {}

    def use_device(self, device: Mapping[str, Any]) -> bool:
        if device["name"] == "cpu":
            self._device = self._cpu
            return False
        if not device["name"].startswith("cuda:"):
            raise Stop("unsupported",
                       f"kernels of framework jax run on cpu and cuda:N, not on {device['name']}")
        found = self._cuda_devices()
        if device["ordinal"] >= len(found):
            raise Stop("unsupported",
                       f"not measured: {self.version} finds {len(found)} CUDA devices, no "
                       f"{device['name']}")
        self._device = found[device["ordinal"]]
        is_new = self._device not in self._facts
        if is_new:
            self._facts[self._device] = gpu_facts.of_jax(self._device, device["ordinal"])
        return is_new

    def _cuda_devices(self) -> list:
        try:
            return list(self.jax.devices("cuda"))
        except RuntimeError as error:  # a jaxlib without CUDA, or no driver
            text = str(error).splitlines()[0]
            raise Stop("unsupported",
                       f"not measured: {self.version} finds no CUDA device: {text}; it needs the "
                       f"package jax[cuda13], or jax[cuda12]") from None

    def facts(self) -> Dict[str, Any]:
        return self._facts.get(self._device, {})

    def input(self, base: int, tensor: Tensor) -> Any:
        # device_put may alias aligned memory
        copy = self.host_view(base, tensor, writable=False).copy()
        return self.jax.device_put(copy, self._device)

    def poisoned(self, shape: Tuple[int, ...], dtype: str) -> Any:
        return self.jax.device_put(super().poisoned(shape, dtype), self._device)

    def poison(self, array: Any) -> None:
        if isinstance(array, numpy.ndarray):  # in poisoned(), before it makes a JAX array
            super().poison(array)

    def is_array(self, value: object) -> bool:
        return isinstance(value, self.jax.Array)

    def copy_out(self, array: Any, base: int, tensor: Tensor) -> None:
        super().copy_out(numpy.asarray(array), base, tensor)

    def wait_for(self, result: Any) -> None:
        self.jax.block_until_ready(result)


_loaded: dict = {}


def framework(name: str) -> Tuple[Numpy, bool]:
    """Returns the framework, and True if it was imported just now. Raises Stop if it is not
    installed."""
    known: Optional[Numpy] = _loaded.get(name)
    if known is not None:
        return known, False
    _loaded[name] = {"numpy": Numpy, "torch": Torch, "jax": Jax}[name]()
    return _loaded[name], True
