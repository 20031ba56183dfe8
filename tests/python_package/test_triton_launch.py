"""Triton kernels on the emulator: arguments, atomics, scans, sorting, products, autotuning."""
import numpy as np
import pytest

triton = pytest.importorskip("triton", reason="no Triton (ci/setup.sh --python)")

import triton_kernels as kernels  # noqa: E402
from plumbline import _ptx  # noqa: E402
from plumbline.triton import Array, emulate  # noqa: E402

ARCHITECTURES = tuple(_ptx.architectures())


@pytest.fixture(name="random")
def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_vectors_are_added(arch, random):
    x, y = random.standard_normal((2, 1000), dtype=np.float32)
    out = np.full(1000, np.nan, np.float32)
    with emulate(arch):
        kernels.add[(8,)](Array(x), Array(y), Array(out), 1000, BLOCK=128)
    assert np.array_equal(out, x + y)


def test_tensors_of_pytorch_pass_as_they_are():
    torch = pytest.importorskip("torch")
    x, y = torch.randn(2, 500)
    out = torch.empty(500)
    with emulate("sm_90"):
        kernels.add[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](x, y, out, 500, BLOCK=64)
    assert torch.equal(out, x + y)


def test_a_view_may_be_read_beyond_its_end_where_its_storage_is_known():
    torch = pytest.importorskip("torch")
    x, y, out = torch.randn(128), torch.randn(100), torch.zeros(100)
    with emulate() as emulation:
        emulation.know(x)
        kernels.add_without_mask[(1,)](x[:100], y, out, 100, BLOCK=128)
    assert torch.equal(out, x[:100] + y)


def test_views_that_share_memory_share_it_in_the_kernel(random):
    x = random.standard_normal((2, 32), dtype=np.float32)
    expected = x[0] + x[0][::-1]
    with emulate():  # the same memory as input and output, backwards, and with a step
        kernels.add[(1,)](Array(x[0]), Array(x[0].copy()[::-1].copy()), Array(x[0]), 32, BLOCK=32)
        kernels.behind[(1,)](Array(x.T[:, 0][::-1]), Array(x[1]), -31, N=32)
    assert np.array_equal(x[0], expected)
    assert np.array_equal(x[1], expected)


def test_scalars_tuples_and_none():
    out = np.zeros(2, np.float32)
    with emulate():
        kernels.scalars[(1,)](Array(out), 3.0, -(1 << 40), 7, True, (2, 0.25), None)
    assert out.tolist() == [np.float32(1.5 - (1 << 40) + 7 + 1 + 8), 2.25]
    with emulate():
        kernels.scalars[(1,)](Array(out), 3.0, 1, 7, False, (2, 0.25), 0)
    assert out.tolist() == [9.5, 2.25]


def test_an_empty_grid_does_nothing():
    out = np.zeros(4, np.float32)
    with emulate():
        kernels.add[(0,)](Array(out), Array(out), Array(out), 4, BLOCK=16)
    assert not out.any()


@pytest.mark.parametrize("schedule", ("in_order", "reversed", "random"))
def test_atomics(schedule, random):
    x = random.integers(0, 10, 1000, dtype=np.int32)
    counts, sums = np.zeros(10, np.int32), np.zeros(10, np.float32)
    largest, first = np.full(1, -1, np.int32), np.full(1, -1, np.int32)
    with emulate("sm_80", schedule=schedule, seed=3):
        kernels.histogram[(4,)](*map(Array, (x, counts, sums, largest, first)), 1000, BLOCK=256)
    expected = np.bincount(x, minlength=10)
    assert np.array_equal(counts, expected)
    assert np.array_equal(sums, expected * np.arange(10))
    assert largest[0] == 9 and 0 <= first[0] < 4


