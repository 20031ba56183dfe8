"""Errors of plumbline.triton for wrong kernels, and for unsupported features."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

triton = pytest.importorskip("triton", reason="no Triton (ci/setup.sh --python)")

import triton_kernels as kernels  # noqa: E402
from plumbline.triton import Array, EmulationError, emulate  # noqa: E402

SOURCE = pathlib.Path(kernels.__file__)


def line_of(text):
    """Returns the line number of `text` in the kernels' source."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def add(n=4, kernel=kernels.add):
    x, y, out = (Array(np.ones(n, np.float32)) for _ in range(3))
    kernel[(1,)](x, y, out, n, BLOCK=128)


def python(code, **environment):
    """Returns the output of a new interpreter that also defines `add`."""
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=False,
        env={**os.environ, **environment,
             "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), *sys.path])})
    return done.stdout + done.stderr


def test_a_load_out_of_bounds_is_named_by_the_line_of_the_source():
    with emulate("sm_90"), pytest.raises(EmulationError) as raised:
        add(1000 // 8, kernels.add_without_mask)
    text = str(raised.value)
    assert text.startswith("add_without_mask on emulated sm_90: block (0, 0, 0): warp 3 lane")
    assert f"({SOURCE.name}:{line_of('# out of bounds')})" in text
    assert "global memory: out of bounds, 4 bytes at byte 500 of an allocation of 500" in text


# If the three tensors share a storage, the load from the second is within the third or the first.
@pytest.mark.parametrize("drawn", ["at once", "one by one"])
@pytest.mark.parametrize("distance", [8192 + 5000, 8192, -32])
def test_a_load_that_lands_in_another_tensor(drawn, distance):
    torch = pytest.importorskip("torch")
    _, k, _ = (torch.randn(3, 1, 2, 64, 64) if drawn == "at once" else
               [torch.randn(1, 2, 64, 64) for _ in range(3)])
    out = torch.empty(32)
    with emulate(), pytest.raises(EmulationError) as raised:
        kernels.behind[(1,)](k, out, distance, N=32)
    text = str(raised.value)
    assert f"({SOURCE.name}:{line_of('# behind x')}): global memory: out of bounds" in text
    where = "before an allocation of 32768" if distance < 0 else (
        f"at byte {4 * distance} of an allocation of 32768")
    assert where in text
    assert ("remedy: an argument is a view of a larger tensor" in text) == (drawn == "at once")


def test_each_argument_of_one_storage_has_a_fence():
    torch = pytest.importorskip("torch")
    x, y, out = torch.randn(3, 128)
    with emulate():
        kernels.add[(1,)](x, y, out, 128, BLOCK=128)
        with pytest.raises(EmulationError, match="out of bounds, 4 bytes at byte 512 of an alloc"):
            kernels.add[(2,)](x, y, out, 129, BLOCK=128)
    assert torch.equal(out, x + y)


def test_strided_views_end_at_their_last_element():
    torch = pytest.importorskip("torch")
    x, out = torch.randn(32, 3), torch.empty(32)
    with emulate():
        kernels.behind[(1,)](x[:, 1], out, 62, N=32)
        assert torch.equal(out, x.flatten()[63:95])
        with pytest.raises(EmulationError, match="at byte 376 of an allocation of 376"):
            kernels.behind[(1,)](x[:, 1], out, 63, N=32)


def test_memory_that_no_argument_has():
    x, out = np.ones((2, 32), np.float32)
    addresses = np.array([x.ctypes.data], np.int64)
    with emulate(), pytest.raises(EmulationError, match="global memory: out of bounds"):
        kernels.through_a_table[(1,)](Array(addresses), Array(out), N=32)


def test_what_is_no_architecture_schedule_or_kind_of_lanes():
    with pytest.raises(ValueError, match="no architecture 'sm_75'\n  remedy: choose one of sm_80"):
        emulate("sm_75")
    with pytest.raises(ValueError, match="no schedule 'any'\n  remedy: one of in_order, reversed"):
        emulate(schedule="any")
    with pytest.raises(ValueError, match="no lanes 'warp'\n  remedy: one of lockstep, independent"):
        emulate(lanes="warp")


def test_too_much_shared_memory_is_tritons_own_error():
    a, b, c = (Array(np.zeros(shape, np.float32)) for shape in ((64, 512), (512, 64), (64, 64)))
    with emulate("sm_86"), pytest.raises(triton.runtime.errors.OutOfResources, match="shared"):
        kernels.product[(1,)](a, b, c, 512, M=64, N=64, STEP=128, num_stages=4)


def test_a_descriptor_of_the_host():
    tools = pytest.importorskip("triton.tools.tensor_descriptor")
    torch = pytest.importorskip("torch")
    x, out = torch.zeros(2, 16, 16)
    with emulate(), pytest.raises(EmulationError, match="a tensor descriptor made on the host\n  "
                                                        "remedy: pass the tensor"):
        kernels.from_descriptor[(1,)](tools.TensorDescriptor.from_tensor(x, [16, 16]), out,
                                      BLOCK=16)


def test_blocks_that_wait_for_one_another():
    x = Array(np.zeros(4, np.float32))
    with emulate(), pytest.raises(EmulationError, match="launch_cooperative_grid"):
        kernels.add[(1,)](x, x, x, 4, BLOCK=128, launch_cooperative_grid=True)


def test_a_tensor_of_a_gpu():
    class OnGpu(Array):
        device = type("Device", (), {"type": "cuda", "__str__": lambda self: "cuda:0"})()

    x = OnGpu(np.zeros(4, np.float32))
    with emulate(), pytest.raises(EmulationError, match=r"a tensor is on cuda:0.*\n  remedy: "
                                                        r"give the kernel tensors in host memory"):
        kernels.add[(1,)](x, x, x, 4, BLOCK=128)


def test_an_argument_that_does_not_say_how_much_memory_it_has():
    class Bare:
        dtype = "float32"
        memory = np.zeros(4, np.float32)

        def data_ptr(self):
            return self.memory.ctypes.data

    x = Bare()
    with emulate(), pytest.raises(EmulationError, match="type Bare does not say how much memory"):
        kernels.add[(1,)](x, x, x, 4, BLOCK=128)
    with emulate(bounds=False):
        kernels.add[(1,)](x, x, x, 4, BLOCK=128)


def test_times_are_not_taken():
    with emulate(), pytest.raises(EmulationError, match="there is no GPU to time"):
        triton.testing.do_bench(add)


def test_a_kernel_that_outlives_its_emulation():
    x = Array(np.zeros(4, np.float32))
    with emulate():
        compiled = kernels.add[(1,)](x, x, x, 4, BLOCK=128)
    outer = type("Elsewhere", (), {"active": None})()
    with emulate():
        run, function, packed = compiled.run, compiled.function, compiled.packed_metadata
        driver = triton.runtime.driver.active
        triton.runtime.driver.set_active(outer)
        try:
            with pytest.raises(EmulationError, match="an emulation that has ended\n  remedy"):
                run(1, 1, 1, 0, function, packed, None, None, None, x, x, x, 4, 128)
        finally:
            triton.runtime.driver.set_active(driver)


def test_an_assertion_of_a_kernel():
    x = np.zeros(32, np.float32)
    with emulate():
        kernels.asserts[(1,)](Array(x), N=32, debug=True)
        x[21] = -1
        place = rf"lane 21 at asserts\.ptx:\d+ \({SOURCE.name}:{line_of('tl.device_assert')}\)"
        with pytest.raises(EmulationError, match=f"{place}: an assertion of the kernel fails"):
            kernels.asserts[(1,)](Array(x), N=32, debug=True)


def test_without_triton():
    said = python("import sys; sys.modules['triton'] = None\n"
                  "import plumbline.triton; plumbline.triton.emulate()")
    assert "plumbline.triton.emulate needs Triton" in said
    assert "remedy: pip install triton==3" in said


def test_interpreted_kernels():
    said = python("import plumbline.triton; plumbline.triton.emulate()", TRITON_INTERPRET="1")
    assert "TRITON_INTERPRET is set" in said and "remedy: unset it" in said


def test_without_a_compiler():
    said = python("import plumbline.triton, test_triton_errors\n"
                  "plumbline.triton.emulate()\ntest_triton_errors.add()",
                  PLUMBLINE_PTX_CXX="/nowhere/c++")
    assert "EmulationError: add on emulated sm_80: /nowhere/c++: no C++ compiler" in said
    assert "remedy: install g++ or clang, or name one in PLUMBLINE_PTX_CXX" in said


def test_without_the_library():
    said = python("import plumbline.triton; plumbline.triton.emulate()",
                  PLUMBLINE_PTX_LIBRARY="/nowhere.so")
    assert "plumbline's library of compiled kernels cannot be loaded" in said
    assert "remedy: pip install 'plumbline-attention[run]'" in said
