"""`pip install` of a project of this repository into an empty folder, without the network."""
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def install(project, site, build):
    """Builds beside the tests' own build folder, as deep as that and with the options of its
    preset: ccache then has what the tests' own build has compiled. Without CUDA: nvcc compiles our
    kernels for ten minutes, and the tests' own build has done so."""
    for module in ("pip", "scikit_build_core"):
        pytest.importorskip(module)
    tested = pathlib.Path(os.environ["PLUMBLINE_BIN"]).parent
    folder = tested.parent / f"{tested.name}-{build}"
    environment = {**os.environ, "PYTHONPATH": "", "PIP_NO_INDEX": "1",
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation",
                    "--no-deps", project, "--target", site, "-C", f"build-dir={folder}",
                    "-C", "cmake.define.PLUMBLINE_WERROR=ON",
                    "-C", "cmake.define.PLUMBLINE_CUDA=OFF", *unity()],
                   check=True, env=environment)


def unity():
    """The tests' own build joins sources, or does not."""
    wanted = os.environ.get("PLUMBLINE_UNITY_BUILD", "")
    return ["-C", f"cmake.define.CMAKE_UNITY_BUILD={wanted or 'OFF'}",
            "-C", "cmake.define.CMAKE_UNITY_BUILD_BATCH_SIZE=8"]
