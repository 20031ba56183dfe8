"""Two functions of FlashAttention-2 for PyTorch's CPU tensors, with the interface of 2.8.3.

The kernels are FlashAttention-2's own, compiled from their source for the emulator
(kernels/compiled/flash_attention), called through plumbline_provider.h.
https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/flash_attn/flash_attn_interface.py
"""

from __future__ import annotations

import ctypes
import functools
import pathlib

import torch

LIBRARY = pathlib.Path(__file__).parent.parent / "plumbline_compiled_flash_attention.so"
ARCH = "sm_80"  # the architecture whose tensor cores are emulated
threads_reversed = False  # order of threads in the next calls (plumbline_tensors)

# The constants and structs of plumbline_provider.h.
ABI_VERSION = 1
OK, EMULATED, HOST, INT32 = 0, 2, 0, 8
PADDED_BSHD, RAGGED_THD = 0, 2
MASK_NONE, CAUSAL_BOTTOM_RIGHT = 0, 2
DTYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3, torch.int32: INT32,
          torch.uint8: 0}


class _Problem(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_uint32) for name in
                 ("struct_size", "dtype_q", "dtype_kv", "dtype_out", "layout", "mask", "padding",
                  "lse_wanted")]
                + [(name, ctypes.c_int64) for name in
                   ("batch", "heads_q", "heads_kv", "seq_q", "seq_kv", "head_dim_qk",
                    "head_dim_vo", "total_q", "total_kv", "page_size", "page_count", "window_left",
                    "window_right")]
                + [("scale", ctypes.c_double), ("softcap", ctypes.c_double),
                   ("has_alibi", ctypes.c_uint32), ("has_sink", ctypes.c_uint32),
                   ("scale_tokens", ctypes.c_int64), ("question", ctypes.c_uint32),
                   ("merge_lse_base", ctypes.c_uint32)])


class _Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_uint32),
                ("memory_space", ctypes.c_uint32), ("device", ctypes.c_int32),
                ("rank", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("extent", ctypes.c_int64 * 4), ("stride", ctypes.c_int64 * 4),
                ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64)]


TENSORS = ("q", "k", "v", "out", "lse", "cu_seqlens_q", "cu_seqlens_kv", "seqlens_q", "seqlens_kv",
           "page_table", "workspace", "mask", "alibi_slopes", "sinks", "q_scale", "k_scale",
           "v_scale")


class _Tensors(ctypes.Structure):
    _fields_ = ([("struct_size", ctypes.c_uint32), ("threads_reversed", ctypes.c_uint32)]
                + [(name, _Tensor) for name in TENSORS])


class _Device(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("memory_space", ctypes.c_uint32),
                ("ordinal", ctypes.c_int32), ("reserved", ctypes.c_uint32),
                ("arch", ctypes.c_char * 32)]


_REASON = (ctypes.c_char_p, ctypes.c_size_t)
_PLAN = ctypes.c_void_p


class _Provider(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("abi_version", ctypes.c_uint32),
        ("name", ctypes.c_char_p), ("version", ctypes.c_char_p),
        ("kernel_count", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
        ("kernel_name", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint32)),
        ("query", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_Problem),
                                   ctypes.POINTER(_Device), *_REASON)),
        ("prepare", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_Problem),
                                     ctypes.POINTER(_Tensors), ctypes.POINTER(_Device),
                                     ctypes.POINTER(_PLAN), ctypes.POINTER(ctypes.c_uint64),
                                     *_REASON)),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, _PLAN, ctypes.POINTER(_Tensors), ctypes.c_void_p,
                                 *_REASON)),
        ("describe", ctypes.c_void_p),
        ("destroy", ctypes.CFUNCTYPE(None, _PLAN)),
    ]


def why_not() -> str:
    """Returns why the kernels cannot be called in this process; "" if they can."""
    if not LIBRARY.exists():
        return f"not measured: {LIBRARY.name} is not built (ci/setup.sh --providers)"
    if torch.version.cuda is not None:
        return ("not measured: the emulator's libcudart.so.12 and that of PyTorch's build for CUDA "
                "have the same name, and a process loads only one of them")
    return ""


def version() -> str:
    """Returns the version; "" if the kernels cannot be called."""
    return "" if why_not() else str(_provider().version.decode())


@functools.lru_cache(maxsize=None)
def _provider() -> _Provider:
    get = ctypes.CDLL(str(LIBRARY), mode=ctypes.RTLD_LOCAL).plumbline_get_provider
    get.argtypes, get.restype = (ctypes.c_uint32, ctypes.c_char_p), ctypes.POINTER(_Provider)
    found = get(ABI_VERSION, b"")
    if not found:
        raise RuntimeError(f"{LIBRARY.name} does not serve ABI version {ABI_VERSION}")
    return found.contents


def _kernel(name: str) -> int:
    provider = _provider()
    names = [provider.kernel_name(i).decode() for i in range(provider.kernel_count)]
    return names.index(name)


