"""Cases of the Python worker for tests that call kernels directly, for example on "meta"."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROVIDERS = os.path.join(ROOT, "kernels", "foreign")
WORKER = os.path.join(ROOT, "python", "worker")
sys.path[:0] = [PROVIDERS, WORKER]

import numpy  # noqa: E402

from _plumbline_worker import wire  # noqa: E402
from _plumbline_worker.case import Case  # noqa: E402
from plumbline.kernels import LAYOUTS, MASKS, declared  # noqa: E402


def load(provider):
    """Returns the kernels of a provider file by name."""
    declared.clear()
    for name in [name for name in sys.modules if name.startswith(("torch_", "foreign_case"))]:
        del sys.modules[name]
    path = os.path.join(PROVIDERS, f"{provider}_kernels.py")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), {"__name__": provider, "__file__": path})
    return {kernel.name: kernel for kernel in declared}


def case_on(torch, place, device="cuda:0", dtype="bf16", layout="padded_bshd", mask="none",
            seqlens_q=(32, 32), seqlens_kv=(64, 64), heads_q=4, heads_kv=2, head_dim=64,
            page_size=256, window=(-1, -1)):
    """Returns a case with tensors on torch's device `place` that reports the device `device`."""
    batch, seq_q, seq_kv = len(seqlens_q), max(seqlens_q), max(seqlens_kv)
    pages = -(-seq_kv // page_size)
    problem = {
        "batch": batch, "heads_q": heads_q, "heads_kv": heads_kv, "seq_q": seq_q, "seq_kv": seq_kv,
        "head_dim_qk": head_dim, "head_dim_vo": head_dim, "total_q": sum(seqlens_q),
        "total_kv": sum(seqlens_kv),
        "page_size": page_size, "page_count": batch * pages, "window_left": window[0],
        "window_right": window[1],
        "dtype_q": wire.DTYPES.index(dtype), "dtype_kv": wire.DTYPES.index(dtype),
        "dtype_out": wire.DTYPES.index(dtype),
        "layout": LAYOUTS.index(layout), "mask": MASKS.index(mask), "padding": 0, "scale": 0.125,
        "softcap": 0,
        "question": 0, "scale_tokens": 0, "features": 0,
    }
    case = Case(problem, device, "", lse_wanted=True, launched="")
    shapes = {
        "padded": ((batch, seq_q, heads_q), (batch, seq_kv, heads_kv)),
        "ragged": ((sum(seqlens_q), heads_q), (sum(seqlens_kv), heads_kv)),
        "paged": ((sum(seqlens_q), heads_q), (batch * pages, page_size, heads_kv)),
    }[layout.split("_")[0]]
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
    case.q, case.k, case.v = (torch.zeros(*shapes[i], head_dim, dtype=kind, device=place)
                              for i in (0, 1, 1))
    case.seqlens_q, case.seqlens_kv = (numpy.array(lengths, numpy.int32)
                                       for lengths in (seqlens_q, seqlens_kv))
    case.cu_seqlens_q, case.cu_seqlens_kv = (
        numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
        for lengths in (seqlens_q, seqlens_kv))
    case.page_table = numpy.arange(batch * pages, dtype=numpy.int32).reshape(batch, pages)
    case._shapes = {"out": (*case.q.shape[:-1], head_dim)}
    return case
