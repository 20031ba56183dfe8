#!/usr/bin/env python3
"""Tests the time gate on nights that are really measured, with and without known regressions.

  evidence/gate_trials.py --directory DIR aa five three drift faster accepted  # idle machine
  evidence/gate_trials.py --directory DIR --load 2 aa five      # with two busy loops per core
  evidence/gate_trials.py --directory DIR --plan aa five three  # how long it would take
  evidence/gate_trials.py --directory DIR report                # results so far

A trial is a number of nights of `plumbline run SUITE`, each after a history of ten or more nights
without planted changes. Planted nights run in copies of that history and do not spoil it.
The trials:

  aa      nothing is planted: every alarm is false (100 nights)
  five    5 % more processor time, in a fifth of the cases: found on night one, under load by night
          three (at least 200 cases)
  three   3 %: found by night seven
  drift   1 % more each night, against a pin: found by night ten
  faster  a fifth of the cases was 8 times slower in its history: listed as faster on night one
  accepted  4 % more each night, for five nights, and accepted each morning: the sixth night, which
          has no step of its own, is found against the pin in every case

An interrupted call continues where it stopped: each finished night has a line in DIR/trials.csv
(exit code, findings, seconds, and the load of other processes), each of its cases one in
DIR/cases.csv. Nights of the idle machine during which other processes kept half a core busy or more
do not count and are measured again. `report` exits with 0 if all limits are kept, with 1 if one is
not, and with 5 if something is missing.
"""
import argparse
import contextlib
import csv
import datetime
import multiprocessing
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRIALS = ("aa", "five", "three", "drift", "faster", "accepted")
ROW = ("load", "trial", "sequence", "night", "planted", "exit_code", "cases", "planted_cases",
       "planted_found", "planted_open", "planted_faster", "false_found", "false_open",
       "false_faster", "suspect", "seconds", "load_before", "load_after", "other_load", "counts",
       "run_id", "finished_at")
CASE = ("load", "trial", "sequence", "night", "counts", "case_id", "planted", "verdict",
        "confirmation", "faster", "time_ratio", "gate_finding", "gate_level", "gate_change",
        "gate_deviation")
# A night counts as one of an idle machine if other processes keep fewer cores busy than this.
IDLE_LOAD = 0.5
CASE_NIGHTS = 200  # needed for a rate
ACCEPTED_STEPS = 5
TOO_MANY_DISTURBED = 50  # in a row: the machine is not idle


def nights_of(trial, options):
    """Returns the number of sequences of a trial, and the number of nights of each."""
    loaded = options.load > 0
    sequences = options.sequences or options.parts
    if trial == "five":
        # Each sequence plants in one of the parts.
        nights = 3 if loaded else 1
        rounds = -(-CASE_NIGHTS // max(1, options.expected_cases * nights))
        return sequences * (1 if options.sequences else rounds), nights
    return {"aa": (1, options.nights or 100), "three": (sequences, 7), "drift": (sequences, 10),
            "accepted": (1, ACCEPTED_STEPS + 1)}.get(trial, (1, 1))


def planted_in(trial, sequence, night, options):
    """Returns the options of the planted provider."""
    slower = {"five": "0.05", "three": "0.03", "drift": f"{1.01 ** night - 1:.5f}",
              "accepted": f"{1.04 ** min(night, ACCEPTED_STEPS) - 1:.5f}"}.get(trial)
    return f"slow={slower},part={sequence % options.parts}/{options.parts}" if slower else ""


def label(options):
    return f"load{options.load}" if options.load else "idle"


def spin():
    while True:
        pass


@contextlib.contextmanager
def busy_loops(per_core):
    """Runs this number of processes per core that only use processor time."""
    loops = [multiprocessing.Process(target=spin, daemon=True)
             for _ in range(per_core * os.cpu_count())]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()
            loop.join()


def busy_seconds():
    """Returns the processor time of all processes of the machine since it was started."""
    fields = [int(text) for text in
              pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def copy_database(source, target):
    """Copies a database including its write-ahead log; the copy gets its name when it is
    complete."""
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(source)) as old, \
            contextlib.closing(sqlite3.connect(part)) as new:
        old.backup(new)
    part.rename(target)


def remove_database(path):
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class Table:
    """A CSV file to which lines are appended, each complete on disk before the next."""

    def __init__(self, path, columns):
        self.path, self.columns = path, columns
        self.rows = []
        if path.exists():
            whole = path.read_bytes()
            os.truncate(path, whole.rfind(b"\n") + 1)  # removes a line that a crash cut off
            with path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                if tuple(reader.fieldnames or ()) != columns:
                    sys.exit(f"gate_trials: {path} has other columns than this version writes; "
                             "remedy: begin in another directory")
                self.rows = list(reader)

    def add(self, rows):
        new = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns)
            if new:
                writer.writeheader()
            writer.writerows(rows)
            file.flush()
            os.fsync(file.fileno())
        self.rows += [{key: str(value) for key, value in row.items()} for row in rows]