def _sized(kind, **fields):
    return kind(struct_size=ctypes.sizeof(kind), **fields)


def _described(tensor: torch.Tensor, memory_space: int) -> _Tensor:
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    size = (last + 1) * tensor.element_size() if tensor.numel() else 0
    described = _sized(_Tensor, dtype=DTYPES[tensor.dtype], memory_space=memory_space,
                       rank=tensor.dim(), data=tensor.data_ptr(), bytes=size)
    described.extent[:tensor.dim()] = tensor.shape
    described.stride[:tensor.dim()] = tensor.stride()
    return described


def _check(status: int, reason) -> None:
    if status != OK:  # like FlashAttention-2's own checks
        raise RuntimeError(reason.value.decode(errors="replace"))


def _workspace(size: int) -> torch.Tensor:
    """Returns memory aligned to 256 bytes, as the interface promises."""
    room = torch.empty(size + 256, dtype=torch.uint8)
    begin = -room.data_ptr() % 256
    return room[begin:begin + size]


def _run(problem: _Problem, tensors: dict, lengths: dict) -> None:
    provider, reason = _provider(), ctypes.create_string_buffer(1024)
    device = _sized(_Device, memory_space=EMULATED, arch=f"emulated:{ARCH}".encode())
    call = _sized(_Tensors, threads_reversed=int(threads_reversed))
    for named, memory_space in ((tensors, EMULATED), (lengths, HOST)):
        for name, tensor in named.items():
            setattr(call, name, _described(tensor, memory_space))
    forward = _kernel("forward")
    _check(provider.query(forward, problem, device, reason, len(reason)), reason)
    plan, workspace_bytes = _PLAN(), ctypes.c_uint64()
    _check(provider.prepare(forward, problem, call, device, ctypes.byref(plan),
                            ctypes.byref(workspace_bytes), reason, len(reason)), reason)
    try:
        workspace = _workspace(workspace_bytes.value)
        call.workspace = _described(workspace, EMULATED)
        _check(provider.run(plan, call, None, reason, len(reason)), reason)
    finally:
        provider.destroy(plan)


def _forward(q, k, v, layout: int, lengths_q, lengths_kv, longest, softmax_scale, causal,
             refused: dict):
    for name, value in refused.items():
        if value:
            raise RuntimeError(f"{name} is not supported on the emulator")
    q, k, v = (t if t.stride(-1) == 1 else t.contiguous() for t in (q, k, v))
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    sums = [torch.nn.functional.pad(t.cumsum(0, dtype=torch.int32), (1, 0))
            for t in (lengths_q, lengths_kv)]
    problem = _sized(
        _Problem, dtype_q=DTYPES[q.dtype], dtype_kv=DTYPES[k.dtype], dtype_out=DTYPES[q.dtype],
        layout=layout, mask=CAUSAL_BOTTOM_RIGHT if causal else MASK_NONE,
        batch=len(lengths_q), heads_q=q.shape[-2], heads_kv=k.shape[-2], seq_q=longest[0],
        seq_kv=longest[1], head_dim_qk=q.shape[-1], head_dim_vo=v.shape[-1],
        total_q=int(sums[0][-1]), total_kv=int(sums[1][-1]), window_left=-1, window_right=-1,
        scale=q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale)
    _run(problem, {"q": q, "k": k, "v": v, "out": out},
         {"seqlens_q": lengths_q, "seqlens_kv": lengths_kv, "cu_seqlens_q": sums[0],
          "cu_seqlens_kv": sums[1]})
    return out


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False,
                    window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False,
                    return_attn_probs=False):
    """Like the package: q is [batch, rows, heads, dim]. Returns only the output."""
    lengths = [torch.full((q.shape[0],), t.shape[1], dtype=torch.int32) for t in (q, k)]
    return _forward(q, k, v, PADDED_BSHD, *lengths, (q.shape[1], k.shape[1]), softmax_scale, causal,
                    {"dropout_p": dropout_p, "window_size": tuple(window_size) != (-1, -1),
                     "softcap": softcap, "alibi_slopes": alibi_slopes is not None,
                     "return_attn_probs": return_attn_probs})


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                           dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                           softcap=0.0, alibi_slopes=None, deterministic=False,
                           return_attn_probs=False, block_table=None):
    """Like the package: q is [tokens, heads, dim]. Returns only the output."""
    lengths = [sums.diff().to(torch.int32) for sums in (cu_seqlens_q, cu_seqlens_k)]
    return _forward(q, k, v, RAGGED_THD, *lengths, (int(max_seqlen_q), int(max_seqlen_k)),
                    softmax_scale, causal,
                    {"dropout_p": dropout_p, "window_size": tuple(window_size) != (-1, -1),
                     "softcap": softcap, "alibi_slopes": alibi_slopes is not None,
                     "return_attn_probs": return_attn_probs,
                     "block_table": block_table is not None})
