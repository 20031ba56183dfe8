"""Compares the argument names that providers of three GPU libraries pass with the sources.

flash_attn, flashinfer and xformers cannot be imported without a GPU, so their files are parsed. A
test is skipped if its library is neither installed nor in PLUMBLINE_FOREIGN_SOURCES, folders with
unpacked wheels.
"""
import ast
import importlib.util
import os
from pathlib import Path

import pytest

from worker_case import PROVIDERS

PLACES = os.environ.get("PLUMBLINE_FOREIGN_SOURCES", "").split(os.pathsep)


def source_of(package, file):
    for place in filter(None, PLACES):
        if (Path(place) / package / file).exists():
            return ast.parse((Path(place) / package / file).read_text())
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return ast.parse((Path(found.submodule_search_locations[0]) / file).read_text())


def parameters(tree, *path):
    """Returns the parameter names of all functions or methods with this name."""
    names = set()
    for node in tree.body if len(path) == 1 else []:
        if isinstance(node, ast.FunctionDef) and node.name == path[0]:
            arguments = node.args
            names |= {a.arg
                      for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in tree.body if len(path) > 1 else []:
        if isinstance(node, ast.ClassDef) and node.name == path[0]:
            names |= parameters(node, *path[1:])
    assert names or len(path) == 1, f"{'.'.join(path)} is not there"
    return names


def passed(provider, function, helpers=()):
    """Returns the keywords that a provider's file passes to `function`, including those in
    dictionaries that `helpers` return."""
    tree = ast.parse((Path(PROVIDERS) / f"{provider}_kernels.py").read_text())
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)
             and getattr(n.func, "attr", "") == function]
    assert calls, f"{provider} does not call {function}"
    names = {keyword.arg for call in calls for keyword in call.keywords if keyword.arg}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in helpers:
            names |= {key.value for d in ast.walk(node) if isinstance(d, ast.Dict)
                      for key in d.keys}
    return names


@pytest.mark.parametrize("function",
                         ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"])
def test_flash_attn(function):
    known = parameters(source_of("flash_attn", "flash_attn_interface.py"), function)
    assert passed("flash_attn", function, helpers=("options",)) <= known


PREFILL = ("flashinfer", "prefill.py"), "BatchPrefillWithRaggedKVCacheWrapper"
DECODE = ("flashinfer", "decode.py"), "BatchDecodeWithPagedKVCacheWrapper"


@pytest.mark.parametrize("where,wrapper", [PREFILL, DECODE])
def test_flashinfer_wrappers(where, wrapper):
    tree = source_of(*where)
    assert passed("flashinfer", wrapper) <= parameters(tree, wrapper, "__init__")
    assert passed("flashinfer", "run") <= parameters(tree, wrapper, "run")


def test_flashinfer_plans():
    options = {"sm_scale", "window_left", "logits_soft_cap", "q_data_type", "kv_data_type"}
    assert options <= passed("flashinfer", "plan", helpers=("plan_options",))
    assert (passed("flashinfer", "plan", helpers=("plan_options",))
            <= parameters(source_of(*PREFILL[0]), PREFILL[1], "plan"))
    decode = source_of(*DECODE[0])
    known = parameters(decode, DECODE[1], "plan") | parameters(decode, DECODE[1], "_plan_impl")
    assert options <= known


def test_flashinfer_names_a_backend_that_is_known():
    text = (Path(PROVIDERS) / "flashinfer_kernels.py").read_text()
    assert 'BACKEND = "fa2"' in text
    assert '"fa2"' in ast.unparse(source_of(*DECODE[0])).replace("'", '"')


def test_xformers():
    tree = source_of("xformers", "ops/fmha/__init__.py")
    known = parameters(tree, "memory_efficient_attention_forward_requires_grad")
    assert passed("xformers", "memory_efficient_attention_forward_requires_grad") <= known
    masks = source_of("xformers", "ops/fmha/attn_bias.py")
    classes = {node.name for node in masks.body if isinstance(node, ast.ClassDef)}
    assert ({"LowerTriangularMask", "LowerTriangularFromBottomRightMask", "BlockDiagonalMask"}
            <= classes)
    methods = {node.name for c in masks.body if isinstance(c, ast.ClassDef)
               and c.name == "BlockDiagonalMask" for node in c.body
               if isinstance(node, ast.FunctionDef)}
    assert {"from_seqlens", "make_causal", "make_causal_from_bottomright"} <= methods


@pytest.mark.parametrize("operator,packed", [("cutlass", "False"), ("flash", "True")])
def test_xformers_says_how_the_lse_of_ragged_tensors_lies(operator, packed):
    tree = source_of("xformers", f"ops/fmha/{operator}.py")
    forward = next(node for node in tree.body if isinstance(node, ast.ClassDef)
                   and node.name == "FwOp")
    said = {target.id: ast.unparse(node.value) for node in forward.body
            if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)}
    assert said["VARLEN_LSE_PACKED"] == packed
