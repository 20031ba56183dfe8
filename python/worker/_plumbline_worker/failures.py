"""Converts an exception into a status of the protocol and a reason."""
from __future__ import annotations

import os
import sys
import traceback
from typing import Tuple

from .kernels import Unsupported
from .support import FOLDER

LONGEST_REASON = 600
# Texts of libraries that run out of memory without a MemoryError: torch's CPU allocator
# (c10/core/impl/alloc_cpu.cpp; two texts), XLA, C++, ONNX Runtime.
OUT_OF_MEMORY_TEXTS = ("can't allocate memory", "not enough memory", "RESOURCE_EXHAUSTED",
                       "std::bad_alloc", "Failed to allocate memory")


class Stop(Exception):
    """Ends the current request with a status and a reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def _is_own(filename: str) -> bool:
    return filename.startswith(os.path.join(FOLDER, "_plumbline_worker") + os.sep)


def _place(error: BaseException, provider_path: str) -> str:
    """Returns where the error was raised: the innermost line of the provider's file, otherwise the
    innermost line outside the worker."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_own(f.filename)]
    frames = [f for f in frames if f.filename == provider_path] or frames
    return f", at {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _ran_out_of_memory(error: BaseException, text: str) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return any(said in text for said in OUT_OF_MEMORY_TEXTS)


def explain(error: BaseException, provider_path: str) -> Tuple[str, str]:
    """Returns status and reason. Logs the frames outside the worker, except for Stop and
    Unsupported."""
    if isinstance(error, Stop):
        return error.status, error.reason
    if isinstance(error, Unsupported):
        return ("unsupported",
                str(error) or f"the kernel gave no reason{_place(error, provider_path)}")
    traceback.clear_frames(error.__traceback__)  # frees the kernel's memory for later requests
    text = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
    if len(text) > LONGEST_REASON:
        text = text[:LONGEST_REASON] + " …"
    status = "out_of_memory" if _ran_out_of_memory(error, text) else "error"
    outside = [f for f in traceback.extract_tb(error.__traceback__) if not _is_own(f.filename)]
    print("".join(traceback.format_list(outside)) + text, file=sys.stderr, flush=True)
    return status, text + _place(error, provider_path)
