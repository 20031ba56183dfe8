"""Arrays of every framework: equal contents give equal text."""
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES, attention, random_inputs

import plumbline

TORCH_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def to_torch(array):
    torch = pytest.importorskip("torch")
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_jax(array):
    return pytest.importorskip("jax.numpy").asarray(array)


def text_of(dtype, convert):
    q, k, v = random_inputs(dtype)
    out, lse = attention(q, k, v, "top_left")
    out, q, k, v, lse = map(convert, (out, q, k, v, lse))
    return plumbline.check(out, q, k, v, causal="top_left", lse=lse, layout="padded_bshd").text


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("convert", [to_torch, to_jax])
def test_frameworks_agree(dtype, convert):
    expected = text_of(dtype, lambda array: array)
    assert expected.startswith("ROUNDING")
    assert text_of(dtype, convert) == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_do_not_matter(dtype):
    def strided(array):
        wide = np.full((*array.shape[:-1], 2 * array.shape[-1]), 7, array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]

    def backwards(array):
        return array[::-1].copy()[::-1]

    expected = text_of(dtype, lambda array: array)
    assert text_of(dtype, strided) == expected
    assert text_of(dtype, backwards) == expected


def test_read_only_arrays():
    def read_only(array):
        array.flags.writeable = False
        return array

    assert text_of("fp16", read_only) == text_of("fp16", lambda array: array)


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_torch_views_that_require_gradients(dtype):
    torch = pytest.importorskip("torch")

    def as_transposed_leaf(array):
        tensor = to_torch(array)
        if tensor.dim() != 4:
            return tensor
        # stored as [b, h, s, d]
        return tensor.transpose(1, 2).contiguous().requires_grad_().transpose(1, 2)

    assert as_transposed_leaf(random_inputs(dtype)[0]).requires_grad
    assert as_transposed_leaf(random_inputs(dtype)[0]).dtype == getattr(torch, TORCH_DTYPES[dtype])
    assert text_of(dtype, as_transposed_leaf) == text_of(dtype, lambda array: array)


def test_torch_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    assert (text_of("bf16", lambda array: to_torch(array).cuda())
            == text_of("bf16", lambda array: array))


def torch_without_values():
    """Maps name -> (a maker of a tensor with unreadable values, the expected error)."""
    torch = pytest.importorskip("torch")

    def fake():
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            return torch.ones(1, 4, 2, 8)

    rows = [torch.ones(2, 8), torch.ones(3, 8)]
    return {
        "meta": (lambda: torch.ones(1, 4, 2, 8, device="meta"),
                 'a meta tensor has a shape and no values to judge.* such as "cpu"'),
        "fake": (fake, "the values of this FakeTensor cannot be read: "),
        "sparse": (lambda: torch.ones(4, 8).to_sparse(),
                   r"a tensor of layout torch.sparse_coo .*to_dense\(\)"),
        "nested": (lambda: torch.nested.nested_tensor(rows, layout=torch.jagged),
                   r"a nested tensor is not accepted; pass its values\(\) with cu_seqlens"),
    }


@pytest.mark.parametrize("kind", ["meta", "fake", "sparse", "nested"])
@pytest.mark.parametrize("which", ["out", "k"])
def test_tensors_without_values_are_named(kind, which):
    make, said = torch_without_values()[kind]
    q, k, v = random_inputs("fp32")
    out, _ = attention(q, k, v)
    arrays = {"out": out, "q": q, "k": k, "v": v, which: make()}
    with pytest.raises(TypeError, match=f"^{which}: {said}"):
        plumbline.assert_attention(**arrays, layout="bshd")


def test_objects_with_dlpack_or_array_only():
    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    class OnlyArray:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    assert text_of("fp16", OnlyDLPack) == text_of("fp16", lambda array: array)
    assert text_of("fp16", OnlyArray) == text_of("fp16", lambda array: array)
    assert text_of("fp16", memoryview) == text_of("fp16", lambda array: array)


def test_no_framework_is_imported():
    code = ("import sys, plumbline; print({'torch', 'jax', 'ml_dtypes', 'plumbline.kernels'} "
            "& set(sys.modules))")
    assert (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           check=True).stdout == "set()\n")


def test_the_kernel_decorator_is_the_workers_own():
    from plumbline import kernels

    assert plumbline.kernel is kernels.kernel
    assert plumbline.Spec is kernels.Spec
    with pytest.raises(AttributeError, match="colonel"):
        plumbline.colonel  # noqa: B018
