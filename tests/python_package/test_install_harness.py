"""`pip install` of both packages into one empty directory: the command is the full program."""
import os
import subprocess

from pip_install import REPOSITORY, install


def test_pip_install_of_both(tmp_path):
    site = tmp_path / "site"
    install(REPOSITORY, site, "pip")
    # With --target, pip does not replace the other package's folder, so this is installed apart.
    both = tmp_path / "harness"
    install(REPOSITORY / "python" / "harness", both, "pip")
    subprocess.run(["cp", "-r", f"{both}/.", site], check=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run([site / "bin" / "plumbline", "run", "cases/smoke.toml", "--no-store", "-q",
                          "--match", "*/bf16/*"], text=True, cwd=tmp_path, env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert ran.returncode == 0, ran.stdout
    listed = subprocess.run([site / "bin" / "plumbline-ptx", "--help"], text=True, cwd=tmp_path,
                            env=environment, stdout=subprocess.PIPE, check=True)
    assert "plumbline-ptx census" in listed.stdout
