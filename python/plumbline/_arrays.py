"""Arrays of any framework as bytes in host memory, with the dtype names of safetensors."""
from __future__ import annotations

import ctypes
from typing import Any, Tuple

import numpy

Contents = Tuple[str, Tuple[int, ...], numpy.ndarray]
"""dtype, shape, and the contiguous bytes as uint8 [bytes]."""

# Dtype names of NumPy (with ml_dtypes) and PyTorch that have no regular form such as "float16".
_NAMES = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "bool": "BOOL",
          "bool_": "BOOL"}
# DLPack's type codes (dlpack.h, DLDataTypeCode): names without the number of bits, and full names.
_DLPACK_CODES = {0: "I", 1: "U", 2: "F", 4: "BF"}
_DLPACK_WHOLE = {6: "BOOL", 10: "F8_E4M3", 12: "F8_E5M2"}
_HOST_DEVICES = (1, 3, 11)  # kDLCPU, and host memory pinned by CUDA or ROCm


def _named(name: str) -> str:
    """Returns "F32" for "float32"."""
    if name in _NAMES:
        return _NAMES[name]
    for kind, letter in (("float", "F"), ("uint", "U"), ("int", "I")):
        if name.startswith(kind) and name[len(kind):].isdigit():
            return letter + name[len(kind):]
    raise TypeError(f"an array of dtype {name} is not accepted")


def _bytes_of(array: numpy.ndarray) -> numpy.ndarray:
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)


def _of_numpy(array: numpy.ndarray) -> Contents:
    dtype = _named(array.dtype.name)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return dtype, array.shape, _bytes_of(array)


def _of_torch(tensor: Any) -> Contents:
    import torch

    if tensor.device.type == "meta":
        raise TypeError("a meta tensor has a shape and no values to judge; make the tensor, or run "
                        'the kernel, on a real device such as "cpu"')
    if tensor.is_nested:
        raise TypeError("a nested tensor is not accepted; pass its values() with cu_seqlens")
    if tensor.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {tensor.layout} is not accepted; pass its to_dense()")
    dtype = _named(str(tensor.dtype).rpartition(".")[2])
    try:
        tensor = tensor.detach().cpu()
        # NumPy has no name for bf16 and fp8.
        flat = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    except (RuntimeError, NotImplementedError) as error:
        # For example a FakeTensor, with which torch.compile and torch.export trace.
        raise TypeError(f"the values of this {type(tensor).__name__} cannot be read: "
                        f"{str(error).splitlines()[0]}") from None
    return dtype, tuple(tensor.shape), flat


class _DLTensor(ctypes.Structure):  # dlpack.h
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(array: Any) -> Contents:
    """Reads the capsule without consuming it: the capsule frees the memory when it is deleted."""
    if array.__dlpack_device__()[0] not in _HOST_DEVICES:
        raise TypeError("the array does not lie in host memory; copy it to the CPU")
    capsule = array.__dlpack__()
    tensor = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    if tensor.lanes != 1:
        raise TypeError("arrays of vectors (DLPack lanes) are not accepted")
    if tensor.code in _DLPACK_CODES:
        dtype = f"{_DLPACK_CODES[tensor.code]}{tensor.bits}"
    elif tensor.code in _DLPACK_WHOLE and tensor.bits == 8:
        dtype = _DLPACK_WHOLE[tensor.code]
    else:
        raise TypeError(f"an array of DLPack type code {tensor.code} with {tensor.bits} bits is "
                        "not accepted")
    shape = tuple(tensor.shape[:tensor.ndim])
    item = tensor.bits // 8
    if 0 in shape:
        return dtype, shape, numpy.empty(0, numpy.uint8)
    strides = None
    extent = item
    for i in reversed(range(tensor.ndim)):
        extent *= shape[i]
    if tensor.strides:
        strides = tuple(step * item for step in tensor.strides[:tensor.ndim])
        if min(strides, default=0) < 0:
            raise TypeError("an array with negative strides in DLPack is not accepted; copy it")
        extent = item + sum((n - 1) * step for n, step in zip(shape, strides))
    memory = (ctypes.c_char * extent).from_address(tensor.data + tensor.byte_offset)
    view = numpy.ndarray(shape, f"V{item}", memory, strides=strides)
    return dtype, shape, _bytes_of(view.copy())


def contents(array: Any) -> Contents:
    """Returns the array's contents. Raises TypeError if it is not a readable array of numbers."""
    if hasattr(array, "detach"):
        return _of_torch(array)
    if hasattr(array, "__cuda_array_interface__") and hasattr(array, "get"):  # CuPy
        array = array.get()
    if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
        return _of_numpy(numpy.asarray(array))
    return _of_dlpack(array)