@pytest.mark.parametrize("dtype", (np.float32, np.int32))
def test_sorting_scans_and_reductions(dtype, random):
    x = random.integers(-1000, 1000, (3, 128)).astype(dtype)
    ordered, sums = np.empty_like(x), np.empty_like(x)
    total, largest = np.empty(3, dtype), np.empty(3, dtype)
    where = np.empty(3, np.int32)
    with emulate("sm_86"):
        kernels.rows[(3,)](*map(Array, (x, ordered, sums, total, largest, where)), N=128)
    assert np.array_equal(ordered, np.sort(x, 1))
    assert np.array_equal(sums, np.cumsum(x, 1))
    assert np.array_equal(total, x.sum(1))
    assert np.array_equal(largest, x.max(1))
    assert np.array_equal(where, x.argmax(1))


def test_what_a_kernel_prints_is_read_over():
    x = np.zeros(32, np.float32)
    with emulate():
        kernels.prints[(1,)](Array(x), N=32)
    assert (x == 1).all()


@pytest.mark.parametrize("stages", (1, 3))
@pytest.mark.parametrize("dtype", (np.float32, np.float16))
def test_products_through_asynchronous_copies(dtype, stages, random):
    a, b = (random.integers(-8, 8, shape).astype(dtype) for shape in ((32, 128), (128, 32)))
    c = np.full((32, 32), np.nan, np.float32)
    with emulate("sm_90"):
        kernels.product[(1,)](Array(a), Array(b), Array(c), 128, M=32, N=32, STEP=32,
                              num_stages=stages)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_a_descriptor_that_the_kernel_makes(random):
    x = random.standard_normal((16, 64), dtype=np.float32)
    out = np.empty((16, 16), np.float32)
    with emulate():
        kernels.by_descriptor[(1,)](Array(x), Array(out), 16, 64, BLOCK=16)
    assert np.array_equal(out, x[:, 16:32])


def test_memory_behind_loaded_addresses_is_made_known(random):
    x, out = random.standard_normal((2, 32), dtype=np.float32)
    addresses = np.array([x.ctypes.data], np.int64)
    with emulate() as emulation:
        emulation.know(Array(x))
        kernels.through_a_table[(1,)](Array(addresses), Array(out), N=32)
    assert np.array_equal(out, 2 * x)


def test_without_bounds_nothing_has_to_be_known(random):
    x, out = random.standard_normal((2, 32), dtype=np.float32)
    addresses = np.array([x.ctypes.data], np.int64)
    with emulate(bounds=False):
        kernels.through_a_table[(1,)](Array(addresses), Array(out), N=32)
    assert np.array_equal(out, 2 * x)


def test_autotuning_takes_the_first_configuration_that_fits(random):
    tuned = triton.autotune([triton.Config({"STEP": 256}, num_stages=4),
                             triton.Config({"STEP": 32}, num_stages=2),
                             triton.Config({"STEP": 16}, num_stages=1)], key=["K"])(kernels.product)
    a, b = (random.integers(-8, 8, shape).astype(np.float32) for shape in ((32, 256), (256, 32)))
    c = np.empty((32, 32), np.float32)
    with emulate("sm_86"):
        tuned[(1,)](Array(a), Array(b), Array(c), 256, M=32, N=32)
    assert tuned.best_config.kwargs == {"STEP": 32}
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("arch, multiprocessors, shared_kib",
                         (("sm_80", 108, 163), ("sm_86", 82, 99), ("sm_89", 142, 99),
                          ("sm_90", 132, 227), ("sm_100", 148, 227)))
def test_what_the_device_is_said_to_have(arch, multiprocessors, shared_kib):
    with emulate(arch) as emulation:
        driver = triton.runtime.driver.active
        found = driver.utils.get_device_properties(driver.get_current_device())
    assert emulation.arch == arch
    assert found["multiprocessor_count"] == multiprocessors
    assert found["max_shared_mem"] == shared_kib * 1024


def test_emulations_nest_and_end():
    before = triton.runtime.driver._active
    outer = emulate("sm_80")
    with emulate("sm_90"):
        assert triton.runtime.driver.active.arch == "sm_90"
    assert triton.runtime.driver.active.arch == "sm_80"
    outer.stop()
    outer.stop()
    assert triton.runtime.driver._active is before
