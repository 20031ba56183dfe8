"""`pip install` of a project of this repository into an empty folder, without the network."""
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "ci"))
import check_sources  # noqa: E402

# Options of the tested build that determine its objects.
COPIED_OPTIONS = ("CMAKE_UNITY_BUILD", "CMAKE_UNITY_BUILD_BATCH_SIZE", "PLUMBLINE_DEBUG_INFO")


def install(project, site, build):
    """Builds next to the tests' own build folder, at the same depth and with its options, so that
    ccache has the objects. Leaves CUDA out, because nvcc takes ten minutes, and the tests' own
    build has already compiled it."""
    for module in ("pip", "scikit_build_core"):
        pytest.importorskip(module)
    tested = pathlib.Path(os.environ["PLUMBLINE_BIN"]).parent
    folder = tested.parent / f"{tested.name}-{build}"
    environment = {**os.environ, "PYTHONPATH": "", "PIP_NO_INDEX": "1",
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    cache = check_sources.cmake_cache(tested)
    defines = {"PLUMBLINE_WERROR": "ON", "PLUMBLINE_CUDA": "OFF",
               **{name: cache[name] for name in COPIED_OPTIONS if name in cache}}
    arguments = [argument for name, value in defines.items()
                 for argument in ("-C", f"cmake.define.{name}={value}")]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation",
                    "--no-deps", project, "--target", site, "-C", f"build-dir={folder}",
                    *arguments], check=True, env=environment)
