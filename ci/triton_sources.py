#!/usr/bin/env python3
"""Fetches the source of other projects' Triton kernels, for the provider `triton`.

  ci/triton_sources.py [FOLDER]   default: $PLUMBLINE_TRITON_SOURCES, otherwise
                                  ~/.cache/plumbline/triton_sources

pip downloads the wheels of vLLM and SGLang (375 MB), which are pinned by their SHA-256. Their
folders with kernels are unpacked (3 MB) and the wheels are deleted. Nothing is installed or
imported, and none of it belongs in this repository.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# Name, version, SHA-256 of the wheel for CPython 3.11 on x86-64, platform, and folders to unpack.
PINNED = [
    ("vllm", "0.33.0", "4b6bdec4ab269990bf70d45a3c1e94c3760a27064513760193b26d6f0da883aa",
     "manylinux_2_28_x86_64", ("vllm/v1/attention/ops/",)),
    ("sglang", "0.5.23", "00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937",
     "manylinux_2_34_x86_64", ("sglang/kernels/ops/attention/",)),
]


def download(name, version, digest, platform, folder):
    """Returns the path of the wheel in `folder`; pip refuses a wheel with another digest."""
    wanted = pathlib.Path(folder, "requirements.txt")
    wanted.write_text(f"{name}=={version} --hash=sha256:{digest}\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                    "--only-binary", ":all:", "--python-version", "3.11", "--platform", platform,
                    "--require-hashes", "--requirement", wanted, "--dest", folder], check=True)
    return next(pathlib.Path(folder).glob(f"{name}-*.whl"))


def unpack(wheel, folders, target):
    """Unpacks atomically: into a folder next to `target` that is then renamed to it."""
    part = target.with_name(target.name + ".part")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(folders) or name.endswith("/METADATA") or "/licenses/" in name:
                archive.extract(name, part)
    part.rename(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    default = (os.environ.get("PLUMBLINE_TRITON_SOURCES")
               or pathlib.Path.home() / ".cache" / "plumbline" / "triton_sources")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(default))
    root = parser.parse_args().folder
    root.mkdir(parents=True, exist_ok=True)
    for name, version, digest, platform, folders in PINNED:
        target = root / f"{name}-{version}"
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=root) as folder:
                unpack(download(name, version, digest, platform, folder), folders, target)
        print(target)


if __name__ == "__main__":
    main()
