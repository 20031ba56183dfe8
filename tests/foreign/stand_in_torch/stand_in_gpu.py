"""The fake device that sitecustomize.py installs in torch: cuda:0, with memory of the host.

Like a GPU:
- Tensors on it have device cuda:0 and is_cuda. `.numpy()` and numpy.asarray() of them raise
  TypeError, and an operator with tensors of both devices raises RuntimeError.
- A copy on a sleeping stream (torch.cuda._sleep) arrives when that stream is used or waited for.
  Until then, work on another stream reads the old contents. The same holds for a clone on a stream
  other than the default one.
- The fused operators exist on cuda:0 (flash, memory-efficient, cuDNN, their varlen forms), return
  the tuples of their schemas, and refuse what they are known to refuse. FlexAttention and
  torch.compile run without compiling.

Unlike a GPU: the fused operators are one exact formula with P rounded to the input dtype, so no
contract is tested. Times mean nothing. There are no peers, graphs or allocators.
"""
from __future__ import annotations

import contextlib
import os
import time
import types

HERE = "cuda:0"
GPUS = {  # name, major, minor, bytes of memory and of L2
    "NEW": ("Stand-in H100", 9, 0, 85520809984, 52428800),
    "OLD": ("Stand-in A100", 8, 0, 42298834944, 41943040),
}


