#!/usr/bin/env python3
"""Writes the PTX of Triton's attention kernels for evidence/census.py, one file per kernel.

  evidence/census_triton.py FOLDER    with the interpreter that has torch and triton

The kernels of vLLM and SGLang are those of the provider `triton`, called by their own host
functions (ci/triton_sources.py fetches their source). FlexAttention's kernel is PyTorch's template,
which PyTorch only renders on a machine with a GPU. This script renders it as Inductor does for
known shapes and a causal mask. Triton compiles all for sm_80; nothing is launched.
"""
import argparse
import importlib.util
import os
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = 16


class Case(types.SimpleNamespace):
    """The fields of a problem that the provider's functions read. Two samples, causal; the last
    `rows` keys are those of the queries."""

    def __init__(self, dim, rows, keys, paged=False, **changes):
        import numpy as np
        import torch

        heads_q, heads_kv, batch = 4, 2, 2

        def tensor(*shape):
            return torch.zeros(shape, dtype=torch.bfloat16)

        pages = -(-keys // PAGE)
        kv = (batch * pages, PAGE, heads_kv, dim) if paged else (batch * keys, heads_kv, dim)
        super().__init__(
            options="", batch=batch, seq_q=rows, seq_kv=keys, total_kv=batch * keys,
            seqlens_q=np.full(batch, rows), seqlens_kv=np.full(batch, keys),
            cu_seqlens_q=np.arange(batch + 1) * rows, cu_seqlens_kv=np.arange(batch + 1) * keys,
            page_table=np.arange(batch * pages).reshape(batch, pages), mask_bits=None,
            q=tensor(batch * rows, heads_q, dim), k=tensor(*kv), v=tensor(*kv),
            new_out=lambda: tensor(batch * rows, heads_q, dim), lse_wanted=True,
            new_lse=lambda: torch.zeros(batch * rows, heads_q),
            head_dim_qk=dim, head_dim_vo=dim, scale=dim ** -0.5, mask="causal_bottom_right",
            window_left=-1, window_right=-1)
        vars(self).update(changes)


def of_other_projects(kernels):
    """Yields (name of a file, a function that has Triton compile the kernels, its case)."""
    for dim in (64, 128):
        yield f"vllm_unified_prefill_d{dim}", kernels.vllm_unified, Case(dim, 40, 90, paged=True)
        yield (f"vllm_unified_window_d{dim}", kernels.vllm_unified,
               Case(dim, 40, 90, paged=True, window_left=33))
        yield f"sglang_prefill_causal_d{dim}", kernels.sglang_prefill, Case(dim, 150, 150)
        yield f"sglang_prefill_d{dim}", kernels.sglang_prefill, Case(dim, 150, 150, mask="none")
        yield f"sglang_extend_d{dim}", kernels.sglang_extend, Case(dim, 20, 150)


def flex_source(dim, divisible):
    """Returns the Triton source of FlexAttention's forward kernel, from PyTorch's template. Strides
    are those of contiguous [2, 4, seq, dim] tensors and of a mask of 2 x 2 blocks."""
    import jinja2
    import numpy as np

    seq = 256 if divisible else 250
    shapes = {"Q": (2, 4, seq, dim), "K": (2, 2, seq, dim), "V": (2, 2, seq, dim),
              "KV_NUM_BLKS": (1, 1, 2), "KV_IDX": (1, 1, 2, 2),
              "FULL_KV_NUM_BLKS": (1, 1, 2), "FULL_KV_IDX": (1, 1, 2, 2)}
    # As flex_attention() and get_flex_attention_fwd_configs() of PyTorch 2.13 set them for an A100
    # and bf16.
    defines = {"PRESCALE_QK": False, "ROWS_GUARANTEED_SAFE": False, "BLOCKS_ARE_CONTIGUOUS": False,
               "OUTPUT_LOGSUMEXP": True, "OUTPUT_MAX": False, "FLOAT32_PRECISION": "'tf32'",
               "IS_DIVISIBLE": divisible, "SM_SCALE": dim ** -0.5, "GQA_SHARED_HEADS": 2,
               "HAS_FULL_BLOCKS": True, "QK_HEAD_DIM": dim, "QK_HEAD_DIM_ROUNDED": dim,
               "V_HEAD_DIM": dim, "V_HEAD_DIM_ROUNDED": dim, "SAFE_HEAD_DIM": True,
               "BLOCK_M": 128, "BLOCK_N": 64, "SPARSE_Q_BLOCK_SIZE": 128,
               "SPARSE_KV_BLOCK_SIZE": 128, "INDEX_DTYPE": "tl.int32"}
    arguments = []

    def strides(name):
        return [int(np.prod(shapes[name][i + 1:])) for i in range(len(shapes[name]))]

    def stride(name, at=None):
        return ", ".join(map(str, strides(name))) if at is None else strides(name)[at]

    def gen_defines():
        return "\n".join(f"{name}: tl.constexpr = {value}" for name, value in defines.items())

    def def_kernel(*names):
        arguments[:] = [f"arg_{name}" for name in names] + ["out_ptr0"]
        lines = ["@triton.jit", f"def flex_attention({', '.join(arguments)}):",
                 *gen_defines().splitlines(), *(f"{name} = arg_{name}" for name in names)]
        return "\n".join(lines[:2] + ["    " + line for line in lines[2:]])

    def modification(subgraph_number, output_name, score, m, n, **_):
        return f"{output_name} = " + (f"({score})" if subgraph_number == 0 else f"({m}) >= ({n})")

    def store_output(index, value, mask, val_shape):
        terms = " + ".join(f"{stride}*{at}" for stride, at in zip(strides("Q"), index))
        return f"tl.store(out_ptr0 + ({terms}), {value}, {mask})"

    folder = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0],
                          "_inductor", "kernel", "flex", "templates")
    text = "".join(folder.joinpath(f"{name}.py.jinja").read_text() + "\n"
                   for name in ("flex_attention", "utilities", "common"))
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.filters["indent_except_first"] = (
        lambda text, count: text.replace("\n", "\n" + "    " * count))
    return "import triton\nimport triton.language as tl\n" + environment.from_string(text).render(
        def_kernel=def_kernel, size=lambda name, at: shapes[name][at], stride=stride,
        gen_argdefs=lambda: ", ".join(arguments), gen_defines=gen_defines,
        modification=modification, store_output=store_output, USE_TMA=False, **defines)