class Trials:
    """The nights of one directory."""

    def __init__(self, options):
        self.options = options
        self.directory = options.directory
        (self.directory / label(options)).mkdir(parents=True, exist_ok=True)
        self.nights = Table(self.directory / "trials.csv", ROW)
        self.cases = Table(self.directory / "cases.csv", CASE)
        self.disturbed = 0

    def database(self, name):
        return self.directory / label(self.options) / f"{name}.db"

    def done(self, trial, sequence):
        """Returns the nights of a sequence that are measured and count."""
        return [row for row in self.nights.rows
                if (row["load"], row["trial"], row["sequence"], row["counts"]) ==
                (label(self.options), trial, str(sequence), "1")]

    def plumbline(self, arguments, planted=""):
        environment = dict(os.environ, PLANTED_OPTIONS=planted)
        return subprocess.run([str(self.options.plumbline), *map(str, arguments)], text=True,
                              env=environment, capture_output=True, check=False)

    def run_night(self, database, planted, name):
        """Runs one night in a copy of the database. Returns the copy, which the caller moves to the
        original's place if the night counts, and the facts about the night."""
        work = database.with_name("work.db")
        remove_database(work)
        if database.exists():
            copy_database(database, work)
        before, busy, own, begun = os.getloadavg()[0], busy_seconds(), own_seconds(), time.time()
        done = self.plumbline(["run", *self.options.suite, "--db", work, "--purpose", "nightly",
                               "--night", name, "--provider", self.options.planted, "-q"], planted)
        seconds = time.time() - begun
        others = max(0.0, busy_seconds() - busy - (own_seconds() - own)) / seconds
        if done.returncode not in (0, 1, 5):
            sys.exit(f"gate_trials: plumbline ended with {done.returncode}; nothing of this night "
                     f"was kept\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        facts = {"exit_code": done.returncode, "seconds": f"{seconds:.1f}",
                 "load_before": before, "load_after": os.getloadavg()[0],
                 "other_load": f"{others:.2f}"}
        facts["counts"] = int(self.options.load > 0 or others < IDLE_LOAD or
                              self.options.any_load)
        return work, facts

    def add_night(self, trial, sequence, night, database, planted):
        """Measures and records a night. Returns true if it counts."""
        key = {"load": label(self.options), "trial": trial, "sequence": sequence, "night": night}
        name = f"{key['load']}-{trial}-{sequence}-{night}"
        held = outcome_rows(database, name)
        if held:  # interrupted after the night was measured, before it was recorded
            facts = {"exit_code": held["exit_code"], "counts": 1}
            result = held
        else:
            work, facts = self.run_night(database, planted, name)
            result = outcome_rows(work, name)
            if result is None:
                sys.exit(f"gate_trials: the night {name} left no run in {work}")
            if facts["counts"]:
                for suffix in ("-wal", "-shm"):  # files of the database that is replaced
                    database.with_name(database.name + suffix).unlink(missing_ok=True)
                work.rename(database)
            else:
                remove_database(work)
        row = dict.fromkeys(ROW, "") | key | facts | {"planted": planted} | result["counts"]
        row["run_id"] = result["run_id"]
        row["finished_at"] = datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds")
        self.cases.add([dict.fromkeys(CASE, "") | key | {"counts": row["counts"]} | case
                        for case in result["cases"]])
        self.nights.add([row])
        print(f"{name}: exit {row['exit_code']}, {row['planted_found']} of {row['planted_cases']} "
              f"planted found, {row['false_found']} false; {row['seconds']} s, others' load "
              f"{row['other_load']}{'' if facts['counts'] else ': does not count'}", flush=True)
        self.disturbed = 0 if facts["counts"] else self.disturbed + 1
        if self.disturbed >= TOO_MANY_DISTURBED:
            sys.exit(f"gate_trials: other processes kept {IDLE_LOAD} cores or more busy for "
                     f"{self.disturbed} nights: the machine is not idle; remedy: stop them, or use "
                     "--load N or --any-load; the report shows their load")
        return bool(facts["counts"])

    def add_nights(self, trial, sequence, wanted, database, planted_of):
        while (count := len(self.done(trial, sequence))) < wanted:
            if trial == "accepted" and count > 0:
                self.decide(database, "accept", "a step of 4 %")
            self.add_night(trial, sequence, count + 1, database, planted_of(count + 1))

    def history(self):
        """Returns the database of nights without planted changes. `aa` adds its nights to it."""
        database = self.database("history")
        self.add_nights("history", 0, self.options.history_nights, database, lambda night: "")
        return database

    def slowed_history(self):
        """Returns the database of nights in which a part of the cases is 8 times slower."""
        database = self.database("slowed")
        self.add_nights("slowed", 0, self.options.history_nights, database,
                        lambda night: f"slow=8,part=0/{self.options.parts}")
        return database

    def run(self, trial):
        sequences, nights = nights_of(trial, self.options)
        if trial == "aa":
            return self.add_nights(trial, 0, nights, self.history(), lambda night: "")
        source = self.slowed_history() if trial == "faster" else self.history()
        for sequence in range(sequences):
            if len(self.done(trial, sequence)) >= nights:
                continue
            database = self.database(f"{trial}-{sequence}")
            if not self.done(trial, sequence) and not outcome_rows(
                    database, f"{label(self.options)}-{trial}-{sequence}-1"):
                remove_database(database)
                copy_database(source, database)
                if trial in ("drift", "accepted"):
                    self.decide(database, "pin", "before the first step")
            self.add_nights(trial, sequence, nights, database,
                            lambda night, s=sequence: planted_in(trial, s, night, self.options))
            if not self.options.keep:
                remove_database(database)
        return None

    def decide(self, database, decision, why):
        """Pins or accepts the newest run."""
        done = self.plumbline(["baseline", decision, "latest", "--db", database, "--who", "trials",
                               "--why", why])
        if done.returncode != 0:
            sys.exit(f"gate_trials: baseline {decision} failed\n{done.stdout}{done.stderr}")


