#!/usr/bin/env python3
"""Kills plumbline (kill -9) at random moments of its commands and looks at what is left.

    ci/kills.py                         5 kills of each command of build/ci/bin/plumbline
    ci/kills.py --count 125 --record    as the weekly job does
    ci/kills.py --only merge export --seed 7

Each command works on a prepared database. Half of the kills hit only its main process, half all of
its processes. Afterwards
  - PRAGMA integrity_check and foreign_key_check are clean;
  - every outcome that a reader saw before the kill is still there, unchanged (run, resume), or
    the file is as before the command or as after it (the other commands);
  - the same command again, or `run --resume`, ends like an undisturbed one (except for run ids and
    times);
  - there is no stray file next to the database, in TMPDIR or in /dev/shm;
  - none of its processes is alive 5 s later.
Prints a line per command: kills; kills amid the work (a file of the test was open); kills
that lost something, left a file or left a process. Each finding names its seed.
Exit codes: 0 nothing found, 1 something found, 2 usage, 3 the commands cannot be run here.
"""
import argparse
import ctypes
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

import hardening
from kill_bench import (PATIENCE_S, Bench, CannotRun, contents, copy_database, difference,
                        newest_run, query)

CHILD_SUBREAPER = 36  # from <linux/prctl.h>


class Tally:
    def __init__(self):
        self.kills = self.amid = self.lost = self.leftovers = self.orphans = 0


def shared_memory():
    """Returns the names in /dev/shm that may be plumbline's. A name that ends in the number of a
    living process, such as a fuzzer's, belongs to that process and is left out."""
    def is_of_the_living(name):
        number = re.search(r"\d+$", name)
        return number is not None and os.path.exists(f"/proc/{number.group()}")
    return {name for name in os.listdir("/dev/shm")
            if "plumbline" in name and not is_of_the_living(name)}


class Command:
    """Prepares, calls and checks one command, whose `words` name k.db in the work folder."""

    def __init__(self, bench, words, base, inputs=()):
        self.bench, self.words, self.base, self.inputs = bench, words, base, inputs
        self.file = bench.work / "k.db"

    def prepare(self):
        bench = self.bench
        bench.empty_work()
        self.shared = shared_memory()
        copy_database(bench.folder / self.base, self.file)
        for name in self.inputs:
            copy_database(bench.folder / name, bench.work / name)

    def measure(self):
        """Runs the command undisturbed and records its results."""
        self.prepare()
        self.before = self.state()
        begin = time.monotonic()
        self.code, text = self.bench.call(self.words, self.bench.work)
        self.seconds = time.monotonic() - begin
        if self.code not in (0, 1, 5):
            raise CannotRun(f"plumbline {' '.join(self.words)} ends with {self.code}: {text}")
        self.after = self.state()
        self.names = {entry.name for entry in self.bench.work.iterdir()}

    def state(self):
        return contents(self.file)

    def seen(self):
        return None

    def unsound(self):
        """Returns the errors of SQLite's checks. Reads a copy, because opening the file would
        repair it."""
        copy = self.bench.folder / "look.db"
        copy_database(self.file, copy)
        for check in ("integrity_check", "foreign_key_check"):
            found = query(copy, f"PRAGMA {check}")
            if found not in ([("ok",)], []):
                return f"{check}: {found[:2]}"
        return ""

    def lost(self, _seen):
        """Returns what is wrong after the kill, as one line; "" if nothing is."""
        if unsound := self.unsound():
            return unsound
        kept, self.file = self.file, self.bench.folder / "look.db"
        now = self.state()
        self.file = kept
        if now not in (self.before, self.after):
            return ("the database is neither as before the command nor as after it: "
                    f"{difference(now, self.after)}")
        return ""

    def finish(self):
        """Calls the command again and returns what is wrong; "" if nothing is."""
        code, text = self.bench.call(self.words, self.bench.work)
        if code != self.code:
            return f"the rerun exits with {code} instead of {self.code}: {text[-300:]}"
        return difference(self.state(), self.after)

    def left(self, is_finished):
        """Returns stray files."""
        usual = self.names
        if not is_finished:  # SQLite's files, for the next process that opens the database
            usual = usual | {f"{name}{end}" for name in usual for end in ("-wal", "-shm")}
        bench = self.bench
        found = [entry.name for entry in bench.work.iterdir() if entry.name not in usual]
        found += [f"TMPDIR/{entry.name}" for entry in bench.temporary.iterdir()]
        for entry in bench.temporary.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink()
        return found + [f"/dev/shm/{name}" for name in sorted(shared_memory() - self.shared)]


class Run(Command):
    """`run`, new or resumed: stored outcomes stay, and --resume finishes the run."""

    def state(self):
        return newest_run(self.file)

    def measure(self):
        super().measure()
        if wrong := difference(self.after, self.bench.expected_run):
            raise CannotRun(f"two runs of the same cases differ: {wrong}")

    def seen(self):
        try:
            return set(query(self.file, "SELECT * FROM outcome", read_only=True))
        except sqlite3.Error:
            return set()  # the command was stopped while it held a lock

    def lost(self, seen):
        if unsound := self.unsound():
            return unsound
        gone = seen - set(query(self.bench.folder / "look.db", "SELECT * FROM outcome"))
        self.stored = seen
        return f"{len(gone)} of {len(seen)} outcomes are gone or changed" if gone else ""

    def finish(self):
        words = [*self.bench.run_words, "k.db"]
        unfinished = query(self.file, "SELECT count(*) FROM run WHERE finished_at IS NULL")[0][0]
        if unfinished or len(query(self.file, "SELECT 1 FROM run")) == 1:
            code, text = self.bench.call(words + ["--resume"] * unfinished, self.bench.work)
            if code != 0:
                return f"{'--resume' if unfinished else 'rerun'} ends with {code}: {text[-300:]}"
        if gone := self.stored - set(query(self.file, "SELECT * FROM outcome")):
            return f"{len(gone)} outcomes are gone or changed after --resume"
        return difference(self.state(), self.bench.expected_run)


