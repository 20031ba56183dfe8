#!/usr/bin/env python3
"""Kills plumbline (kill -9) at random moments of its commands and looks at what is left.

    ci/kills.py                         5 kills of each command of build/ci/bin/plumbline
    ci/kills.py --count 125 --record    as the weekly job does
    ci/kills.py --only merge export --seed 7

Each command works on a prepared database. Half of the kills hit its process alone, half all of its
processes. Then
  - PRAGMA integrity_check and foreign_key_check are clean;
  - every outcome that a reader saw before is there unchanged (run, resume), or the file is as
    before the command or as after it (the others);
  - the same command again, or `run --resume`, ends as one that nobody disturbed (run ids and times
    aside);
  - no file stands beside the database, in TMPDIR or in /dev/shm that does not belong there;
  - none of its processes lives 5 s later.
Prints a line per command: kills; those amid the work (it had opened a file of the test); those
after which something was lost; that left a file; that left a process. Each finding names its seed.
Exit codes: 0 nothing found, 1 something found, 2 usage, 3 the commands cannot be run here.
"""
import argparse
import ctypes
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import hardening

ROOT = pathlib.Path(__file__).resolve().parent.parent
NIGHTS = 150  # in the history that is merged, pruned and exported: one run, copied
PATIENCE_S = 5  # for processes to end
CHILD_SUBREAPER = 36  # of <linux/prctl.h>
SUITE = """schema = 1
name = "kills"
[[group]]
name = "g"
reason = "many cases of one size"
kernels = ["cpu/flash"]
set = { heads_q = 2, heads_kv = 1, head_dim = 64, seq = 65 }
product = { dtype = ["fp16", "bf16"], seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] }
"""
# What differs between two runs of the same cases.
OF_A_RUN = {"run_id", "run_order", "started_at", "finished_at", "wall_ms", "versions_json",
            "command_line", "last_started_at", "past_run_id"}
# What differs between two calls of the same command.
OF_A_CALL = {"finished_at", "happened_at", "event_key"}
RUNS = {"run", "resume"}
RUN_VIEWS = ["v_runs", "v_history", "v_suite_scores", "v_support"]


class CannotRun(Exception):
    """The bench cannot be made: exit code 3."""


class Tally:
    def __init__(self):
        self.kills = self.amid = self.lost = self.leftovers = self.orphans = 0


def query(path, sql, read_only=False):
    name = f"file:{path}?mode=ro" if read_only else str(path)
    connection = sqlite3.connect(name, timeout=20, uri=read_only)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def columns(path, table, ignored):
    return [row[1] for row in query(path, f'PRAGMA table_info("{table}")') if row[1] not in ignored]


def rows(path, table, ignored, where=""):
    names = ", ".join(f'"{name}"' for name in columns(path, table, ignored))
    return sorted(map(repr, query(path, f'SELECT {names} FROM "{table}" {where}')))


def contents(path):
    """Every table, whole."""
    names = query(path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                        "'sqlite_%' AND name <> 'meta' ORDER BY name")
    found = {name: rows(path, name, OF_A_CALL) for (name,) in names}
    # A night that is closed again has a second event that says the same.
    return {**found, "night_event": sorted(set(found["night_event"]))}


def newest_run(path):
    """What the views say of the newest run."""
    where = "WHERE run_id = (SELECT run_id FROM run ORDER BY run_order DESC LIMIT 1)"
    return {view: rows(path, view, OF_A_RUN,
                       where if "run_id" in columns(path, view, ()) else "")
            for view in RUN_VIEWS}


def difference(got, wanted):
    """The first table that differs, in a line; "" where none does."""
    for name in sorted(set(got) | set(wanted)):
        a, b = got.get(name, []), wanted.get(name, [])
        if a != b:
            odd = sorted(set(a) ^ set(b))[:1]
            return f"{name}: {len(a)} rows instead of {len(b)}; first: {''.join(odd)[:200]}"
    return ""


def copy_database(source, target):
    for end in ("", "-wal", "-shm"):
        pathlib.Path(f"{target}{end}").unlink(missing_ok=True)
    for end in ("", "-wal"):
        if os.path.exists(f"{source}{end}"):
            shutil.copyfile(f"{source}{end}", f"{target}{end}")


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found += [child, *descendants(child)]
    except OSError:
        pass  # it has ended
    return found


