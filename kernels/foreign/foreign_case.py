"""Shared by the providers of frameworks: masks in the form that each takes, and refusals.

The provider option `raw` (`--provider torch_kernels.py:raw`) turns off the refusals of known
faults. docs/findings.md uses it to show what the frameworks do in these cases.
"""

from __future__ import annotations

import importlib
import importlib.metadata

import numpy as np

from plumbline.kernels import Spec, Unsupported, options

options("raw")

PADDED = ("padded_bshd", "padded_bhsd")
ALL_MASKS = ("none", "causal_top_left", "causal_bottom_right")
MASKS_AND_BITS = (*ALL_MASKS, "custom")


def versions(*packages: str) -> str:
    """Returns exact versions, "absent" if not installed: "torch 2.13.0, numpy 2.4.6"."""
    return ", ".join(f"{name} {installed_version(name) or 'absent'}" for name in packages)


def installed_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def require_gpu_library(module: str, package: str, case):
    """Returns the imported module. Raises Unsupported with the package's name if it is missing."""
    refuse_if(not installed_version(package), f"not measured: {package} is not installed")
    refuse_if(not case.device.startswith("cuda"), f"needs a CUDA device, not {case.device}")
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:  # built for another torch, Python or CUDA
        raise Unsupported(
            f"not measured: {package} cannot be imported: {str(error).splitlines()[0]}") from None


def on_device(case, array):
    """Returns a NumPy array as a PyTorch tensor on the device of Q."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).to(case.q.device)


def refuse_if(condition: bool, reason: str) -> None:
    if condition:
        raise Unsupported(reason)


def refuse_top_left(case, whose: str) -> None:
    refuse_if(case.mask == "causal_top_left" and not (case.seqlens_q == case.seqlens_kv).all(),
              f"{whose} aligns its causal mask bottom right")


def refuse_empty_row(case, reason: str) -> None:
    """Like refuse_empty_rows, but for every layout and with a full reason."""
    refuse_if("raw" not in case.options and has_empty_row(case), reason)


def by_device(on_cpu: Spec, on_cuda: Spec):
    """Returns a function that returns the spec for the case's device."""
    return lambda case: on_cpu if case.device == "cpu" else on_cuda


def on_host(array) -> np.ndarray:
    """Returns a tensor or array of any device as a NumPy array."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def attended_mask(case) -> np.ndarray:
    """Returns bool [batch, seq_q, seq_kv], True = visible.
    Padded query rows attend to their sample's valid keys."""
    mask = case.visible().copy()
    keys = case.key_padding_mask()
    for sample, rows in enumerate(padded_rows(case)):
        mask[sample, rows] = keys[sample]
    return mask


def padded_rows(case) -> np.ndarray:
    """Returns bool [batch, seq_q], True = padding."""
    row = np.arange(case.seq_q)[None, :]
    length = np.asarray(case.seqlens_q)[:, None]
    return row < case.seq_q - length if case.padding == "left" else row >= length


def has_padding(case) -> bool:
    return bool((np.asarray(case.seqlens_q) < case.seq_q).any()
                or (np.asarray(case.seqlens_kv) < case.seq_kv).any())


def has_window(case) -> bool:
    return case.window_left >= 0 or (case.window_right >= 0 and case.mask == "none")


def window(case) -> tuple[int, int]:
    """Returns the number of keys before and after the diagonal. With a causal mask the second is 0,
    for kernels that express the mask as a window."""
    return case.window_left, 0 if case.mask != "none" else case.window_right


def is_top_left_causal(case) -> bool:
    """Returns true if is_causal, aligned top left, is the whole mask: no window, no padding."""
    aligned = (case.mask == "causal_top_left"
               or (case.mask == "causal_bottom_right" and case.seq_q == case.seq_kv))
    return aligned and not has_window(case) and not has_padding(case)


def needs_mask(case) -> bool:
    return case.mask != "none" or has_window(case) or has_padding(case)


def mask_beside_causal(case):
    """Returns attended_mask() as [batch, 1, seq_q, seq_kv]; None if no mask is needed or
    is_causal is enough."""
    needed = needs_mask(case) and not is_top_left_causal(case)
    return attended_mask(case)[:, None] if needed else None


def rows_of_padded_lse(case) -> tuple:
    """Returns the sample and row of each token in [samples, heads, longest sample], the layout of
    CUTLASS's LSE for ragged tensors."""
    sample = np.repeat(np.arange(case.batch), case.seqlens_q)
    row = np.concatenate([np.arange(length) for length in case.seqlens_q])
    return on_device(case, sample), on_device(case, row)


def has_empty_row(case) -> bool:
    """Returns true if a valid query sees no key, in any layout."""
    return any(_empty_rows(case, sample).any() for sample in range(case.batch))


def _empty_rows(case, sample: int) -> np.ndarray:
    """Returns bool [rows]. Uses each row's first and last visible key, because a full mask of a
    long prompt is large."""
    if case.mask_bits is not None:
        return ~case.visible_of(sample).any(axis=-1)
    rows, keys = int(case.seqlens_q[sample]), int(case.seqlens_kv[sample])
    row = np.arange(rows)
    diagonal = row if case.mask == "causal_top_left" else row + keys - rows
    right = case.window_right if case.mask == "none" else 0
    first = (np.zeros_like(row) if case.window_left < 0
             else np.maximum(diagonal - case.window_left, 0))
    last = np.full_like(row, keys - 1) if right < 0 else np.minimum(diagonal + right, keys - 1)
    return first > last


def refuse_empty_rows(case, what_happens: str, padded_too: bool = False) -> None:
    """Refuses problems in which a valid query, or with padded_too any row, sees no key."""
    empty = ~case.visible().any(axis=-1)
    refused = empty if padded_too else empty & ~padded_rows(case)
    refuse_if("raw" not in case.options and refused.any(),
              f"a row without visible keys: {what_happens}")


def refuse_poisoned_padding(case) -> None:
    """Refuses padding that is not finite: frameworks mask logits but multiply all of V by P."""
    if "raw" in case.options or not has_padding(case):
        return
    invalid = ~case.key_padding_mask()
    for tensor in (case.k, case.v):
        widened = tensor.float() if hasattr(tensor, "float") else tensor.astype(np.float32)
        refuse_if(not np.isfinite(on_host(widened.sum((2, 3)))[invalid]).all(),
                  "NaN or infinity in the padding reaches the output: "
                  "the weight of a masked key is 0, and 0 times NaN is NaN")
