#!/usr/bin/env python3
"""Downloads the sources of compiled kernels from PyPI and checks the hashes that are pinned here.

  providers.py FOLDER           downloads missing archives and unpacks them into FOLDER
  providers.py FOLDER --check   lists missing archives and exits with 1

FOLDER is not part of plumbline: git ignores it, and it may be deleted at any time.
  flash_attn   FlashAttention-2's kernels, and their version of CUTLASS (BSD 3-Clause)
  flashinfer   FlashInfer's kernels and headers (Apache 2.0)
  cuda         headers of CUDA 12.6 and its library of device functions, for clang-19, and its
               run-time library, for GPUs (NVIDIA's licence: docs/emulator.md says what it means
               here)
"""
import argparse
import hashlib
import json
import pathlib
import shutil
import sys
import tarfile
import tempfile
import urllib.request
import zipfile

# Name of the archive, its project on PyPI, SHA-256, and its folders with their destinations.
ARCHIVES = (
    ("flash_attn-2.8.3.tar.gz", "flash-attn",
     "1e71dd64a9e0280e0447b8a0c2541bad4bf6ac65bdeaa2f90e51a9e57de0370d",
     {"flash_attn-2.8.3/csrc/flash_attn": "flash_attn/csrc/flash_attn",
      "flash_attn-2.8.3/csrc/cutlass/include": "flash_attn/csrc/cutlass/include",
      "flash_attn-2.8.3/csrc/cutlass/examples/41_fused_multi_head_attention":
          "flash_attn/csrc/cutlass/examples/41_fused_multi_head_attention",
      "flash_attn-2.8.3/csrc/cutlass/tools/util/include":
          "flash_attn/csrc/cutlass/tools/util/include"}),
    ("flashinfer_python-0.7.2.post1-py3-none-any.whl", "flashinfer-python",
     "bfdc18b9e1e4d8d0730fe4343dc0e284cd0c160086de80f99888bc4867922d49",
     {"flashinfer/data/include": "flashinfer/include",
      "flashinfer/data/cutlass/include": "flashinfer/cutlass/include",
      "flashinfer/data/cccl/libcudacxx/include": "flashinfer/cccl/libcudacxx/include",
      "flashinfer/data/cccl/cub": "flashinfer/cccl/cub",
      "flashinfer/data/cccl/thrust": "flashinfer/cccl/thrust",
      "flashinfer/data/spdlog/include": "flashinfer/spdlog/include"}),
    ("nvidia_cuda_runtime_cu12-12.6.77-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
     "nvidia-cuda-runtime-cu12",
     "ba3b56a4f896141e25e19ab287cd71e52a6a0f4b29d0d31609f60e3b4d5219b7",
     {"nvidia/cuda_runtime/include": "cuda/include",
      "nvidia/cuda_runtime/lib": "cuda/lib"}),
    ("nvidia_cuda_nvcc_cu12-12.6.85-py3-none-manylinux1_x86_64.manylinux_2_5_x86_64.whl",
     "nvidia-cuda-nvcc-cu12",
     "d75d9d74599f4d7c0865df19ed21b739e6cb77a6497a3f73d6f61e8038a765e4",
     {"nvidia/cuda_nvcc/include": "cuda/include",
      "nvidia/cuda_nvcc/nvvm/libdevice": "cuda/nvvm/libdevice"}),
    ("nvidia_cuda_cccl_cu12-12.6.77-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
     "nvidia-cuda-cccl-cu12",
     "ea80be91ccd49b0785fd744afd470cd0c0175bcf25d4fe65b7d548095b68687a",
     {"nvidia/cuda_cccl/include": "cuda/include"}),
)


def address(archive, project):
    """Returns the archive's address on PyPI."""
    request = urllib.request.Request(f"https://pypi.org/simple/{project}/", headers={
        "Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    for file in files:
        if file["filename"] == archive:
            return file["url"]
    sys.exit(f"ci/providers.py: PyPI's {project} has no {archive} any more; remedy: put another "
             "version and its hash into ci/providers.py")


def download(archive, project, sha256, to):
    digest = hashlib.sha256()
    with urllib.request.urlopen(address(archive, project), timeout=60) as answer, \
            open(to, "wb") as file:
        total, done = int(answer.headers.get("Content-Length", 0)), 0
        while block := answer.read(1 << 20):
            file.write(block)
            digest.update(block)
            done += len(block)
            if sys.stderr.isatty():
                print(f"\r{archive}: {done >> 20} of {total >> 20} MiB", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if digest.hexdigest() != sha256:
        sys.exit(f"ci/providers.py: {archive} has SHA-256 {digest.hexdigest()}, and {sha256} is "
                 "expected: nothing was unpacked")


def members(path):
    """Yields (name, a function that opens it) for each file of the archive."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield info.filename, lambda info=info: archive.open(info)
    else:
        with tarfile.open(path) as archive:
            for info in archive:
                if info.isfile():
                    yield info.name, lambda info=info: archive.extractfile(info)


def unpack(path, folders, root):
    """Unpacks the files of these folders to their destinations in root. Refuses a name that leads
    out of root."""
    for name, opened in members(path):
        for folder, place in folders.items():
            if not name.startswith(folder + "/"):
                continue
            target = root / place / name[len(folder) + 1:]
            if ".." in target.parts:
                sys.exit(f"ci/providers.py: {path.name} has a file {name}, which would leave the "
                         "target folder; nothing more is unpacked")
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened() as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file)


def is_there(mark, folders):
    """Returns true if the mark file lists exactly these folders as unpacked."""
    return mark.exists() and mark.read_text() == json.dumps(folders)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="list what is missing, change nothing")
    options = parser.parse_args()
    mark_of = {entry[0]: options.folder / "unpacked" / entry[2] for entry in ARCHIVES}
    missing = [entry for entry in ARCHIVES if not is_there(mark_of[entry[0]], entry[3])]
    if options.check:
        for archive, *_ in missing:
            print(archive)
        return 1 if missing else 0
    for archive, project, sha256, folders in missing:
        print(f"downloading {archive}")
        with tempfile.TemporaryDirectory() as temporary:
            path = pathlib.Path(temporary) / archive
            download(archive, project, sha256, path)
            unpack(path, folders, options.folder)
        mark_of[archive].parent.mkdir(parents=True, exist_ok=True)
        mark_of[archive].write_text(json.dumps(folders))
    # clang needs `bin` to recognize the folder as a CUDA installation
    (options.folder / "cuda" / "bin").mkdir(parents=True, exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
