#!/usr/bin/env python3
"""Keeps the record of the weekly job's attacks on plumbline: baselines/hardening.toml.

    ci/hardening.py append fuzz executions=5 seconds=60 …   adds a row: values are TOML
    ci/hardening.py commit                                  prints the commit that is tested now
    ci/hardening.py page                                    writes the tables of docs/hardening.md
    ci/hardening.py page --check                            fails if the tables are out of date

  --file FILE   instead of baselines/hardening.toml; append then leaves docs/hardening.md as it is

ci/fuzz.sh, ci/kills.py and ci/hostile_requests.py add a row each with --record. Rows are only
added, by one process at a time, and a damaged file is refused. A row names the commit at the start
of the test, with "-with-changes" appended if the tree differed from it.
Exit codes: 0 done, 1 the page is not current, 2 usage or a damaged file.
"""
import argparse
import datetime
import fcntl
import os
import pathlib
import random
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "baselines" / "hardening.toml"
PAGE = ROOT / "docs" / "hardening.md"
# Files that the weekly job itself changes and does not test.
RESULTS = ["baselines/weekly.csv", "baselines/hardening.toml", "docs/hardening.md"]
# Fields and types of each kind of row. `findings` has one entry per finding.
KINDS = {
    "fuzz": {"date": datetime.datetime, "commit": str, "seconds": int, "executions": int,
             "new_inputs": int, "crashes": int, "targets": dict, "findings": list},
    "kills": {"date": datetime.datetime, "commit": str, "seed": int, "seconds": int, "kills": int,
              "amid": int, "lost": int, "leftovers": int, "orphans": int, "commands": dict,
              "findings": list},
    "requests": {"date": datetime.datetime, "commit": str, "seed": int, "seconds": int,
                 "requests": int, "wrong": int, "descriptors_before": int,
                 "descriptors_after": int, "findings": list},
}
TITLES = {"fuzz": "Fuzzing", "kills": "Kills", "requests": "Hostile requests"}
BEGIN, END = "<!-- ci/hardening.py page writes what follows -->", "<!-- to here -->"


class Refused(Exception):
    """Raised if the file or the row is wrong: exit code 2."""


def check_row(kind, row, where):
    fields = KINDS[kind]
    if set(row) != set(fields):
        wrong = ", ".join(sorted(set(row) ^ set(fields)))
        raise Refused(f"{where}: [[{kind}]] needs {', '.join(fields)}; missing or wrong: {wrong}")
    for name, value in row.items():
        # bool is an int in Python
        if type(value) is not fields[name]:
            raise Refused(f"{where}: {name} of [[{kind}]] is {value!r}, no {fields[name].__name__}")


def read(path):
    """Returns the rows by kind, the oldest first; {} if there is no file yet."""
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{path}: {error}; restore it with git checkout, and run again") from None
    if text and not text.endswith("\n"):
        raise Refused(f"{path}: the last line is cut off; restore it with git checkout")
    for kind, rows in table.items():
        if kind not in KINDS or not isinstance(rows, list):
            raise Refused(f"{path}: there is no [[{kind}]]; there are {', '.join(KINDS)}")
        for number, row in enumerate(rows, 1):
            check_row(kind, row, f"{path}: row {number}")
    return table


def toml_of(value):
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml_of(of)}" for name, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"\n  {toml_of(of)}," for of in value) + ("\n]" if value else "]")
    if isinstance(value, str):
        kept = "".join(c if c.isprintable() else "?" for c in value)
        return '"' + kept.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


def append(path, kind, row):
    """Adds a row with one write, under a lock."""
    row = {name: row[name] for name in KINDS[kind] if name in row} | row
    check_row(kind, row, "the new row")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        rows = read(path)
        text = f"[[{kind}]]\n" + "".join(f"{name} = {toml_of(of)}\n" for name, of in row.items())
        file.write(("\n" if rows else "") + text)
        file.flush()
        os.fsync(file.fileno())


