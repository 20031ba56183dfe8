"""`pip install .` into an empty directory, without the network, and a verdict from there."""
import os
import subprocess
import sys

from pip_install import REPOSITORY, install

VERDICT = """
import numpy, plumbline, plumbline.kernels
q = numpy.random.default_rng(0).standard_normal((1, 8, 2, 16), dtype=numpy.float32)
mean = numpy.broadcast_to(q.mean(axis=1, keepdims=True), q.shape)
print(plumbline.check(mean, q, q * 0, q, layout="padded_bshd").answer)
print(plumbline.__file__, plumbline.kernel.__module__)
plumbline.save("mean.safetensors", out=mean, q=q, k=q * 0, v=q, layout="padded_bshd")
"""


def test_pip_install(tmp_path):
    site = tmp_path / "site"
    install(REPOSITORY, site, "pip")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run([sys.executable, "-c", VERDICT], cwd=tmp_path, env=environment,
                         stdout=subprocess.PIPE, text=True, check=True)
    answer, place = ran.stdout.splitlines()
    assert answer == "ROUNDING"
    assert place == f"{tmp_path}/site/plumbline/__init__.py plumbline.kernels"
    command = subprocess.run([site / "bin" / "plumbline", "check", "mean.safetensors"], text=True,
                             cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=True)
    assert command.stdout.startswith("ROUNDING")