def install(torch) -> None:
    from torch.overrides import TorchFunctionMode

    class CudaTensor(torch.Tensor):
        """Host memory that reports device cuda:0."""

    def is_there(value) -> bool:
        return isinstance(value, CudaTensor)

    def here(value):
        return value.as_subclass(torch.Tensor) if is_there(value) else value

    def there(value):
        if isinstance(value, torch.Tensor) and not is_there(value):
            return value.as_subclass(CudaTensor)
        return value

    def mapped(value, change):
        if isinstance(value, torch.Tensor):
            return change(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(mapped(part, change) for part in value))
        if isinstance(value, (list, tuple)):
            return type(value)(mapped(part, change) for part in value)
        if isinstance(value, dict):
            return {key: mapped(part, change) for key, part in value.items()}
        return value

    def tensors_in(value):
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for part in value:
                yield from tensors_in(part)
        elif isinstance(value, dict):
            yield from tensors_in(list(value.values()))

    def is_cuda_name(device) -> bool:
        if isinstance(device, int) and not isinstance(device, bool):
            return True
        return str(device).startswith("cuda") if isinstance(device, (str, torch.device)) else False

    def is_device(value) -> bool:
        if isinstance(value, torch.device):
            return True
        return isinstance(value, str) and (value.startswith("cuda") or value == "cpu")

    from stand_in_operators import Operators
    operators = Operators(torch)

    class OneGpu(TorchFunctionMode):
        """Intercepts all functions, methods and attributes of torch on this thread."""

        def __torch_function__(self, function, types_, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            name = getattr(function, "__name__", "")
            owner = getattr(getattr(function, "__self__", None), "__name__", "")
            if name == "__get__":
                if args and is_there(args[0]):
                    if owner == "device":
                        return torch.device(HERE)
                    if owner == "is_cuda":
                        return True
                    if owner == "is_cpu":
                        return False
                return mapped(function(*mapped(args, here), **kwargs),
                              there if is_there(args[0]) else lambda x: x)
            if name in ("numpy", "__array__") and is_there(args[0]):
                raise TypeError(
                    f"can't convert {HERE} device type tensor to numpy. Use Tensor.cpu() "
                    f"to copy the tensor to host memory first.")
            if name == "cpu":
                STREAMS[-1].wakes()
                return here(args[0]).clone()
            if name == "cuda":
                return there(here(args[0]).clone())
            if name == "get_device" and is_there(args[0]):
                return 0
            if name == "to":
                return self._to(args, kwargs)
            if name == "copy_":  # allowed between devices
                STREAMS[-1].does(lambda: here(args[0]).copy_(here(args[1])))
                return args[0]
            if name == "as_subclass":
                return function(*args, **kwargs)
            STREAMS[-1].wakes()
            if name == "clone" and STREAMS[-1] is not DEFAULT and is_there(args[0]):
                return self._cloned_late(function(here(args[0]), *args[1:], **kwargs))
            device = kwargs.get("device")
            if device is not None and is_device(device):
                kwargs["device"] = "cpu"
                result = function(*mapped(args, here), **mapped(kwargs, here))
                return mapped(result, there) if is_cuda_name(device) else result
            given = list(tensors_in([list(args), kwargs]))
            if not any(is_there(tensor) for tensor in given):
                return function(*args, **kwargs)
            if (name not in ("__getitem__", "__setitem__")
                    and any(not is_there(t) and t.dim() > 0 for t in given)):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, {HERE} and cpu! (when calling {name})")
            known = operators.of(function)
            arguments, options = mapped(list(args), here), mapped(kwargs, here)
            result = (known or function)(*arguments, **options)
            if (name.endswith("_") and not name.startswith("_") and is_there(args[0])
                    and isinstance(result, torch.Tensor)):
                return args[0]
            return mapped(result, there)

        @staticmethod
        def _cloned_late(content):
            """Clones on the current stream: empty until the stream is used again or waited for."""
            late = torch.zeros_like(content)
            STREAMS[-1].sleeps()
            STREAMS[-1].does(lambda: late.copy_(content))
            return there(late)

        @staticmethod
        def _to(args, kwargs):
            tensor, rest = args[0], list(args[1:])
            wanted = kwargs.pop("device", None)
            for value in list(rest):
                if is_device(value):
                    wanted = value
                    rest.remove(value)
                elif isinstance(value, torch.Tensor):
                    wanted = HERE if is_there(value) else "cpu"
                    rest[rest.index(value)] = here(value).dtype
            rest = [value for value in rest if value is not None or not rest]
            moved = here(tensor)
            moved = moved.to(*rest, **kwargs) if rest or kwargs else moved
            target = is_there(tensor) if wanted is None else is_cuda_name(wanted)
            if (wanted is not None and target != is_there(tensor)
                    and moved.data_ptr() == here(tensor).data_ptr()):
                moved = moved.clone(memory_format=torch.preserve_format)
            return there(moved) if target else moved

    _put_streams_in(torch)
    _put_properties_in(torch)
    operators.put_flex_in()
    mode = OneGpu()
    mode.__enter__()
    torch._stand_in_gpu = mode  # kept for the life of the process


class Stream:
    """Runs all work at once and in order, except copies on a sleeping stream.
    Those are delayed until the stream is used or waited for."""

    def __init__(self, device=None, priority=0, **_):
        self.device = device
        self.cuda_stream = id(self)
        self._sleeps = False
        self._late = []

    def sleeps(self):
        self._sleeps = True

    def does(self, copy):
        if self._sleeps:
            self._late.append(copy)
        else:
            copy()

    def wakes(self):
        self._sleeps = False
        late, self._late = self._late, []
        for copy in late:
            copy()

    def synchronize(self):
        self.wakes()

    def wait_stream(self, other):
        pass

    def wait_event(self, event):
        pass

    def query(self):
        return True

    def record_event(self, event=None):
        event = event or Event(enable_timing=True)
        event.record(self)
        return event


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._ns = None

    def record(self, stream=None):
        self._ns = time.perf_counter_ns()

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return max(end._ns - self._ns, 1) / 1e6


DEFAULT = Stream(0)
STREAMS = [DEFAULT]  # the last one is current


def _put_streams_in(torch) -> None:
    @contextlib.contextmanager
    def stream(chosen):
        STREAMS.append(chosen or DEFAULT)
        try:
            yield
        finally:
            STREAMS.pop()
    torch.cuda.Stream, torch.cuda.Event = Stream, Event
    torch.cuda.stream = stream
    torch.cuda.current_stream = lambda device=None: STREAMS[-1]
    torch.cuda.default_stream = lambda device=None: DEFAULT
    torch.cuda.synchronize = lambda device=None: [stream.wakes() for stream in STREAMS]
    torch.cuda._sleep = lambda cycles: STREAMS[-1].sleeps()


def _put_properties_in(torch) -> None:
    name, major, minor, memory, l2 = GPUS[os.environ.get("PLUMBLINE_STAND_IN_GPU", "NEW")]
    properties = types.SimpleNamespace(name=name, major=major, minor=minor, total_memory=memory,
                                       L2_cache_size=l2 // 64, multi_processor_count=132)
    torch.version.cuda = "13.0"
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0
    torch.cuda.set_device = lambda device: None
    torch.cuda.init = lambda: None
    torch.cuda.is_initialized = lambda: True
    torch.cuda.get_device_properties = lambda device=None: properties
    torch.cuda.get_device_capability = lambda device=None: (major, minor)
    torch.cuda.get_device_name = lambda device=None: name
    torch.cuda.memory_allocated = torch.cuda.max_memory_allocated = lambda device=None: 0
    torch.cuda.empty_cache = torch.cuda.reset_peak_memory_stats = lambda device=None: None