def outcome_rows(database, night):
    """Returns the results of a night's run; None if the database has no such run."""
    if not database.exists():
        return None
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        run = db.execute("SELECT run_id, exit_code FROM run WHERE night_id = ? "
                         "AND exit_code IS NOT NULL ORDER BY run_order DESC", (night,)).fetchone()
        if run is None:
            return None
        suspect = db.execute("SELECT max(suspect) FROM night_times WHERE run_id = ?",
                             run[:1]).fetchone()[0]
        db.row_factory = sqlite3.Row
        cases = [dict(row) for row in db.execute(
            """SELECT c.case_id, b.launched LIKE '%, planted %' AS planted, o.verdict,
                 o.confirmation, o.time_ratio, o.gate_finding, o.gate_level, o.gate_change,
                 o.gate_deviation, c.case_id IN (SELECT case_id FROM run_change
                   WHERE run_id = o.run_id AND kind = 'faster') AS faster
               FROM outcome AS o JOIN attention_case AS c USING (case_key)
               JOIN build AS b USING (build_key) WHERE o.run_id = ? AND o.timed
               ORDER BY c.case_id""", run[:1])]
    counts = {"cases": len(cases), "planted_cases": sum(bool(case["planted"]) for case in cases),
              "suspect": suspect or 0}
    for kind, holds in (("found", lambda case: case["verdict"] == "regressed"),
                        ("open", lambda case: case["verdict"] in ("ambiguous", "unconfirmed")),
                        ("faster", lambda case: case["faster"])):
        for of, planted in (("planted", True), ("false", False)):
            counts[f"{of}_{kind}"] = sum(1 for case in cases
                                         if bool(case["planted"]) == planted and holds(case))
    return {"run_id": run[0], "exit_code": run[1], "counts": counts, "cases": cases}


