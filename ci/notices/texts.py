"""The licence texts and versions of what is linked, and NOTICES.txt made from them."""
import dataclasses
import os
import pathlib
import re
import subprocess
from typing import Dict, List, Optional, Sequence, Tuple

from linked import HERE, Library, Linked

PROVIDERS = HERE.parent / "providers.py"
COMMON = pathlib.Path("/usr/share/common-licenses")
RULE = "=" * 80


class NoText(Exception):
    """The licence text of a library was not found; the message has the remedy."""


@dataclasses.dataclass(frozen=True)
class Component:
    """A library with its version, its package URL and its licence text."""
    library: Library
    version: str
    purl: str
    text: str


def _package_of(path: str) -> Optional[str]:
    """Returns the Debian package of a file; /lib and /usr/lib are one folder."""
    real = os.path.realpath(path)
    candidates = dict.fromkeys([path, real, "/usr" + path, real.replace("/usr/lib", "/lib", 1)])
    said = subprocess.run(["dpkg", "-S", *candidates], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout  # 1: some are unknown
    owners = [line for line in said.splitlines() if not line.startswith("diversion by ")]
    return owners[0].split(": ")[0].split(",")[0] if owners else None


def _installed(library: Library, files: Sequence[str]) -> Tuple[str, str]:
    """Returns (version, text) from the Debian package that owns the linked file."""
    for path in files:
        package = _package_of(path)
        if package is None:
            continue
        source, version = subprocess.run(
            ["dpkg-query", "-W", "-f=${source:Package} ${source:Version}", package], check=True,
            text=True, stdout=subprocess.PIPE).stdout.split()
        if source != library.source:
            raise NoText(f"{path} is of Debian's source {source}, and the entry {library.name} "
                         f"says {library.source}\n  remedy: correct ci/notices/libraries.toml")
        folder = pathlib.Path("/usr/share/doc") / package.split(":")[0]
        return version, (folder / "copyright").read_text(encoding="utf-8")
    raise NoText(f"no Debian package has a file of {library.name} ({', '.join(files) or 'none'})\n"
                 "  remedy: run ci/setup.sh, or replace `source` by `texts` in the entry of "
                 "ci/notices/libraries.toml")


def _kept(library: Library, prefix: pathlib.Path) -> Tuple[str, str]:
    """Returns (version, text) from the files that ci/wheel/dependencies.sh keeps."""
    folder = prefix / "share" / "notices" / library.source
    if not folder.is_dir():
        raise NoText(f"{folder} is not there\n  remedy: name {library.source} in keep_notices of "
                     "ci/wheel/dependencies.sh")
    return ((folder / "version").read_text(encoding="utf-8").strip(),
            (folder / "copyright").read_text(encoding="utf-8"))


def _ziglang(prefix: pathlib.Path) -> Tuple[pathlib.Path, str]:
    """Returns the folder of site-packages with ziglang, and its version."""
    for info in prefix.glob("venv/lib/python*/site-packages/ziglang-*.dist-info"):
        return info.parent, info.name[len("ziglang-"):-len(".dist-info")]
    raise NoText(f"{prefix} has no package ziglang\n  remedy: run ci/wheel/dependencies.sh")


# For each library, the start of the name of the PyPI archive (ci/providers.py) that contains it.
_ARCHIVES = {"FlashAttention": "flash_attn", "CUTLASS": "flash_attn",
             "FlashInfer": "flashinfer_python", "CCCL": "flashinfer_python",
             "CUDA runtime": "nvidia_cuda_runtime_cu12"}


def _fetched_version(name: str) -> str:
    match = re.search(rf'"{_ARCHIVES[name]}-([\w.]+?)(?:-py3|\.tar)',
                      PROVIDERS.read_text(encoding="utf-8"))
    return match[1] if match else ""


def _cuda_version(files: Sequence[str]) -> str:
    match = re.search(r"/cuda-([\d.]+)/", " ".join(os.path.realpath(path) for path in files))
    return match[1] if match else _fetched_version("CUDA runtime")


def component(library: Library, files: Sequence[str], prefix: Optional[pathlib.Path]) -> Component:
    """Returns the component of a library whose linked files are `files`; `prefix` is the wheels'
    cache, if the library is in it."""
    if library.source:
        version, text = _kept(library, prefix) if prefix else _installed(library, files)
        plain = re.sub(r"^\d+:", "", version)  # without Debian's epoch
        return Component(library, plain,
                         f"pkg:deb/debian/{library.source}@{version.replace('+', '%2B')}"
                         "?arch=source", text)
    if library.only == "wheel":
        assert prefix is not None
        folder, version = _ziglang(prefix)
        return Component(library, version, f"pkg:pypi/ziglang@{version}", "\n".join(
            (folder / text).read_text(encoding="utf-8") for text in library.texts))
    text = "\n".join((HERE / name).read_text(encoding="utf-8") for name in library.texts)
    if library.only == "cuda":
        version = _cuda_version(files)
        return Component(library, version, f"pkg:generic/nvidia/cuda-runtime@{version}", text)
    version = _fetched_version(library.name)
    project = _ARCHIVES[library.name].replace("_", "-")
    return Component(library, version, f"pkg:pypi/{project}@{version}", text)


def components(result: Linked, prefix: Optional[pathlib.Path] = None) -> List[Component]:
    """Returns the components of all linked libraries. Raises NoText."""
    return [component(library, result.found[library.name], prefix)
            for library in result.libraries()]


def _common_texts(parts: Sequence[Component]) -> Dict[str, str]:
    """Returns the full text of licences that Debian's files only name by path, if a linked part has
    that licence. Apache-2.0 is plumbline's own, in LICENSE."""
    names = {"GPL-3.0-or-later": "GPL-3", "LGPL-2.1-or-later": "LGPL-2.1", "CC0-1.0": "CC0-1.0"}
    wanted = {names[word] for part in parts for word in re.split(r"[ ()]", part.library.licence)
              if word in names}
    return {name: (COMMON / name).read_text(encoding="utf-8") for name in sorted(wanted)
            if (COMMON / name).is_file()}


def notices(what: str, parts: Sequence[Component]) -> str:
    """Returns NOTICES.txt of `what`."""
    lines = [f"{what} is under the Apache License 2.0, which lies beside this file. It contains",
             "parts of the projects below, each with its licence and the notice that the licence",
             "requires. Debian's files describe the whole source of a project, although only a",
             "part is linked.", ""]
    lines += [f"  {part.library.name} {part.version}: {part.library.licence}" for part in parts]
    for part in parts:
        lines += ["", RULE, f"{part.library.name} {part.version}", f"{part.library.licence}", RULE,
                  "", part.text.strip()]
    for name, text in _common_texts(parts).items():
        lines += ["", RULE, f"/usr/share/common-licenses/{name}, which a text above refers to",
                  RULE, "", text.strip("\n")]
    return "\n".join(lines) + "\n"