class Written(Command):
    """A command that writes a file `name`, which must be the earlier file or a complete new one."""

    def __init__(self, bench, words, name):
        super().__init__(bench, words, "closing.db")
        self.name = name

    def prepare(self):
        super().prepare()
        if self.bench.random.random() < 0.5:
            (self.bench.work / self.name).write_bytes(b"what was there before")

    def state(self):
        path = self.bench.work / self.name
        return path.read_bytes() if path.exists() else b""

    def lost(self, _seen):
        if unsound := self.unsound():
            return unsound
        now = self.state()
        return "" if now in (b"", b"what was there before") else self.partial(now)

    def partial(self, now):
        """Returns what is wrong with a file; "" if it is complete. A page contains the time at
        which it was made, in compressed text, so only its end and its approximate size are
        compared."""
        is_page = self.name.endswith(".html")
        if now == self.after or (is_page and now[-64:] == self.after[-64:] and
                                 abs(len(now) - len(self.after)) < 2000):
            return ""
        return f"{self.name} has {len(now)} bytes, a whole one {len(self.after)}"

    def finish(self):
        code, text = self.bench.call(self.words, self.bench.work)
        if code != self.code:
            return f"the rerun exits with {code}: {text[-300:]}"
        return self.partial(self.state())


def commands_of(bench):
    shards = ("shard1.db", "shard2.db")
    at = ["--db", "k.db"]
    return {
        "run": Run(bench, [*bench.run_words, "k.db"], "past.db"),
        "resume": Run(bench, [*bench.run_words, "k.db", "--resume"], "half.db"),
        "merge": Command(bench, ["merge", "k.db", "history.db", *shards], "past.db",
                         ("history.db", *shards)),
        "prune": Command(bench, ["prune", "k.db", "--nights", "1"], "closing.db"),
        "vacuum": Command(bench, ["prune", "k.db", "--nights", "1", "--vacuum"], "closing.db"),
        "close": Command(bench, ["night", "close", "n1", *at], "closing.db"),
        "export": Written(bench, ["export", *at, "--parquet", "o.parquet"], "o.parquet"),
        "report": Written(bench, ["report", "night:n1", *at, "-o", "o.html"], "o.html"),
    }


NAMES = ["run", "resume", "merge", "prune", "vacuum", "close", "export", "report"]


def attack(bench, name, command, count, progress):
    """Kills one command `count` times; returns (Tally, findings)."""
    tally, findings = Tally(), []
    command.measure()
    seconds = command.seconds

    def found(what):
        findings.append(f"{name}, kill {tally.kills}: {what}")

    while tally.kills < count:
        command.prepare()
        was_killed, is_amid, seen, orphans = bench.kill_one(
            command.words, bench.random.random() * seconds, command.seen)
        seconds *= 1.02 if was_killed else 0.93
        if not was_killed:
            continue
        tally.kills += 1
        tally.amid += is_amid
        progress.step(name)
        if orphans:
            tally.orphans += 1
            found(f"processes {orphans} were still alive {PATIENCE_S} s after the kill")
        left = command.left(False)
        wrong = command.lost(seen) or command.finish()
        left += [file for file in command.left(True) if file not in left]
        if wrong:
            tally.lost += 1
            found(wrong)
        if left:
            tally.leftovers += 1
            found(f"left {', '.join(left)}")
    return tally, findings


def run_all(arguments, folder):
    bench = Bench(arguments.program, folder, random.Random(arguments.seed))
    bench.prepare(arguments.only)
    commands = commands_of(bench)
    progress = hardening.Progress(arguments.count * len(arguments.only))
    fields = ("kills", "amid", "lost", "leftovers", "orphans")
    total, findings, counts = dict.fromkeys(fields, 0), [], {}
    print(f"{'command':10}" + "".join(f"{field:>10}" for field in fields), flush=True)
    for name in arguments.only:
        tally, found = attack(bench, name, commands[name], arguments.count, progress)
        progress.end()
        print(f"{name:10}" + "".join(f"{getattr(tally, field):10}" for field in fields),
              flush=True)
        for field in fields:
            total[field] += getattr(tally, field)
        counts[name] = tally.kills
        findings += [f"seed {arguments.seed}, {line}" for line in found]
        for line in found:
            print(f"  seed {arguments.seed}, {line}", flush=True)
    return total, counts, findings


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5, help="kills of each command")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="COMMAND",
                        help=f"commands among {', '.join(NAMES)} (default: all)")
    parser.add_argument("--seed", type=int,
                        help="seed of the random moments (default: drawn and printed)")
    return hardening.parse_attack(parser)


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # so that the folder is removed
    ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    begin, commit = time.monotonic(), hardening.tested_commit()
    with tempfile.TemporaryDirectory(prefix="plumbline-kills-") as folder:
        try:
            total, counts, findings = run_all(arguments, pathlib.Path(folder).resolve())
        except CannotRun as error:
            print(f"ci/kills.py: {error}", file=sys.stderr)
            return 3
    print(f"seed {arguments.seed}: {total['kills']} kills, {total['amid']} amid the work, "
          f"{total['lost']} lost, {total['leftovers']} left files, {total['orphans']} left "
          "processes")
    if arguments.record:
        hardening.record(hardening.FILE, "kills", {
            "commit": commit, "seed": arguments.seed, "seconds": round(time.monotonic() - begin),
            **total, "commands": counts, "findings": findings})
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
