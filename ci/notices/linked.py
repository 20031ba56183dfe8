"""Finds third-party parts of a build: libraries on its link lines, and headers of its objects.

ci/notices/libraries.toml maps them to projects.
"""
import collections
import dataclasses
import fnmatch
import functools
import os
import pathlib
import re
import shlex
import subprocess
import tomllib
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]

# The machine's C and C++ runtimes, which are not distributed.
SYSTEM_LINKS = {"c", "dl", "gcc_s", "m", "mvec", "pthread", "resolv", "rt", "stdc++", "util"}
OUR_LINKS = {"cpu_model"}  # ci/wheel/cpu_model.c
SYSTEM_PACKAGES = ("libc6-dev", "linux-libc-dev", "libstdc++-*-dev", "libgcc-*-dev",
                   "libclang-common-*-dev")
COMPILER = re.compile(r"^/usr/include/(x86_64-linux-gnu/)?c\+\+/|/lib/(gcc|clang|llvm-[0-9]+)/|"
                      r"/ziglang/lib/|/zig/[oh]/")
LIBRARY = re.compile(r"^/.*/lib([^/]+?)(?:\.a|\.so(?:\.[\w.]+)?)$")
INCLUDES = re.compile(r"^/usr/local/include/|^/usr/include/(?:x86_64-linux-gnu/)?|^.*?/include/")
CUDA = re.compile(r"^/usr/local/cuda[^/]*/|^.*/targets/x86_64-linux/")
FETCHED = re.compile(r"/\.providers/([\w./-]+)")


@dataclasses.dataclass(frozen=True)
class Library:
    """An entry of libraries.toml."""
    name: str
    licence: str
    source: str = ""
    texts: Tuple[str, ...] = ()
    links: Tuple[str, ...] = ()
    headers: Tuple[str, ...] = ()
    folders: Tuple[str, ...] = ()
    only: str = ""

    def has(self, kind: str, word: str) -> bool:
        """Returns true if this link, header or folder belongs to the library."""
        if kind == "link":
            return word in self.links
        return any(word.startswith(begin) for begin in
                   (self.headers if kind == "header" else self.folders))


@functools.lru_cache(maxsize=None)
def libraries() -> Tuple[Library, ...]:
    table = tomllib.loads((HERE / "libraries.toml").read_text(encoding="utf-8"))
    return tuple(Library(**{key: tuple(value) if isinstance(value, list) else value
                            for key, value in entry.items()}) for entry in table["library"])


class NotBuilt(Exception):
    """A target is not built, so its contents are unknown."""


@dataclasses.dataclass
class Linked:
    """The linked files of each entry, and the evidence that no entry claims."""
    found: Dict[str, List[str]]
    unclaimed: List[str]

    def libraries(self) -> List[Library]:
        return [library for library in libraries() if library.name in self.found]


def _ninja(build: pathlib.Path, *words: str) -> str:
    return subprocess.run(["ninja", "-C", str(build), "-t", *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def _links_of(words: Sequence[str]) -> Iterable[Tuple[str, str]]:
    """Yields (name, file or "") for each library on a link line."""
    for word in words:
        match = LIBRARY.match(word)
        if match:
            yield match[1], word
        elif word.startswith("-l"):
            yield word[2:], ""
    if any(os.path.basename(word) == "zig-c++" for word in words):
        yield "zig c++", ""


def _headers_of(build: pathlib.Path, objects: Sequence[str]) -> Set[str]:
    text = _ninja(build, "deps", *objects) if objects else ""
    absent = re.findall(r"^(\S+/CMakeFiles/\S+): deps not found", text, re.M)
    if absent:
        raise NotBuilt(f"{build} has not compiled {absent[0]} yet: its headers are not known")
    paths = {line.strip() for line in text.splitlines() if line.startswith("    ")}
    return {os.path.normpath(os.path.join(build, path)) for path in paths}


@functools.lru_cache(maxsize=None)
def _system_headers() -> frozenset:
    """Returns the files of Debian's packages of C, C++ and Linux."""
    lists = pathlib.Path("/var/lib/dpkg/info")
    return frozenset(
        line for path in lists.glob("*.list")
        if any(fnmatch.fnmatch(path.stem.split(":")[0], name) for name in SYSTEM_PACKAGES)
        for line in path.read_text(encoding="utf-8").splitlines())


def _as_included(path: str) -> str:
    """Returns the header's name in a source: fmt/core.h. CUDA's headers get the prefix cuda/."""
    if CUDA.match(path):
        return "cuda/" + CUDA.sub("", path)
    return INCLUDES.sub("", path, count=1)


def _is_ours(path: str, build: pathlib.Path) -> bool:
    inside = path.startswith((str(SOURCE) + "/", str(build) + "/"))
    return inside and "/.providers/" not in path and "/.venv" not in path


Evidence = Tuple[str, str, str]  # kind, name in the build, file or ""


def evidence(build: pathlib.Path, targets: Sequence[str],
             carried: Sequence[str] = ()) -> List[Evidence]:
    """Returns the evidence of `targets` and of `carried`, shared libraries distributed with them.
    Links come first, because their files are distributed. Raises NotBuilt if a target is not
    built."""
    build = build.resolve()
    found: List[Evidence] = []
    objects: List[str] = []
    folders: Set[str] = set()
    for line in _ninja(build, "commands", *targets).splitlines():
        words = shlex.split(line)
        folders.update(match[1].rstrip("/") for match in map(FETCHED.search, words) if match)
        if "-o" not in words:
            continue
        if "-c" in words:
            objects.append(words[words.index("-o") + 1])
            continue
        for name, path in _links_of(words):
            if name not in SYSTEM_LINKS | OUR_LINKS and not (path and _is_ours(path, build)):
                found.append(("link", name, path))
    for path in carried:
        match = LIBRARY.match(path)
        found.append(("link", match[1] if match else path, path))
    for path in sorted(_headers_of(build, objects)):
        fetched = FETCHED.search(path)
        if fetched:
            folders.add(os.path.dirname(fetched[1]))
        elif not (_is_ours(path, build) or COMPILER.search(path) or path in _system_headers()):
            found.append(("header", _as_included(path), path))
    return found + [("folder", folder, "") for folder in sorted(folders - {"cuda"})]


def claimed(found: Sequence[Evidence]) -> Linked:
    """Assigns the evidence to entries."""
    files: Dict[str, List[str]] = collections.defaultdict(list)
    unclaimed: Set[str] = set()
    for kind, word, path in found:
        owners = [library for library in libraries() if library.has(kind, word)]
        for library in owners:
            place = files[library.name]
            if path and path not in place:
                place.append(path)
        if not owners:
            unclaimed.add(f"{kind} {word}" + (f" ({path})" if path else ""))
    return Linked(dict(files), sorted(unclaimed))


def linked(build: pathlib.Path, targets: Sequence[str], carried: Sequence[str] = ()) -> Linked:
    """Returns claimed() of evidence()."""
    return claimed(evidence(build, targets, carried))


def problems(result: Linked, kind: str, with_cuda: Optional[bool] = None) -> List[str]:
    """Returns the errors to fix in libraries.toml. `kind` is "wheel", "bundle", or "" for targets
    that need not link every entry."""
    lines = [f"{word} is in no entry" for word in result.unclaimed]
    required = {"", kind} | ({"cuda"} if with_cuda else set())
    if kind:
        lines += [f"{library.name} is linked by nothing" for library in libraries()
                  if library.only in required and library.name not in result.found]
    return lines
