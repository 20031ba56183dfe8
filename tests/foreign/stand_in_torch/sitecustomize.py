"""Gives PyTorch for CPUs a fake CUDA device, cuda:0, for tests without a GPU.

It applies to every Python interpreter with this folder in its PYTHONPATH:

    PYTHONPATH=$PWD/tests/foreign/stand_in_torch plumbline run cases/foreign.toml \
        --device cuda:0 --no-default-provider \
        --provider torch_kernels.py --provider transformers_kernels.py

plumbline needs no change: Python imports `sitecustomize` from its path at startup, and this one
hooks into `import torch`. stand_in_gpu.py lists what is imitated and what is not.
PLUMBLINE_STAND_IN_GPU=OLD is an A100 (sm_80) instead of sm_90.
"""
import importlib.abc
import importlib.machinery
import sys


class AfterTorch(importlib.abc.MetaPathFinder):
    """Finds torch as usual and installs the fake device after its import."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        # This finder stays in the path, because importlib.util.find_spec finds torch without
        # importing it.
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