def open_files(pid):
    found = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    except OSError:
        pass
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def wait_for_orphans():
    """Those of our processes' processes that do not end by themselves, ended by us. Whoever loses
    its parent becomes our child: see main()."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        if time.monotonic() > end:
            left = descendants(os.getpid())
            send(left, signal.SIGKILL)
            return left
        time.sleep(0.02)


class Bench:
    """A folder with databases, and a folder in it in which commands are killed."""

    def __init__(self, program, folder, random_numbers):
        self.program, self.folder, self.random = program, folder, random_numbers
        self.work, self.temporary = folder / "work", folder / "tmp"
        self.work.mkdir()
        self.temporary.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "NO_COLOR": "1",
                            "XDG_CACHE_HOME": str(folder / "cache")}
        (folder / "kills.toml").write_text(SUITE, encoding="utf-8")
        self.run_words = ["run", str(folder / "kills.toml"), "-q", "-j2", "--no-config", "--db"]

    def call(self, words, folder=None):
        done = subprocess.run([self.program, *words], cwd=folder or self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.environment, check=False)
        return done.returncode, done.stdout

    def must(self, words):
        code, text = self.call(words)
        if code != 0:
            raise CannotRun(f"plumbline {' '.join(words)} ends with {code}: {text[-500:]}")

    def prepare(self, names):
        """What these commands work on."""
        folder = self.folder
        self.must([*self.run_words, "past.db"])
        if RUNS.intersection(names):
            copy_database(folder / "past.db", folder / "whole.db")
            self.must([*self.run_words, "whole.db"])
            self.expected_run = newest_run(folder / "whole.db")
        if "resume" in names:
            self.prepare_half()
        if RUNS.issuperset(names):
            return
        for part in (1, 2):
            self.must([*self.run_words, f"shard{part}.db", "--shard", f"{part}/2", "--night", "n1"])
        copy_database(folder / "past.db", folder / "history.db")
        multiply_nights(folder / "history.db")
        copy_database(folder / "history.db", folder / "closing.db")
        self.must(["merge", "closing.db", "shard1.db", "shard2.db", "--judge"])

    def prepare_half(self):
        """half.db: a run that was killed about half way."""
        took = 1.0
        for _ in range(60):
            copy_database(self.folder / "past.db", self.folder / "half.db")
            process = subprocess.Popen([self.program, *self.run_words, "half.db"], cwd=self.folder,
                                       env=self.environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            try:
                process.wait(took)
            except subprocess.TimeoutExpired:
                pass
            process.kill()
            process.wait()
            wait_for_orphans()
            stored = query(self.folder / "half.db", "SELECT count(*) FROM outcome")[0][0]
            cases = len(self.expected_run["v_history"])
            part = (stored - cases) / cases
            if 0.2 < part < 0.8:
                return
            took *= 0.8 if part >= 0.8 else 1.25
        raise CannotRun("no run could be killed half way")

    def empty_work(self):
        for entry in self.work.iterdir():
            entry.unlink()

    def kill_one(self, words, seconds, look):
        """Starts a command and kills it after up to `seconds`. Returns (whether it was killed,
        whether it had begun to work, what look() said before, orphans)."""
        process = subprocess.Popen([self.program, *words], cwd=self.work, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        if process.poll() is not None:
            return False, False, None, wait_for_orphans()
        process.send_signal(signal.SIGSTOP)  # so that what is seen is what is killed
        every = [process.pid, *descendants(process.pid)]
        is_amid = any(name.startswith(str(self.folder)) for pid in every
                      for name in open_files(pid))
        seen = look()
        if self.random.random() < 0.5:
            every = every[:1]
        send(every, signal.SIGKILL)
        process.wait()
        return True, is_amid, seen, wait_for_orphans()


def multiply_nights(path):
    """Copies the one run of a file into nights of the past."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    for number in range(NIGHTS):
        day = f"20{20 + number // 336:02}-{1 + number // 28 % 12:02}-{1 + number % 28:02}"
        new = {"run_id": f"'{number:08x}' || substr(run_id, 9)",
               "run_order": f"'{day}' || substr(run_order, 11)",
               "started_at": f"'{day}' || substr(started_at, 11)",
               "finished_at": f"'{day}' || substr(finished_at, 11)",
               "night_id": f"'night{number}'"}
        for table in ("run", "outcome"):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            values = ", ".join(new.get(name, f'"{name}"') for name in names)
            quoted = ", ".join(f'"{name}"' for name in names)
            connection.execute(
                f"INSERT INTO {table}({quoted}) SELECT {values} FROM {table} WHERE run_id = "
                "(SELECT run_id FROM run WHERE night_id = '')")
    connection.execute("COMMIT")
    connection.close()


