"""`pip install .` into an empty directory, without the network, and a verdict from there."""
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VERDICT = """
import numpy, plumbline, plumbline_provider
q = numpy.random.default_rng(0).standard_normal((1, 8, 2, 16), dtype=numpy.float32)
mean = numpy.broadcast_to(q.mean(axis=1, keepdims=True), q.shape)
print(plumbline.check(mean, q, q * 0, q, layout="padded_bshd").answer)
print(plumbline.__file__, plumbline.kernel.__module__)
"""


def test_pip_install(tmp_path):
    for module in ("pip", "scikit_build_core"):
        pytest.importorskip(module)
    # With the options of the presets ccache has what the tests' own build has compiled.
    build = pathlib.Path(os.environ["PLUMBLINE_BIN"]).parent / "python" / "pip"
    environment = {**os.environ, "PYTHONPATH": "", "PIP_NO_INDEX": "1",
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps",
               REPOSITORY]
    # nvcc compiles our kernels for ten minutes, and the tests' own build has done so.
    subprocess.run([*install, "--target", tmp_path / "site", "-C", f"build-dir={build}", "-C",
                    "cmake.define.PLUMBLINE_WERROR=ON", "-C", "cmake.define.PLUMBLINE_CUDA=OFF"],
                   check=True, env=environment)
    environment["PYTHONPATH"] = str(tmp_path / "site")
    python = [sys.executable, "-c", VERDICT]
    ran = subprocess.run(python, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True,
                         check=True)
    answer, place = ran.stdout.splitlines()
    assert answer == "ROUNDING"
    assert place == f"{tmp_path}/site/plumbline/__init__.py plumbline_provider"
