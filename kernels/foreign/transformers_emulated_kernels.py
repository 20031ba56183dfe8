"""Transformers' FlashAttention-2 path around FlashAttention-2's own kernels on the emulator.

This provider is separate because its kernel needs the compiled FlashAttention-2 (ci/setup.sh
--providers), which suites of Transformers' other kernels do not need.
"""

from __future__ import annotations

from plumbline import kernels as declarations
from transformers import modeling_flash_attention_utils as flash_utils

import flash_attn_emulated
import foreign_case as foreign
import transformers_kernels
from plumbline.kernels import Spec, Unsupported, kernel

declarations.declared.clear()  # the imported file's kernels belong to `transformers`

PROVIDER = "transformers_emulated"
NEEDS = ("transformers", "torch")  # without these there is nothing to measure
EMULATED = "plumbline_emulated"
imports_of_transformers = flash_utils._lazy_imports


def version() -> str:
    return foreign.versions("transformers", "torch")


def imports_with_emulated(implementation, *more, **named):
    """Adds EMULATED. Transformers finds implementations by name and has none for a CPU."""
    if implementation != EMULATED:
        return imports_of_transformers(implementation, *more, **named)
    # Transformers' own padding and unpadding, which it also uses for FlashAttention-3.
    return (flash_attn_emulated.flash_attn_func, flash_attn_emulated.flash_attn_varlen_func, None,
            flash_utils._pad_input, flash_utils._unpad_input)


flash_utils._lazy_imports = imports_with_emulated


@kernel(
    name="flash_attention_2", dtypes=("fp16", "bf16"),
    spec=Spec(p_dtype="input", p_max="one", qk_accumulator="fp32/toward_zero/24/8",
              pv_accumulator="fp32/toward_zero/24/8"),
    padding_policy="zeros", tensor_cores="on", devices="cpu", layouts=foreign.PADDED,
    masks=foreign.ALL_MASKS, framework="torch"
)
def flash_attention_2(case):
    """Transformers' path with FlashAttention-2's kernels for sm_80 on the emulator."""
    if why := flash_attn_emulated.why_not():
        raise Unsupported(why)
    case.launched = (f"flash_attention_forward, flash_attn {flash_attn_emulated.version()} on "
                     f"emulated:{flash_attn_emulated.ARCH}")
    run = transformers_kernels.through_transformers(case, EMULATED)

    def run_in_order():
        flash_attn_emulated.threads_reversed = case.threads_reversed
        return run()

    return run_in_order
