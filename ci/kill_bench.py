"""For ci/kills.py: makes the databases that its commands work on, kills a command and compares two
databases."""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

NIGHTS = 150  # nights in the history that is merged, pruned and exported: copies of one run
PATIENCE_S = 5  # wait for processes to end
SUITE = """schema = 1
name = "kills"
[[group]]
name = "g"
reason = "many cases of one size"
kernels = ["cpu/flash"]
set = { heads_q = 2, heads_kv = 1, head_dim = 64, seq = 65 }
product = { dtype = ["fp16", "bf16"], seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] }
"""
# Columns that differ between two runs of the same cases.
OF_A_RUN = {"run_id", "run_order", "started_at", "finished_at", "wall_ms", "versions_json",
            "command_line", "last_started_at", "past_run_id"}
# Columns that differ between two calls of the same command.
OF_A_CALL = {"finished_at", "happened_at", "event_key"}
RUNS = {"run", "resume"}
RUN_VIEWS = ["v_runs", "v_history", "v_suite_scores", "v_support"]


class CannotRun(Exception):
    """The databases cannot be made: exit code 3."""


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
    """Returns every table with all its rows."""
    names = query(path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                        "'sqlite_%' AND name <> 'meta' ORDER BY name")
    found = {name: rows(path, name, OF_A_CALL) for (name,) in names}
    # Closing a night again adds a second, equal event.
    return {**found, "night_event": sorted(set(found["night_event"]))}


def newest_run(path):
    """Returns the rows of the views about the newest run."""
    where = "WHERE run_id = (SELECT run_id FROM run ORDER BY run_order DESC LIMIT 1)"
    return {view: rows(path, view, OF_A_RUN,
                       where if "run_id" in columns(path, view, ()) else "")
            for view in RUN_VIEWS}


def difference(got, wanted):
    """Returns the first table that differs, as one line; "" if none does."""
    for name in sorted(set(got) | set(wanted)):
        a, b = got.get(name, []), wanted.get(name, [])
        if a != b:
            odd = sorted(set(a) ^ set(b))[:1]
            return f"{name}: {len(a)} rows instead of {len(b)}; differing row: {''.join(odd)[:200]}"
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
    """Kills and returns the descendants that do not end by themselves. A process that loses its
    parent becomes our child: see main() of ci/kills.py."""
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
    """A folder with databases, and a work folder in it where commands are killed."""

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
        """Makes the databases that these commands work on."""
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
        """Makes half.db, with a run that was killed about half way."""
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
        whether it had begun to work, the result of look() before the kill, orphans)."""
        process = subprocess.Popen([self.program, *words], cwd=self.work, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        if process.poll() is not None:
            return False, False, None, wait_for_orphans()
        process.send_signal(signal.SIGSTOP)  # so that nothing changes between the look and the kill
        every = [process.pid, *descendants(process.pid)]
        try:
            is_amid = any(name.startswith(str(self.folder)) for pid in every
                          for name in open_files(pid))
            seen = look()
            if self.random.random() < 0.5:
                every = every[:1]
        finally:  # also if this script is interrupted
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