def tested_commit():
    """Returns the newest commit that changed files other than RESULTS, so that committed results do
    not count as a new one. Adds a suffix if the tree differs from it."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.strip()
    try:
        tested = ["--", ".", *(f":!{name}" for name in RESULTS)]
        commit = git("log", "-1", "--format=%h", "--abbrev=12", *tested)
        changes = git("status", "--porcelain", "--untracked-files=no", *tested)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + ("-with-changes" if changes else "")


def record(path, kind, row):
    """Calls append() with the date, and with the commit if the row has none. Rewrites the page if
    the file is the committed one."""
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    append(path, kind, {"date": now, **({} if "commit" in row else {"commit": tested_commit()}),
                        **row})
    if path.resolve() == FILE:
        PAGE.write_text(page_of(PAGE.read_text(encoding="utf-8"), read(path)), encoding="utf-8")


def parse_attack(parser):
    """Adds the options that attacks share, parses and checks them; draws a seed if none is given.
    The parser already has --count and --seed."""
    parser.add_argument("--plumbline", type=pathlib.Path, dest="program", metavar="PROGRAM",
                        default=ROOT / "build" / "ci" / "bin" / "plumbline")
    parser.add_argument("--record", action="store_true",
                        help="add a row to baselines/hardening.toml")
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error("--count needs a whole number above 0")
    if not os.access(arguments.program, os.X_OK):
        parser.error(f"{arguments.program} is not a program: build it, or name it with --plumbline")
    arguments.program = arguments.program.resolve()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1 << 31)
    return arguments


class Progress:
    """Prints progress and the remaining time as one line on a terminal."""

    def __init__(self, count):
        self.count, self.begin, self.done = count, time.monotonic(), 0
        self.is_shown = sys.stderr.isatty()

    def step(self, what):
        self.done += 1
        if self.is_shown:
            rest = (time.monotonic() - self.begin) / self.done * (self.count - self.done)
            print(f"\r\033[K[{self.done}/{self.count}] {what}, about {rest:.0f} s left", end="",
                  file=sys.stderr, flush=True)

    def end(self):
        if self.is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


# ---- The page ----

def cell(value):
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d")
    return f"{value:,}" if isinstance(value, int) else str(value)


def tables(rows):
    lines = []
    for kind, title in TITLES.items():
        lines += [f"## {title}", ""]
        known = rows.get(kind, [])
        names = [name for name in KINDS[kind] if name not in ("findings", "targets", "commands")]
        lines += ["| " + " | ".join(name.replace("_", " ") for name in names) + " | findings |",
                  "|" + "---|" * (len(names) + 1)]
        for row in reversed(known):
            lines.append("| " + " | ".join(
                str(row[name]) if name == "seed" else cell(row[name]) for name in names) +
                         f" | {len(row['findings'])} |")
        newest = known[-1] if known else {}
        for name in ("targets", "commands"):
            if newest.get(name):
                what = "Executions by target" if name == "targets" else "Kills by command"
                lines += ["", f"{what}, newest row:"]
                lines += [f"- {entry}: {count:,}" for entry, count in newest[name].items()]
        found = [f"{cell(row['date'])}: {finding.replace('```', '')}" for row in reversed(known)
                 for finding in row["findings"]]
        if found:  # as code, whose lines may be long
            lines += ["", "```text", *found, "```"]
        lines.append("")
    return "\n".join(lines)


def page_of(text, rows):
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n\n{tables(rows)}\n{text[end:]}"


def row_of(words):
    values = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            values[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise Refused(f"{word}: {error}") from None
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=pathlib.Path, default=FILE)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("append", help="add a row")
    adding.add_argument("kind", choices=KINDS)
    adding.add_argument("values", nargs="*", metavar="NAME=VALUE")
    commands.add_parser("commit", help="print the commit, as a row names it")
    writing = commands.add_parser("page", help="write the tables of docs/hardening.md")
    writing.add_argument("--check", action="store_true",
                         help="write nothing; exit with 1 if it is out of date")
    arguments = parser.parse_args()
    try:
        if arguments.command == "append":
            record(arguments.file, arguments.kind, row_of(arguments.values))
            return 0
        if arguments.command == "commit":
            print(tested_commit())
            return 0
        text = PAGE.read_text(encoding="utf-8")
        current = page_of(text, read(arguments.file))
    except Refused as refused:
        print(f"ci/hardening.py: {refused}", file=sys.stderr)
        return 2
    if not arguments.check:
        PAGE.write_text(current, encoding="utf-8")
    elif text != current:
        print("ci/hardening.py: docs/hardening.md differs from baselines/hardening.toml; next: "
              "ci/hardening.py page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
