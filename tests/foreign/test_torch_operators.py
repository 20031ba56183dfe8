"""Tests that the operators called by torch_operators.py exist and return the expected shapes.

Runs on torch's device "meta", which has the schemas and shapes of the CUDA operators without a GPU.
"""
import re

import pytest

torch = pytest.importorskip("torch")

from worker_case import PROVIDERS, case_on, load  # noqa: E402

KERNELS = load("torch")
DENSE = {"seqlens_q": (64, 64)}
PROBLEMS = {
    "sdpa_flash_lse": [DENSE, {**DENSE, "mask": "causal_top_left"}, {"layout": "padded_bhsd"}],
    "sdpa_efficient_lse": [DENSE, {**DENSE, "mask": "causal_top_left"},
                           {"mask": "causal_bottom_right"},
                           {"seqlens_q": (33, 33), "dtype": "fp32"}],
    "sdpa_cudnn_lse": [DENSE, {"mask": "causal_bottom_right"}, {"seqlens_q": (1, 1)}],
    "flash_dense": [DENSE, {"mask": "causal_bottom_right"}, {"window": (8, 0)}],

        "flash_varlen": [{"layout": "ragged", "seqlens_q": (5, 32), "seqlens_kv": (7, 64),
                          "mask": "causal_bottom_right"},
                     {"layout": "ragged", "window": (16, 16)}],
    "flash_paged": [{"layout": "paged_nhd", "seqlens_q": (1, 1), "seqlens_kv": (300, 64)}],

        "efficient_varlen": [{"layout": "ragged", "seqlens_q": (5, 32), "seqlens_kv": (7, 64),
                              "mask": "causal_bottom_right"},
                         {"layout": "ragged", "dtype": "fp32"}],
}


@pytest.mark.parametrize("name,options",
                         [(name, options) for name, all_of in PROBLEMS.items()
                          for options in all_of])
def test_the_operator_takes_the_arguments_and_gives_out_and_lse(name, options):
    kernel = KERNELS[name]
    assert "cuda" in kernel.devices and kernel.lse
    case = case_on(torch, "meta", **options)
    out, lse = kernel.function(case)()
    assert tuple(out.shape) == case._shapes["out"] and out.dtype == case.q.dtype
    assert tuple(lse.shape) == case._shapes["out"][:-1] and lse.dtype == torch.float32


def called_operators():
    with open(f"{PROVIDERS}/torch_operators.py", encoding="utf-8") as file:
        return sorted(set(re.findall(r"aten\.(_[a-z_]+)[(,]", file.read())))


def test_each_operator_is_called_by_one_of_the_problems_above():
    assert (called_operators()
            == ["_efficient_attention_forward", "_flash_attention_forward",
                "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_efficient_attention",
                "_scaled_dot_product_flash_attention",
                "_scaled_dot_product_flash_attention_for_cpu"])
    for name in called_operators():
        assert str(getattr(torch.ops.aten, name).default._schema).startswith(f"aten::{name}(")


def test_an_argument_of_a_newer_torch_is_asked_for_and_not_assumed(monkeypatch):
    module = __import__("torch_operators")
    monkeypatch.setattr(module, "takes", lambda operator, argument: False)
    case = case_on(torch, "meta", layout="paged_nhd", seqlens_q=(1, 1), seqlens_kv=(300, 64))
    with pytest.raises(module.foreign.Unsupported, match="has no block_table"):
        module.flash_paged(case)


def test_rows_without_keys_are_refused_where_their_lse_is_wanted():
    module = __import__("torch_operators")
    case = case_on(torch, "meta", layout="ragged", seqlens_q=(9, 4), seqlens_kv=(4, 4),
                   mask="causal_bottom_right")
    with pytest.raises(module.foreign.Unsupported, match="a row without visible keys"):
        module.flash_varlen(case)
