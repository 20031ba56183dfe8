"""The modules of the Python worker, which speaks the protocol of docs/worker-protocol.md.

They serve the process (process, support, state), a provider file (provider_file), a case (case,
frameworks, wire) and its run (execution, timing, gpu_timing, nvml, gpu_facts, failures).
"""
import importlib.util
import pathlib
import sys
import types


def _load_kernels() -> types.ModuleType:
    """Registers this worker's own plumbline.kernels, even if a package `plumbline` is installed, so
    that declarations match the worker's modules. In the source tree kernels.py is in
    python/plumbline."""
    here = pathlib.Path(__file__).resolve()
    path = here.with_name("kernels.py")
    if not path.exists():
        path = here.parents[2] / "plumbline" / "kernels.py"
    spec = importlib.util.spec_from_file_location("plumbline.kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["plumbline.kernels"] = sys.modules[f"{__name__}.kernels"] = module
    spec.loader.exec_module(module)
    found = importlib.util.find_spec("plumbline")
    if found is None or found.origin is None:  # a namespace package: a folder of that name
        package = types.ModuleType("plumbline", "The worker's package: only plumbline.kernels.")
        package.__path__ = []
        package.kernels = module  # type: ignore[attr-defined]
        sys.modules["plumbline"] = package
    return module


kernels = _load_kernels()