class Command:
    """How one command is prepared, called and checked; `words` name k.db in the work folder."""

    def __init__(self, bench, words, base, inputs=()):
        self.bench, self.words, self.base, self.inputs = bench, words, base, inputs
        self.file = bench.work / "k.db"

    def prepare(self):
        bench = self.bench
        bench.empty_work()
        copy_database(bench.folder / self.base, self.file)
        for name in self.inputs:
            copy_database(bench.folder / name, bench.work / name)

    def measure(self):
        """The command, undisturbed."""
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
        """What SQLite says against the file, which is looked at as a copy: opening it would mend
        it."""
        copy = self.bench.folder / "look.db"
        copy_database(self.file, copy)
        for check in ("integrity_check", "foreign_key_check"):
            found = query(copy, f"PRAGMA {check}")
            if found not in ([("ok",)], []):
                return f"{check}: {found[:2]}"
        return ""

    def lost(self, _seen):
        """What is wrong after the kill, in a line."""
        if unsound := self.unsound():
            return unsound
        kept, self.file = self.file, self.bench.folder / "look.db"
        now = self.state()
        self.file = kept
        if now not in (self.before, self.after):
            return f"neither before nor after: {difference(now, self.after)}"
        return ""

    def finish(self):
        """What is wrong when it is called again."""
        code, text = self.bench.call(self.words, self.bench.work)
        if code != self.code:
            return f"again ends with {code} instead of {self.code}: {text[-300:]}"
        return difference(self.state(), self.after)

    def left(self, is_finished):
        """Files that do not belong there."""
        usual = self.names
        if not is_finished:  # SQLite's own, for whoever opens the file next
            usual = usual | {f"{name}{end}" for name in usual for end in ("-wal", "-shm")}
        bench = self.bench
        found = [entry.name for entry in bench.work.iterdir() if entry.name not in usual]
        found += [f"TMPDIR/{entry.name}" for entry in bench.temporary.iterdir()]
        for entry in bench.temporary.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink()
        return found + [f"/dev/shm/{name}" for name in os.listdir("/dev/shm")
                        if "plumbline" in name]


class Run(Command):
    """`run`, new or resumed: outcomes that were stored stay, and --resume finishes it."""

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
            return set()  # stopped while it held a lock

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
                return f"{'--resume' if unfinished else 'again'} ends with {code}: {text[-300:]}"
        if gone := self.stored - set(query(self.file, "SELECT * FROM outcome")):
            return f"{len(gone)} outcomes are gone or changed after --resume"
        return difference(self.state(), self.bench.expected_run)


class Written(Command):
    """A command that writes a file `name`: what was there before, or a whole one."""

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
        """What is wrong with a file; "" where it is whole. A page names the moment at which it was
        made, in compressed text: its end and about its size are those of another."""
        is_page = self.name.endswith(".html")
        if now == self.after or (is_page and now[-64:] == self.after[-64:] and
                                 abs(len(now) - len(self.after)) < 2000):
            return ""
        return f"{self.name} has {len(now)} bytes, a whole one {len(self.after)}"

    def finish(self):
        code, text = self.bench.call(self.words, self.bench.work)
        if code != self.code:
            return f"again ends with {code}: {text[-300:]}"
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
    """Kills one command `count` times; (Tally, findings)."""
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
            found(f"processes {orphans} lived {PATIENCE_S} s longer")
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
                        help=f"of {', '.join(NAMES)}")
    parser.add_argument("--seed", type=int, help="of the moments; printed")
    parser.add_argument("--plumbline", type=pathlib.Path, dest="program", metavar="PROGRAM",
                        default=ROOT / "build" / "ci" / "bin" / "plumbline")
    parser.add_argument("--record", action="store_true",
                        help="add a row to baselines/hardening.toml")
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error("--count needs a whole number above 0")
    if not os.access(arguments.program, os.X_OK):
        parser.error(f"{arguments.program} is no program: build it, or name it with --plumbline")
    arguments.program = arguments.program.resolve()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1 << 31)
    return arguments


def main():
    arguments = parse()
    ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    begin = time.monotonic()
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
            "seed": arguments.seed, "seconds": round(time.monotonic() - begin), **total,
            "commands": counts, "findings": findings})
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
