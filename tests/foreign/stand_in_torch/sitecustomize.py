"""Makes PyTorch for CPUs believe in one CUDA device, cuda:0, for tests without a GPU.

Every interpreter of an environment does so that has this folder in its PYTHONPATH:

    PYTHONPATH=$PWD/tests/foreign/stand_in_torch plumbline run cases/foreign.toml \
        --device cuda:0 --no-default-provider \
        --provider torch_kernels.py --provider transformers_kernels.py

Nothing in plumbline knows of it: Python imports a `sitecustomize` from its path at start, and
this one lies in wait for `import torch`. What it stands in for, and what not, is said in
stand_in_gpu.py. PLUMBLINE_STAND_IN_GPU=OLD answers as OLD (sm_80, an A100) instead of sm_90.
"""
import importlib.abc
import importlib.machinery
import sys


class AfterTorch(importlib.abc.MetaPathFinder):
    """Finds torch as ever and, once it is imported, puts the stand-in into it."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        # It stays in the path: whoever only asks whether there is a torch, by
        # importlib.util.find_spec, imports nothing.
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            import stand_in_gpu
            stand_in_gpu.install(module)
        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, AfterTorch())