def is_slower(row):
    return row["verdict"] == "regressed"


def is_listed_as_faster(row):
    return row["faster"] == "1"


def is_away_from_pin(row):
    return is_slower(row) and row["gate_finding"] == "drifted"


def found_by(cases, load, trial, night, is_found=is_slower):
    """Returns how many of the planted cases were found by that night, and how many planted cases
    there were."""
    first, last = {}, {}
    for row in cases:
        if (row["load"], row["trial"], row["counts"]) != (load, trial, "1"):
            continue
        if row["planted"] != "1":
            continue
        key = (row["sequence"], row["case_id"])
        last[key] = max(last.get(key, 0), int(row["night"]))
        if is_found(row):
            first[key] = min(first.get(key, 10 ** 6), int(row["night"]))
    # A case counts once its nights are done, or once it was found.
    known = [key for key, nights in last.items()
             if nights >= night or first.get(key, 10 ** 6) <= night]
    return sum(1 for key in known if first.get(key, 10 ** 6) <= night), len(known)


def found_faster(cases, load):
    """Returns how many cases that were slower in their history are listed as faster, and how many
    there are."""
    of_load = [row for row in cases if (row["load"], row["counts"]) == (load, "1")]
    slowed = {row["case_id"] for row in of_load
              if row["trial"] == "slowed" and row["planted"] == "1"}
    night = [row for row in of_load if row["trial"] == "faster" and row["case_id"] in slowed]
    return sum(is_listed_as_faster(row) for row in night), len(night)


def rates(nights, cases, load):
    """Returns the lines of the report: title, limit, measured value, whether the limit is kept
    (None: missing)."""
    def of(trial):
        return [row for row in nights
                if (row["load"], row["trial"], row["counts"]) == (load, trial, "1")]

    idle = load == "idle"
    lines = []
    aa = of("aa")
    for code, most in ((1, 0 if idle else 1), (5, 2 if idle else 20)):
        count = sum(1 for row in aa if row["exit_code"] == str(code))
        kept = False if count > most else True if len(aa) >= 100 else None
        lines.append((f"A/A nights that end with {code}", f"at most {most} of 100",
                      f"{count} of {len(aa)}", kept))
    wanted = [("five", "5 %", 1 if idle else 3), ("three", "3 %", 7), ("drift", "1 % a night", 10)]
    for trial, what, night in wanted:
        found, known = found_by(cases, load, trial, night)
        case_nights = sum(int(row["planted_cases"] or 0) for row in of(trial))
        enough = known > 0 and case_nights >= CASE_NIGHTS
        kept = (found >= 0.9 * known) if enough else None
        share = f" ({100 * found / known:.0f} %)" if known else ""
        lines.append((f"{what} slower, found by night {night}", "90 % of 200 case-nights",
                      f"{found} of {known}{share}, {case_nights} case-nights", kept))
        false = sum(int(row["false_found"] or 0) for row in of(trial))
        lines.append(("  other cases found in these nights", "-",
                      f"{false} in {len(of(trial))} nights", True))
    found, known = found_faster(cases, load)
    lines.append(("8 times faster, listed on night 1", "all", f"{found} of {known}",
                  found == known if known else None))
    found, known = found_by(cases, load, "accepted", ACCEPTED_STEPS + 1, is_away_from_pin)
    lines.append(("5 accepted steps of 4 %, against the pin", "all", f"{found} of {known}",
                  found == known if known else None))
    return lines


