"""The old name of plumbline.kernels; release 0.2 removes it."""
import importlib
import sys
import warnings

warnings.warn("the module plumbline_provider is plumbline.kernels now; next: write `from "
              "plumbline.kernels import kernel`; plumbline 0.2 removes the old name",
              FutureWarning, stacklevel=2)
sys.modules[__name__] = importlib.import_module("plumbline.kernels")
