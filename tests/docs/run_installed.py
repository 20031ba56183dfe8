#!/usr/bin/env python3
"""Runs pages for newcomers as typed, with an installed plumbline and no checkout in sight.

    run_installed.py --package VENV PAGE.md...     VENV is made by install_package.py, or by pip
    run_installed.py --debian-packages PAGE.md...  prints the Debian packages that the pages install

Each page begins in an empty folder, with an empty home and the PATH VENV/bin:/usr/bin:/bin; `cd`
and files last until the end of the page. If a mount namespace can be made, the checkout is replaced
by an empty folder meanwhile. Each exit code and each line of output that the page shows is
compared; "…" stands for any text.

A page may not use files that only the tests have. So these are errors: marks other than long, root,
gpu, install and exit (page_commands.py), and a fenced block that is neither run nor a file. A block
marked `install` has lines `apt-get install ...` and `pip install ...`. Its packages must be there;
with --pip, those of pip are installed into VENV first."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from page_commands import NOT_RUN, missing_line, read_page

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MARKS = ("long", "root", "gpu", "install", "exit")
# Mounts an empty folder over the checkout, except for the paths that follow the command.
HIDE = """set -e
source=$1 held=$2 folder=$3 command=$4; shift 4
for path; do mkdir -p "$held$path"; mount --rbind "$path" "$held$path"; done
mount -t tmpfs none "$source"
for path; do mkdir -p "$path"; mount --rbind "$held$path" "$path"; done
cd "$folder"
exec bash -c "$command"
"""


class Reader:
    """A reader with an installed package, in an empty folder."""

    def __init__(self, package, scratch):
        self.python = package / "bin" / "python"
        self.folder, self.held, self.left_in = (scratch / name for name in ("empty", "held", "pwd"))
        for made in (self.folder, self.held, scratch / "home"):
            made.mkdir()
        name = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER")
                for what, text in (("NAME", "Reader"), ("EMAIL", "reader@example.org"))}
        self.environment = {"PATH": f"{package / 'bin'}:/usr/bin:/bin", "USER": "reader",
                            "HOME": str(scratch / "home"), "LANG": "C.UTF-8",
                            "TMPDIR": str(scratch), **name}
        for kept in ("PIP_CERT", "PIP_INDEX_URL", "PIP_DISABLE_PIP_VERSION_CHECK"):
            if kept in os.environ:
                self.environment[kept] = os.environ[kept]
        inside = [path.resolve() for path in (package, *self._paths_of_python())]
        self.kept = sorted({str(path) for path in inside if path.is_relative_to(SOURCE)})
        # The roots of tests/wheel have no unshare.
        path = self.environment["PATH"]
        self.hides = (shutil.which("unshare", path=path) is not None
                      and self._run(["unshare", "--mount", "true"]).returncode == 0)

    def _paths_of_python(self):
        """Returns the folders of the interpreter and its packages, which may be below the
        checkout."""
        said = self._run([self.python, "-c", "import sys; print(sys.base_prefix, *sys.path[1:], "
                          "sep='\\n')"]).stdout
        return [path for line in said.splitlines() if (path := pathlib.Path(line)).is_dir()]

    def _run(self, command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)

    def run(self, command):
        """Runs a command as if typed into one shell: the next one starts in the folder where this
        one ends."""
        command = f"trap 'pwd >{self.left_in}' EXIT\n{command}"
        shell = ["bash", "-c", command]
        if self.hides:
            shell = ["unshare", "--mount", "bash", "-c", HIDE, "hide", SOURCE, self.held,
                     self.folder, command, *self.kept]
        done = self._run(shell)
        if self.left_in.exists():
            self.folder = pathlib.Path(self.left_in.read_text(encoding="utf-8").strip())
        return done

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def lacks(self, packages):
        """Returns the first package of an `install` line that is missing; "" if none."""
        tool, names = packages
        for name in names:
            if tool == "pip":
                found = self._run([self.python, "-c", f"import {name}"]).returncode == 0
            else:
                found = shutil.which(name, path=self.environment["PATH"])
            if not found:
                return name
        return ""


def installs(command):
    """Returns ("pip" or "apt-get", packages) for a line that installs; None for another command.
    Files are left out, because they are plumbline itself."""
    words = command.text.split("#")[0].split()
    if "install" not in words[1:]:
        return None
    before = words[:words.index("install")]
    tool = "pip" if "pip" in before else "apt-get" if "apt-get" in before else None
    names = [word for word in words[len(before) + 1:]
             if not word.startswith("-") and not word.endswith(".whl")]
    return (tool, names) if tool else None


def faults_of_page(text, parts):
    """Yields errors about content that a page for newcomers may not have."""
    for part in parts:
        for mark in part.marks if not isinstance(part, tuple) else ():
            word = mark.split()[0]
            if word not in MARKS:
                yield f"{part.line}: the mark `{word}` is for other pages: the reader lacks it"
            elif word == "install" and installs(part) is None:
                yield f"{part.line}: `install` marks lines of pip and apt-get: {part.text}"
    used = {name for name, *_ in (part for part in parts if isinstance(part, tuple))}
    named = r"`([A-Za-z0-9_./-]+)`:\n+$"
    for block in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        file = re.search(named, text[:block.start()])
        is_run = block[1] in ("sh", "bash") or re.search(r"^\$ ", block[2], re.MULTILINE)
        if not is_run and not (file and file[1] in used):
            line = text.count("\n", 0, block.start()) + 1
            yield f"{line}: the block is neither run nor a file: name it before, as `a.py`:"


def run_command(reader, command, with_pip):
    """Runs a command; returns what went wrong, "" if nothing did."""
    packages = installs(command) if "install" in command.marks else None
    if packages:
        if with_pip and packages[0] == "pip" and packages[1]:
            done = reader.run(" ".join(["python -m pip install --quiet", *packages[1]]))
            if done.returncode != 0:
                return done.stdout[-3000:]
        missing = reader.lacks(packages)
        return f"the page needs {missing}, which is not here" if missing else ""
    done = reader.run(command.text)
    wanted = command.exit_code()
    if done.returncode != wanted:
        return f"exit code {done.returncode} instead of {wanted}\n{done.stdout[-3000:]}"
    if missing := missing_line(command.expected, done.stdout):
        return f"the page shows the line\n{missing}\nwhich is not in\n{done.stdout[-6000:]}"
    return ""


def run_page(page, package, with_pip):
    """Returns (commands run, failures)."""
    text = page.read_text(encoding="utf-8")
    parts = read_page(text)
    failures = [f"{page.name}:{fault}" for fault in faults_of_page(text, parts)]
    if failures:
        return 0, failures
    ran = 0
    with tempfile.TemporaryDirectory(prefix="plumbline-page.") as scratch:
        reader = Reader(package, pathlib.Path(scratch))
        if not reader.hides:
            print("the checkout stays visible: no mount namespace can be made here")
        for part in parts:
            if isinstance(part, tuple):
                reader.write(*part)
                continue
            where = f"{page.name}:{part.line}: $ {part.text}"
            print(where, flush=True)
            parsed = subprocess.run(["bash", "-n", "-c", part.text], capture_output=True, text=True,
                                    check=False)
            if parsed.returncode != 0:
                failures.append(f"{where}\nis not a command: {parsed.stderr}")
            elif any(mark.split()[0] in NOT_RUN for mark in part.marks):
                print("  not run: " + ", ".join(part.marks))
            else:
                ran += 1
                if wrong := run_command(reader, part, with_pip):
                    failures.append(f"{where}\n{wrong}")
    return ran, failures


def debian_packages(pages):
    found = set()
    for page in pages:
        for part in read_page(page.read_text(encoding="utf-8")):
            if not isinstance(part, tuple) and "install" in part.marks:
                tool, names = installs(part) or ("", [])
                found.update(names if tool == "apt-get" else [])
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=pathlib.Path, nargs="+", metavar="PAGE.md")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--package", type=pathlib.Path, metavar="VENV")
    what.add_argument("--debian-packages", action="store_true")
    parser.add_argument("--pip", action="store_true",
                        help="install what the pages name for pip into VENV")
    options = parser.parse_args()
    if options.debian_packages:
        print(*debian_packages(options.pages), sep="\n")
        return 0
    if not (options.package / "bin" / "plumbline").exists():
        print(f"SKIPPED: {options.package} has no plumbline: see the test docs.installed")
        return 77
    failed = False
    for page in options.pages:
        ran, failures = run_page(page, options.package.absolute(), options.pip)
        for failure in failures:
            print(f"FAILED {failure}")
        print(f"{page.name}: {ran} commands run, {len(failures)} failed")
        failed = failed or bool(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
