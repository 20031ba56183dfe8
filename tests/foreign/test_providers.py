"""Tests the provider files: their Python version, and their behaviour without their library."""
import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker_case import PROVIDERS, WORKER
from worker_process import FOLDER, WorkerProcess

FILES = sorted([*Path(PROVIDERS).rglob("*.py"), *Path(WORKER).rglob("*.py"),
                *Path(WORKER).parent.glob("plumbline*/*.py")])

LIBRARIES = {"torch": "torch", "transformers": "torch", "jax": "jax", "onnxruntime": "onnxruntime"}


@pytest.mark.parametrize("version", [(3, 9), (3, 11), (3, 12), (3, 13)])
def test_files_are_python_of_each_version(version):
    assert len(FILES) > 15
    for file in FILES:
        ast.parse(file.read_text(), str(file), feature_version=version)


def test_the_worker_needs_the_standard_library_and_numpy_alone():
    own = {"_plumbline_worker", "numpy"}
    allowed = set(sys.stdlib_module_names) | own
    for file in [*Path(WORKER).rglob("*.py"), Path(WORKER).parent / "plumbline" / "kernels.py"]:
        tree = ast.parse(file.read_text())
        for node in tree.body:  # imports inside functions are optional
            if isinstance(node, ast.Import):
                assert {name.name.split(".")[0] for name in node.names} <= allowed, file
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module.split(".")[0] in allowed, file


@pytest.fixture
def without_libraries(tmp_path):
    """An environment without frameworks: modules that raise come first in the path."""
    for library in ("torch", "transformers", "jax", "onnxruntime", "onnx", "flashinfer",
                    "flash_attn", "xformers"):
        (tmp_path / f"{library}.py").write_text(
            f"raise ModuleNotFoundError(\"No module named '{library}'\", name='{library}')\n")
    return {"PYTHONPATH": str(tmp_path)}


@pytest.mark.skipif(not FOLDER, reason="PLUMBLINE_PYTHON_FOLDER is not set: the worker of a build")
@pytest.mark.parametrize("provider,library", LIBRARIES.items())
def test_a_provider_without_its_library_has_no_kernel_and_says_why(
        provider, library, without_libraries):
    with WorkerProcess(f"{PROVIDERS}/{provider}_kernels.py", without_libraries) as worker:
        assert worker.hello["error"] == ""
        assert worker.hello["provider"] == provider and worker.hello["kernels"] == []
        assert "is not installed for" in worker.hello["version"]
        assert library in worker.hello["version"] or provider in worker.hello["version"]


@pytest.mark.skipif(not FOLDER, reason="PLUMBLINE_PYTHON_FOLDER is not set: the worker of a build")
@pytest.mark.parametrize("provider,kernel", [("flash_attn", "dense"), ("xformers", "cutlass")])
def test_a_library_of_gpus_that_is_absent_is_not_measured_by_name(
        provider, kernel, without_libraries):
    with WorkerProcess(f"{PROVIDERS}/{provider}_kernels.py", without_libraries) as worker:
        takes = dict(zip(worker.hello["kernels"], worker.hello["kernel_devices"]))
        assert takes[kernel] == ["cuda"]
        reply, _ = worker.run(kernel, dtype="bf16")
        assert reply["status"] == "unsupported"
        assert reply["reason"].startswith("not measured: ") and "needs torch" in reply["reason"]


def test_a_mistake_in_a_file_of_ones_own_is_still_an_error(tmp_path):
    if not FOLDER:
        pytest.skip("PLUMBLINE_PYTHON_FOLDER is not set: the worker of a build")
    (tmp_path / "mine.py").write_text("import nmupy\n")
    with WorkerProcess(str(tmp_path / "mine.py")) as worker:
        assert "nmupy" in worker.hello["error"]


def test_names_of_kernels_are_those_of_each_provider():
    """The kernels that docs and suites name exist. Their files declare them without the library."""
    script = ("import sys, json; sys.path[:0] = sys.argv[1].split(':')\n"
              "from _plumbline_worker import kernels as p\n"
              "text = open(sys.argv[2]).read()\n"
              "exec(compile(text, sys.argv[2], 'exec'), {'__name__': 'provider'})\n"
              "print(json.dumps({k.name: k.devices for k in p.declared}))")
    for provider, some in (("flash_attn", {"dense", "varlen", "kvcache"}),
                           ("xformers", {"cutlass", "flash"}),
                           ("flashinfer",
                            {"ragged_prefill", "paged_decode", "paged_decode_tensor_cores"})):
        done = subprocess.run([sys.executable, "-c", script, f"{WORKER}:{PROVIDERS}",
                               f"{PROVIDERS}/{provider}_kernels.py"], capture_output=True,
                              text=True, check=True, env={**os.environ, "PYTHONPATH": ""})
        declared = json.loads(done.stdout)
        assert set(declared) == some and all(devices == ["cuda"] for devices in declared.values())