def flex_attention(folder, name, dim, divisible):
    """Compiles the source with Triton."""
    import torch

    path = folder / f"{name}.py"
    path.write_text(flex_source(dim, divisible))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    qkv = [torch.zeros(2, heads, 256, dim, dtype=torch.bfloat16) for heads in (4, 2, 2)]
    blocks = [torch.zeros(4, dtype=torch.int32) for _ in range(4)]
    module.flex_attention[(2, 2, 4)](*qkv, torch.zeros(2, 4, 256), torch.zeros(0), *blocks,
                                     torch.zeros_like(qkv[0]), num_warps=4 if dim == 64 else 8,
                                     num_stages=3)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for before in folder.glob("*.ptx"):
        before.unlink()
    # Kernels that were compiled before are not compiled again.
    os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "cache"))
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "kernels" / "foreign")]
    import plumbline.triton
    import triton_kernels
    from plumbline import _ptx, _triton_driver

    current = ""

    def write(launcher, driver, grid, ptx, arguments):
        name = launcher._metadata.name
        (folder / f"{current}-{name}.ptx").write_bytes(ptx)
        print(f"{current}: {name}", flush=True)

    _ptx.library = lambda: None
    _triton_driver.Launcher._launch = write
    for current, function, case in of_other_projects(triton_kernels):
        function(case)()
    plumbline.triton.emulate("sm_80")
    for dim, divisible in ((64, True), (64, False), (128, True)):
        current = f"flex_causal_d{dim}" + ("" if divisible else "_ragged")
        flex_attention(folder, current, dim, divisible)


if __name__ == "__main__":
    main()
