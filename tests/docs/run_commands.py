#!/usr/bin/env python3
"""Runs the commands of a page of Markdown as typed, in an empty directory.

    run_commands.py PAGE.md --bin BUILD/bin [--list]

plumbline is on the PATH.

Commands are: every line of a fenced ```sh block; "$ …" lines of a ```console block or of a fence
without a language; lines indented by four blanks that begin with "plumbline". They run in the
order of the page, in one directory, and must exit with 0, or with the N of "exit code N" where
the lines behind them say that. A fenced block behind a line that ends in `name`: is that file.
Comments in the page say what a reader does not need to see; each holds for the block that
follows:

    <!-- commands: long -->          parsed (bash -n) and listed, not run; as for gpu, root, nvcc,
                                     python (packages of .venv), providers (.providers)
    <!-- commands: exit 1 -->        the exit code of a block whose lines do not show one
    <!-- commands: needs a.py -->    a file of the reader's, made from tests/docs/fixtures.py

With "page" behind the word (<!-- commands: long page -->) it holds for the rest of the page."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import fixtures

NOT_RUN = ("long", "gpu", "root", "nvcc", "python", "providers")
MARK = re.compile(r"^<!-- commands: (.*?) -->$")
NAMED_FILE = re.compile(r"`([A-Za-z0-9_.-]+)`:$")


class Command:
    def __init__(self, line, text, marks):
        self.line, self.text, self.marks, self.code = line, text, marks, None

    def exit_code(self):
        stated = [int(m.split()[1]) for m in self.marks if m.startswith("exit ")]
        return self.code if self.code is not None else stated[0] if stated else 0


def joined(lines):
    """(number, text) of commands; a backslash at the end joins a line with the next."""
    number, text = 0, ""
    for n, line in lines:
        number = number or n
        text += line
        if text.endswith("\\"):
            text += "\n"
            continue
        if text.strip() and not text.lstrip().startswith("#"):
            yield number, text
        number, text = 0, ""


def commands_of_block(language, block, marks):
    """Those of one fenced block; `block` has (number, line)."""
    if language in ("sh", "bash"):
        return [Command(n, text, marks) for n, text in joined(block)]
    found = []
    if language not in ("", "console"):
        return found
    continued = False
    for number, line in block:
        if line.startswith("$ "):
            found.append(Command(number, line[2:], marks))
        elif continued:
            found[-1].text += "\n" + line
        elif found and (code := re.search(r"exit code (\d+)", line)):
            found[-1].code = int(code.group(1))
        continued = bool(found) and line.endswith("\\") and (continued or line.startswith("$ "))
    return found


def read_page(text):
    """Commands and files in the order of the page: Command or (name, text)."""
    lines = text.splitlines()
    marks, page_marks, name, parts, i = [], [], "", [], 0
    while i < len(lines):
        line = lines[i]
        if mark := MARK.match(line.strip()):
            words = mark.group(1)
            (page_marks if words.endswith(" page") else marks).append(words.removesuffix(" page"))
        elif line.startswith("```"):
            block, begin = [], i + 1
            i += 1
            while i < len(lines) and lines[i] != "```":
                block.append((i + 1, lines[i]))
                i += 1
            found = commands_of_block(line[3:].strip(), block, marks + page_marks)
            if name and not found:
                parts.append((name, "".join(text + "\n" for _, text in block)))
            parts += found
            marks, name = [], ""
        elif line.startswith("    plumbline "):
            block = [(i + 1, line.strip())]
            while block[-1][1].endswith("\\"):
                i += 1
                block.append((i + 1, lines[i].strip()))
            parts += [Command(n, text, marks + page_marks) for n, text in joined(block)]
        elif line.strip():
            named = NAMED_FILE.search(line)
            name = named.group(1) if named else ""
            if not line.startswith("<!--"):
                marks = []
        i += 1
    return parts


def why_not_run(command):
    return next((mark for mark in command.marks if mark.split()[0] in NOT_RUN), None)


def run(command, directory, environment):
    for mark in command.marks:
        if mark.startswith("needs "):
            fixtures.make(mark.split()[1:], directory, environment)
    done = subprocess.run(["bash", "-c", command.text], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False)
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
        for part in parts:
            if isinstance(part, tuple):
                (pathlib.Path(directory) / part[0]).write_text(part[1], encoding="utf-8")
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
                if wrong := run(part, directory, environment):
                    failures.append(f"{where}: $ {part.text}\n{wrong}")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{options.page.name}: {ran} commands run, {listed} not run, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
