"""`pip install` of a project of this repository into an empty folder, without the network."""
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


# Options of the tested build that decide what its objects are.
COPIED_OPTIONS = ("CMAKE_UNITY_BUILD", "CMAKE_UNITY_BUILD_BATCH_SIZE", "PLUMBLINE_DEBUG_INFO")


def install(project, site, build):
    """Builds beside the tests' own build folder, as deep as that and with its options: ccache then
    has what the tests' own build has compiled. Without CUDA: nvcc compiles our kernels for ten
    minutes, and the tests' own build has done so."""
    for module in ("pip", "scikit_build_core"):
        pytest.importorskip(module)
    tested = pathlib.Path(os.environ["PLUMBLINE_BIN"]).parent
    folder = tested.parent / f"{tested.name}-{build}"
    environment = {**os.environ, "PYTHONPATH": "", "PIP_NO_INDEX": "1",
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    defines = {"PLUMBLINE_WERROR": "ON", "PLUMBLINE_CUDA": "OFF", **options_of(tested)}
    arguments = [argument for name, value in defines.items()
                 for argument in ("-C", f"cmake.define.{name}={value}")]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation",
                    "--no-deps", project, "--target", site, "-C", f"build-dir={folder}",
                    *arguments], check=True, env=environment)


def options_of(build):
    """COPIED_OPTIONS as CMakeCache.txt of a build folder has them."""
    cache = {}
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        name, colon, typed = line.partition(":")
        if colon and name in COPIED_OPTIONS:
            cache[name] = typed.partition("=")[2]
    return cache
