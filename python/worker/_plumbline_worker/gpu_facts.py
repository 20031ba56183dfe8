"""Facts about a GPU for its machine class (RunReply.device of the protocol). Read once per device
and process."""
from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any, Dict, List

Facts = Dict[str, Any]  # model, memory_bytes, driver, runtime, arch

KERNEL_MODULE = "/sys/module/nvidia/version"


def driver_version() -> str:
    """Returns the driver's version, "580.65.06"; "" if unknown."""
    with contextlib.suppress(OSError), open(KERNEL_MODULE, encoding="ascii") as file:
        return file.read().strip()
    with contextlib.suppress(OSError, AttributeError):
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        text = ctypes.create_string_buffer(96)
        if nvml.nvmlInit_v2() == 0 and nvml.nvmlSystemGetDriverVersion(text, len(text)) == 0:
            return text.value.decode(errors="replace")
    return ""


def memory_of(ordinal: int) -> int:
    """Returns the bytes of a device's memory from the driver, for frameworks that do not report
    them; 0 if there is no driver."""
    with contextlib.suppress(OSError, AttributeError):
        cuda = ctypes.CDLL("libcuda.so.1")
        device, memory = ctypes.c_int(), ctypes.c_size_t()
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), ordinal) == 0 \
                and cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device) == 0:
            return memory.value
    return 0


def arch_of(major: int, minor: int) -> str:
    return f"sm_{major}{minor}"


def of_torch(torch: Any, ordinal: int) -> Facts:
    properties = torch.cuda.get_device_properties(ordinal)
    return {"model": str(properties.name), "memory_bytes": int(properties.total_memory),
            "driver": driver_version(), "runtime": str(torch.version.cuda or ""),
            "arch": arch_of(*torch.cuda.get_device_capability(ordinal))}


def of_jax(device: Any, ordinal: int) -> Facts:
    capability = [int(part) for part in str(getattr(device, "compute_capability", "")).split(".")
                  if part.isdigit()]
    return {"model": str(device.device_kind), "memory_bytes": memory_of(ordinal),
            "driver": driver_version(), "runtime": _jax_runtime(),
            "arch": arch_of(*capability[:2]) if len(capability) == 2 else ""}


def _jax_runtime() -> str:
    """Returns the version of the CUDA runtime that jaxlib loaded, "13.0"."""
    try:
        from jax._src.lib import cuda_versions  # None in a jaxlib without CUDA
        number = int(cuda_versions.cuda_runtime_get_version())
    except Exception:  # a private module, which may change; an error must not fail a case
        return ""
    return f"{number // 1000}.{number % 1000 // 10}"


def devices_of_loaded_frameworks() -> List[str]:
    """Returns the CUDA devices that torch finds, if a provider has imported it. Neither imports a
    framework nor makes a context."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    try:
        return ([f"cuda:{ordinal}" for ordinal in range(torch.cuda.device_count())]
                if torch.cuda.is_available() else [])
    except Exception:  # a broken installation: its cases will report it
        return []
