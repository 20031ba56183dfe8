"""Does a package of another project own `plumbline/__init__.py` or the command `plumbline`?

PyPI has another package called plumbline. pip installs both into the same folder and silently
overwrites files of the first. `python -m plumbline_command.owners` prints a warning, or nothing;
the pytest plugin and `plumbline doctor` call it. Does not import `plumbline`, which may be the
other package.
"""
import importlib.metadata
import re
import sys
from typing import List, NamedTuple

OURS = ("plumbline-attention", "plumbline-attention-harness")
_MODULE = "plumbline/__init__.py"
_COMMANDS = ("plumbline", "plumbline-ptx")
# Match lines of RECORD, "path,hash,size", as text, because parsing thousands of them is slow.
_FILE = re.compile(r"^\"?plumbline/__init__\.py\b", re.M)
_SCRIPT = re.compile(r"(?:^|/)bin/(plumbline(?:-ptx)?),", re.M)


class Owner(NamedTuple):
    """A distribution of another project, and our names that it owns."""
    name: str
    version: str
    owns: List[str]
    where: str

    def __str__(self) -> str:
        return (f"{self.name} {self.version}, a package of another project, owns "
                f"{' and '.join(self.owns)} in {self.where}")


def _owned(distribution: importlib.metadata.Distribution) -> List[str]:
    record = distribution.read_text("RECORD") or ""
    owns = [_MODULE] if _FILE.search(record) else []
    commands = set(_SCRIPT.findall(record))
    if "plumbline" in (distribution.read_text("entry_points.txt") or ""):
        commands |= {entry.name for entry in distribution.entry_points
                     if entry.group == "console_scripts" and entry.name in _COMMANDS}
    return owns + [f"the command {name}" for name in sorted(commands)]


def foreign() -> List[Owner]:
    """Returns the other owners among the distributions of this interpreter."""
    found = []
    for distribution in importlib.metadata.distributions():
        owns = _owned(distribution)
        name = distribution.metadata["Name"] if owns else ""
        if name and re.sub(r"[-_.]+", "-", name).lower() not in OURS:
            found.append(Owner(name, distribution.version, owns,
                               str(distribution.locate_file(""))))
    return found


def sentence() -> str:
    """Returns the owners, their folders and the remedy, or ""."""
    found = foreign()
    if not found:
        return ""
    names = " ".join(dict.fromkeys(owner.name for owner in found))
    remedy = (f"  remedy: {sys.executable} -m pip uninstall {names}; then install "
              "plumbline-attention again, with --force-reinstall --no-deps, because pip also "
              "removes files of plumbline-attention")
    return "\n".join([*map(str, found), remedy])


if __name__ == "__main__":
    sys.stdout.write(sentence())
