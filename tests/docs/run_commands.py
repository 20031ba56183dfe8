#!/usr/bin/env python3
"""Runs the commands of a page of Markdown as typed, in an empty directory.

    run_commands.py PAGE.md --bin BUILD/bin [--list]

plumbline is on the PATH. Commands run in the order of the page, each in the directory in which the
one before ended, and must exit with 0, or with the N of "exit code N" if a line after them shows
that. page_commands.py defines
commands and the comments of a page. README.md and docs/start are run by run_installed.py, without
the checkout."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import fixtures
from page_commands import NOT_RUN, read_page


def why_not_run(command):
    return next((mark for mark in command.marks if mark.split()[0] in NOT_RUN), None)


class Shell:
    """Runs each command in a shell of its own, in the directory in which the one before ended."""

    def __init__(self, directory, environment):
        self.directory = pathlib.Path(directory)
        self.ended_in = self.directory.parent / (self.directory.name + ".cwd")
        self.environment = {**environment, "PLUMBLINE_PAGE_CWD": str(self.ended_in)}

    def run(self, text):
        done = subprocess.run(
            ["bash", "-c", "trap 'pwd >\"$PLUMBLINE_PAGE_CWD\"' EXIT\n" + text],
            cwd=self.directory, env=self.environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        if self.ended_in.exists():
            self.directory = pathlib.Path(self.ended_in.read_text(encoding="utf-8").rstrip("\n"))
            self.ended_in.unlink()
        return done


def run(command, shell):
    for mark in command.marks:
        if mark.startswith("needs "):
            fixtures.make(mark.split()[1:], shell.directory, shell.environment)
    done = shell.run(command.text)
    wanted = command.exit_code()
    if done.returncode == wanted:
        return ""
    return f"exit code {done.returncode} instead of {wanted}\n{done.stdout[-3000:]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    parts = read_page(options.page.read_text(encoding="utf-8"))
    failures, ran, listed = [], 0, 0
    environment = {**os.environ, "PATH": f"{options.bin.resolve()}:{os.environ['PATH']}",
                   "OMP_NUM_THREADS": "1", "USER": "reader"}
    with tempfile.TemporaryDirectory(prefix="plumbline-page.") as directory:
        shell = Shell(directory, environment)
        for part in parts:
            if isinstance(part, tuple):
                (shell.directory / part[0]).write_text(part[1], encoding="utf-8")
                continue
            where = f"{options.page.name}:{part.line}"
            parsed = subprocess.run(["bash", "-n", "-c", part.text], capture_output=True, text=True,
                                    check=False)
            if parsed.returncode != 0:
                failures.append(f"{where}: $ {part.text}\nis no command: {parsed.stderr}")
            elif why := why_not_run(part):
                print(f"{where}: not run ({why}): {part.text}")
                listed += 1
            elif options.list:
                print(f"{where}: {part.text}")
            else:
                print(f"{where}: $ {part.text}", flush=True)
                ran += 1
                if wrong := run(part, shell):
                    failures.append(f"{where}: $ {part.text}\n{wrong}")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{options.page.name}: {ran} commands run, {listed} not run, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