def report(trials):
    loads = sorted({row["load"] for row in trials.nights.rows})
    if not loads:
        print("no night has been measured yet")
        return 5
    worst = 0
    for load in loads:
        rows = [row for row in trials.nights.rows if row["load"] == load]
        counted = [row for row in rows if row["counts"] == "1"]
        others = [float(row["other_load"]) for row in counted if row["other_load"]]
        median = sorted(others)[len(others) // 2] if others else 0.0
        print(f"{load}: {len(counted)} nights that count, {len(rows) - len(counted)} that do not; "
              f"others' load {median:.2f} (median), {max(others, default=0):.2f} at most")
        for what, limit, measured, kept in rates(trials.nights.rows, trials.cases.rows, load):
            verdict = {True: "kept", False: "MISSED", None: "not enough nights"}[kept]
            print(f"  {what:40} {limit:26} {measured:38} {verdict}")
            worst = max(worst, {True: 0, None: 1, False: 2}[kept])
    for load in {"idle", "load2"} - set(loads):
        print(f"{load}: nothing was measured")
        worst = max(worst, 1)
    return (0, 5, 1)[worst]


def plan(trials, names):
    """Prints how many nights are left and how long they will take."""
    options = trials.options
    seconds = [float(row["seconds"]) for row in trials.nights.rows
               if row["load"] == label(options) and row["seconds"]]
    each = sorted(seconds)[len(seconds) // 2] if seconds else options.seconds
    left = {}
    for name in names:
        sequences, nights = nights_of(name, options)
        left[name] = sum(max(0, nights - len(trials.done(name, s))) for s in range(sequences))
        history = "slowed" if name == "faster" else "history"
        left[history] = max(0, options.history_nights - len(trials.done(history, 0)))
    for name, nights in sorted(left.items()):
        print(f"{name:8} {nights:5} nights {nights * each / 60:8.1f} minutes")
    source = "measured" if seconds else "assumed; --seconds changes it"
    print(f"{'all':8} {sum(left.values()):5} nights {sum(left.values()) * each / 60:8.1f} minutes "
          f"at {each:.1f} s a night ({source})")


def default_build():
    for name in ("dev", "host"):
        if (ROOT / "build" / name / "bin" / "plumbline").exists():
            return ROOT / "build" / name
    return ROOT / "build" / "dev"


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="+", choices=[*TRIALS, "report"], metavar="TRIAL",
                        help=", ".join(TRIALS) + " or report")
    parser.add_argument("--directory", type=pathlib.Path, required=True,
                        help="where the nights are kept; to go on, name it again")
    parser.add_argument("--load", type=int, default=0, metavar="N",
                        help="N busy loops a core run beside each night (default: none, idle)")
    parser.add_argument("--any-load", action="store_true",
                        help="count nights of a machine that is not idle, too")
    parser.add_argument("--build", type=pathlib.Path, default=default_build(),
                        help="the build whose plumbline and planted provider run")
    parser.add_argument("--suite", action="append", type=pathlib.Path,
                        help="a suite to run instead of cases/timed.toml; may be repeated")
    parser.add_argument("--history-nights", type=int, default=10,
                        help="nights without planted changes before any trial (default 10)")
    parser.add_argument("--nights", type=int, help="number of nights of aa (default 100)")
    parser.add_argument("--parts", type=int, default=5,
                        help="number of parts of the cases; one has planted changes (default 5)")
    parser.add_argument("--sequences", type=int,
                        help="copies of the history per trial (default: --parts)")
    parser.add_argument("--expected-cases", type=int, default=35,
                        help="timed cases of the suite, which determine how often five is "
                             "repeated (default 35)")
    parser.add_argument("--seconds", type=float, default=15,
                        help="seconds a night that --plan assumes if none is measured (default 15)")
    parser.add_argument("--plan", action="store_true", help="print how long trials take, and exit")
    parser.add_argument("--keep", action="store_true", help="keep the databases of planted nights")
    options = parser.parse_args()
    options.directory = options.directory.resolve()
    options.build = options.build.resolve()
    options.suite = [path.resolve() for path in options.suite or [ROOT / "cases" / "timed.toml"]]
    options.plumbline = options.build / "bin" / "plumbline"
    options.planted = options.build / "tests" / "planted" / "plumbline_planted_cpu.so"
    if min(options.parts, options.history_nights) < 1 or options.load < 0:
        parser.error("--parts and --history-nights are at least 1, --load at least 0")
    if options.trials != ["report"] and not options.plan:
        for path in (options.plumbline, options.planted, *options.suite):
            if not path.is_file():
                parser.error(f"{path} is missing; remedy: cmake --build {options.build} --target "
                             "plumbline plumbline-worker plumbline_planted_cpu, or name another "
                             "--build or --suite")
    return options


def main():
    options = read_options()
    names = [name for name in options.trials if name != "report"]
    trials = Trials(options)
    if options.plan:
        plan(trials, names or TRIALS)
        return 0
    with busy_loops(options.load if names else 0):
        for name in names:
            trials.run(name)
    return report(trials) if "report" in options.trials else 0


if __name__ == "__main__":
    sys.exit(main())
