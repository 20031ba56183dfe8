"""libplumbline_check.so: its exports, and whether other libraries work in the same process."""
import pathlib
import subprocess
import sys

import pytest

import plumbline
from plumbline import _library, _machine

LIBRARY = pathlib.Path(_library.NATIVE) / "lib" / "libplumbline_check.so"
BOTH = """
import {first}
import {second}
q, k, v = torch.randn(3, 1, 4, 64, 32, dtype=torch.bfloat16)
before = torch.matmul(q.float(), k.float().mT)
out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
plumbline.assert_attention(out, q, k, v, causal="top_left", layout="padded_bhsd")
assert torch.equal(before, torch.matmul(q.float(), k.float().mT))
print("both")
"""


def test_exports_are_those_of_the_header():
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, text=True,
                            capture_output=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert names == {"plumbline_check", "plumbline_check_command", "plumbline_check_diff",
                     "plumbline_check_free", "plumbline_check_interface", "plumbline_check_print",
                     "plumbline_check_row_outputs",
                     "plumbline_check_version"}


@pytest.mark.parametrize("order", [("torch", "plumbline"), ("plumbline", "torch")])
def test_beside_pytorch_in_both_orders(order):
    pytest.importorskip("torch")
    code = BOTH.format(first=order[0], second=order[1])
    assert subprocess.run([sys.executable, "-c", code], check=True, text=True,
                          capture_output=True).stdout == "both\n"


def test_an_older_cpu_is_named():
    assert _machine._lacking("flags : fpu avx2 bmi1 bmi2 f16c fma movbe\n") == []
    lacking = _machine._lacking("flags\t\t: fpu sse4_2 avx movbe\n")
    assert lacking == ["avx2", "bmi1", "bmi2", "f16c", "fma"]
    assert _machine._lacking("no such line") == []


def test_importing_loads_no_library():
    """pytest imports the package for its plugin in every run, even if the library is missing."""
    subprocess.run([sys.executable, "-c", "import plumbline"], check=True, env={
        "PLUMBLINE_CHECK_LIBRARY": "/nowhere.so", "PYTHONPATH": ":".join(sys.path)})


def test_a_library_that_is_not_there_has_a_remedy():
    done = subprocess.run(
        [sys.executable, "-c", "import plumbline; plumbline.__version__"], text=True,
        capture_output=True, check=False,
        env={"PLUMBLINE_CHECK_LIBRARY": "/nowhere.so", "PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 1
    assert "remedy: pip install plumbline-attention, or the wheel" in done.stderr


def test_dlpack_of_what_numpy_has_no_name_for():
    torch = pytest.importorskip("torch")

    class OnlyDLPack:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **kwargs):
            return self.tensor.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    q, k, v = torch.randn(3, 1, 24, 4, 32, dtype=torch.bfloat16).transpose(2, 3)
    out = torch.nn.functional.scaled_dot_product_attention(
        *(x.permute(0, 3, 1, 2) for x in (q, k, v))).permute(0, 2, 3, 1)
    question = {"layout": "padded_bshd"}
    expected = plumbline.check(out, q, k, v, **question).text
    assert plumbline.check(*map(OnlyDLPack, (out, q, k, v)), **question).text == expected


def test_what_is_no_array():
    with pytest.raises(TypeError, match="out: an array of dtype"):
        plumbline.check(*[["a", "b"]] * 4)
