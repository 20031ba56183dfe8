#!/usr/bin/env python3
"""Builds a year of nights and measures what queries and commands on it cost.

  ci/year_of_nights.py [--cases 2700] [--nights 365] [--series 10000] [--dir DIR] [--plumbline FILE]

The cases are those of a small real run (cases/smoke.toml and sixteen timed ones), repeated with
other seeds. Each night has all of them, with noise in the times, a new build with other bits every
30 nights, failures that come, stay and go, and accepted, pinned and acknowledged cases. A second
file has --series timed series over 60 nights, for judging.

Measures the processor time of plumbline's process, including its start: each named query, the
newest outcome of one case, judging, merging one more night twice (the second merge must leave the
file unchanged, byte for byte) and pruning. Prints a table and exits with 1 if a limit is missed. A
year takes about 2 GB under --dir and several minutes. The default of --dir is a temporary
directory; files in --dir stay and are not built again.
"""
import argparse
import ctypes
import ctypes.util
import hashlib
import json
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from datetime import datetime, timedelta
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
LAST_NIGHT = datetime(2026, 11, 20, 2, 17)
NIGHTS_PER_BUILD = 30
JUDGED_NIGHTS = 60
# Seconds of processor time.
QUERY_LIMIT, LATEST_LIMIT, JUDGE_LIMIT, MERGE_LIMIT = 1.0, 0.02, 2.0, 1.0

TIMED_SUITE = """\
schema = 1
name = "timed"
description = "Sixteen timed cases that take no time"
tier = "nightly"
defaults = { heads = 2, head_dim = 32, seq = 64 }

[[group]]
name = "timed"
reason = "series of times"
kernels = ["cpu/flash", "cpu/flash_p32"]
timed = true
product.dtype = ["bf16", "fp16"]
product.mask = ["none", "causal_bottom_right"]
product.law = ["normal", "uniform"]

[[group]]
name = "untimed"
reason = "cases beside them"
kernels = ["cpu/naive"]
product = { dtype = ["bf16", "fp16"], mask = ["none", "causal_bottom_right"] }
"""


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def key_function():
    """Returns a function from a text to its XXH3-128, a key as in harness/store/keys.cc."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        sys.exit("ci/year_of_nights.py: libxxhash is missing; remedy: ci/setup.sh")
    xxh3 = ctypes.CDLL(name).XXH3_128bits
    xxh3.restype, xxh3.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]

    def key(text: str) -> bytes:
        data = text.encode()
        hashed = xxh3(data, len(data))
        return hashed.high.to_bytes(8, "big") + hashed.low.to_bytes(8, "big")
    return key


def columns(db: sqlite3.Connection, table: str) -> list:
    return [row[1] for row in db.execute(f"PRAGMA main.table_info({table})")]


def copy_rows(db: sqlite3.Connection, table: str, source: str, replaced: dict) -> None:
    """Inserts all rows of `source` into `table`, which has the same columns. `replaced` maps a
    column to the SQL of its new value."""
    names = columns(db, table)
    values = ", ".join(replaced.get(name, f"s.{name}") for name in names)
    db.execute(f"INSERT INTO main.{table}({', '.join(names)}) SELECT {values} FROM {source} AS s")


class Year:
    """A database with some nights of a base run's cases."""

    OF_RUN = ("diff", "suite_score", "invariance", "kernel_resources")

    def __init__(self, base: Path, path: Path, cases: int, timed_only: bool):
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        self.db = sqlite3.connect(path, isolation_level=None)
        with sqlite3.connect(base) as source:
            source.backup(self.db)
        self.random = random.Random(1)
        self.db.create_function("key", 1, key_function())
        self.db.create_function("noise", 0, lambda: 1 + 0.02 * self.random.gauss(0, 1))
        for pragma in ("journal_mode = MEMORY", "synchronous = OFF", "cache_size = -800000",
                       "foreign_keys = OFF", "temp_store = MEMORY"):
            self.db.execute(f"PRAGMA {pragma}")
        # Created at the end, because updating indexes and triggers per row takes ten times as long.
        self.later = [row for row in self.db.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'outcome'"
            " AND type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type")]
        for kind, name, _ in self.later:
            self.db.execute(f"DROP {kind} {name}")
        self.db.execute("BEGIN")
        self.make_templates(cases, "WHERE timed" if timed_only else "")

    def make_templates(self, cases: int, where: str) -> None:
        db = self.db
        db.execute(f"CREATE TEMP TABLE base AS SELECT * FROM outcome {where} ORDER BY rowid")
        db.execute("CREATE TEMP TABLE template AS SELECT * FROM base")
        there = db.execute("SELECT count(*) FROM base").fetchone()[0]
        seed = 1000
        while there < cases:
            seed += 1
            clone = (f"SELECT c.* FROM attention_case AS c WHERE instr(c.case_id, '/seed=') = 0 AND"
                     f" c.case_key IN (SELECT case_key FROM base LIMIT {cases - there})")
            text = f"s.case_id || '/seed={seed}'"
            copy_rows(db, "attention_case", f"({clone})",
                      {"case_key": f"key({text})", "series_key": f"key({text})", "case_id": text,
                       "seed": str(seed)})
            before = there
            db.execute(f"""INSERT INTO template SELECT {', '.join(
                f"key(c.case_id || '/seed={seed}')" if name in ('case_key', 'series_key')
                else 'b.' + name for name in self.names_of('base'))}
              FROM base AS b JOIN attention_case AS c USING (case_key)
              WHERE instr(c.case_id, '/seed=') = 0 ORDER BY b.rowid LIMIT {cases - there}""")
            there = db.execute("SELECT count(*) FROM template").fetchone()[0]
            if there == before:
                sys.exit("ci/year_of_nights.py: the base run has no case without a seed")
        run = db.execute("SELECT run_id FROM run ORDER BY run_order DESC LIMIT 1").fetchone()
        for table in self.OF_RUN:
            db.execute(f"CREATE TEMP TABLE base_{table} AS SELECT * FROM {table}")
        db.execute("CREATE TEMP TABLE base_run AS SELECT * FROM run WHERE run_id = ?", run)
        db.execute("CREATE TEMP TABLE base_build AS SELECT * FROM build")
        for table in ("outcome", "latest_outcome", "run_change", *self.OF_RUN, "run"):
            db.execute(f"DELETE FROM main.{table}")

    def names_of(self, table: str) -> list:
        return [row[1] for row in self.db.execute(f"PRAGMA temp.table_info({table})")]

    def add_night(self, night: int, nights: int) -> None:
        """Adds night number `night`; the last of `nights` is LAST_NIGHT."""
        db = self.db
        when = LAST_NIGHT - timedelta(days=nights - 1 - night)
        iso, name = when.strftime("%Y-%m-%dT%H:%M:%SZ"), when.strftime("%Y-%m-%d")
        run = str(uuid.UUID(int=random.Random(night).getrandbits(128)))
        order = f"{iso[:-1]}.000000000 {int(when.timestamp() * 1e9):020d} {run}"
        build = night // NIGHTS_PER_BUILD
        copy_rows(db, "run", "base_run", {
            "run_id": f"'{run}'", "run_order": f"'{order}'", "started_at": f"'{iso}'",
            "finished_at": f"'{iso}'", "exit_code": "0", "complete": "1", "purpose": "'nightly'",
            "code_commit": f"'{night // 3:07x}'", "night_id": f"'{name}'"})
        if night % NIGHTS_PER_BUILD == 0 or self.db.execute(
                "SELECT count(*) FROM build WHERE build_id GLOB ?", (f"*+{build}",)
        ).fetchone()[0] == 0:
            copy_rows(db, "build", "base_build", {
                "build_key": f"key(hex(s.build_key) || '{build}')",
                "build_id": f"s.build_id || '+{build}'"})
        # One case fails all year, three in the last 40 nights, others now and then.
        fails = (f"s.status = 'ok' AND (s.rowid = 7 OR s.rowid IN (3, 4, 5) AND"
                 f" {night} >= {nights - 40} OR (s.rowid * 48271 + {night} * 40503) % 10007 = 0)")
        verdict = ("first_seen" if night == 0 else "changed" if night % NIGHTS_PER_BUILD == 0
                   else "pass")
        slower = f"CASE WHEN s.rowid = 2 AND {night} >= {nights - 40} THEN 1.05 ELSE 1 END"
        copy_rows(db, "outcome", "template", {
            "run_id": f"'{run}'", "run_order": f"'{order}'",
            "build_key": f"key(hex(s.build_key) || '{build}')",
            "output_digest": f"CASE s.output_digest WHEN '' THEN '' ELSE"
                             f" printf('%02x', {build}) || substr(s.output_digest, 3) END",
            "rms": f"s.rms * (1 + 0.01 * {build % 3})",
            "time_ratio": f"CASE WHEN s.timed THEN s.time_ratio * noise() * {slower} END",
            "verdict": f"CASE WHEN {fails} THEN 'fail' WHEN s.status = 'ok' THEN '{verdict}'"
                       " ELSE s.verdict END"})
        for table in self.OF_RUN:
            copy_rows(db, table, f"base_{table}", {"run_id": f"'{run}'"})
        for kind, hour in (("opened", "02"), ("closed", "04")):
            db.execute("INSERT INTO night_event VALUES (key(?), ?, ?, ?, 'ci', '')",
                       (f"{kind} {name}", name, kind, f"{name}T{hour}:00:00Z"))
        db.execute("INSERT INTO night_times SELECT run_id, machine_key, 100, 0.001, 0.01, 0, '', 3,"
                   " 2, 0, 0.01, 5, 0, 0.4 FROM run WHERE run_id = ?", (run,))
        self.decide(night, nights, run, iso)

    def decide(self, night: int, nights: int, run: str, iso: str) -> None:
        """Adds the users' decisions: two accepted failures, a pin, an acknowledgement."""
        said = {nights // 3: ("pin", "rowid < 200"), nights // 4: ("accept", "rowid = 7"),
                nights - 30: ("accept", "rowid = 3"),
                nights - 2: ("acknowledgement", "rowid = 4")}.get(night)
        if said is None:
            return
        table, which = said
        of_cases = {"pin": "pinned_case", "accept": "accepted_case",
                    "acknowledgement": "acknowledged_case"}[table]
        until = ", ''" if table == "acknowledgement" else ""
        text = f"{table} {run}"
        self.db.execute(f"INSERT INTO {table} VALUES (key(?), ?, '*', 'Ada', 'seen', ?{until})",
                        (text, run, iso))
        self.db.execute(f"INSERT OR IGNORE INTO {of_cases}(run_id, case_key, {table}_key)"
                        f" SELECT ?, case_key, key(?) FROM template WHERE {which}", (run, text))

    def close(self) -> int:
        db = self.db
        db.execute("COMMIT")
        for kind, _, sql in self.later:
            if kind == "index":
                db.execute(sql)
        db.execute("INSERT INTO latest_outcome(series_key, machine_key, provider_options, suite,"
                   " case_key, run_order, run_id) SELECT series_key, machine_key, provider_options,"
                   " suite, case_key, max(run_order), run_id FROM outcome GROUP BY 1, 2, 3, 4, 5")
        for kind, _, sql in self.later:
            if kind == "trigger":
                db.execute(sql)
        count = db.execute("SELECT count(*) FROM outcome").fetchone()[0]
        db.execute("PRAGMA journal_mode = wal")
        db.close()
        return count


def build(base: Path, path: Path, cases: int, nights: range, of: int, timed_only=False) -> None:
    if path.exists():
        return
    partial = path.with_suffix(".partial")
    year = Year(base, partial, cases, timed_only)
    for night in nights:
        year.add_night(night, of)
    count = year.close()
    partial.rename(path)
    print(f"{path.name}: {count} outcomes, {path.stat().st_size / 1e6:.0f} MB", flush=True)


class Measuring:
    def __init__(self, plumbline: Path, limits: bool):
        self.plumbline, self.limits, self.missed = str(plumbline), limits, 0

    def seconds(self, *arguments, codes=(0,)) -> tuple:
        """Returns the processor time of one plumbline process, and its output."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([self.plumbline, *map(str, arguments)], capture_output=True,
                              text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in codes:
            sys.exit(f"plumbline {' '.join(map(str, arguments))} exited {done.returncode}:\n"
                     f"{done.stderr[-2000:]}")
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout

    def add(self, what: str, seconds: float, limit=None, more="") -> None:
        over = limit is not None and seconds > limit
        self.missed += over and self.limits
        bound = "" if limit is None else f"{limit:8.2f}"
        print(f"{what:44} {seconds:8.3f} {bound:>8} {'MISSED' if over else '':6} {more}",
              flush=True)

    def check(self, what: str, holds: bool) -> None:
        self.missed += not holds
        print(f"{what:44} {'yes' if holds else 'NO':>8} {'':8} {'' if holds else 'MISSED'}",
              flush=True)


def measure_queries(measuring: Measuring, year: Path) -> None:
    start = min(measuring.seconds("query", "SELECT 1", "--db", year)[0] for _ in range(5))
    measuring.add("query: start of the process", start)
    listed = measuring.seconds("query", "--list")[1]
    for line in listed.splitlines():
        name = line.split()[0]
        seconds, out = measuring.seconds("query", name, "--db", year, "--format", "csv")
        measuring.add(f"query {name}", seconds, QUERY_LIMIT, f"{len(out.splitlines()) - 1} rows")
    with sqlite3.connect(f"file:{year}?mode=ro", uri=True) as db:
        case = db.execute("SELECT case_id FROM attention_case ORDER BY case_key LIMIT 1").fetchone()
    for what, sql, limit, least in (
            ("v_latest of one case", f"SELECT * FROM v_latest WHERE case_id = '{case[0]}'",
             LATEST_LIMIT, start),
            ("v_latest", "SELECT case_id, verdict, rms FROM v_latest", QUERY_LIMIT, 0),
            ("v_history of one case", f"SELECT * FROM v_history WHERE case_id = '{case[0]}'",
             QUERY_LIMIT, 0),
            ("v_regressions", "SELECT count(failing_since), count(previous_run_id)"
             " FROM v_regressions", QUERY_LIMIT, 0),
            ("v_coverage", "SELECT * FROM v_coverage", QUERY_LIMIT, 0),
            ("v_runs", "SELECT * FROM v_runs", QUERY_LIMIT, 0)):
        seconds = min(measuring.seconds("query", sql, "--db", year, "--format", "csv")[0]
                      for _ in range(3))
        measuring.add(what, max(0, seconds - least), limit,
                      "without the start of the process" if least else "")


def digest(path: Path) -> str:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def measure_merging(measuring: Measuring, year: Path, night: Path) -> None:
    seconds, _ = measuring.seconds("merge", year, night)
    measuring.add("merge of one more night", seconds, MERGE_LIMIT)
    once = digest(year)
    seconds, _ = measuring.seconds("merge", year, night)
    measuring.add("merge of the same night again", seconds, MERGE_LIMIT)
    measuring.check("... which changes no byte of the file", digest(year) == once)


def measure_pruning(measuring: Measuring, year: Path, nights: int) -> None:
    kept_sql = {
        "failures": "SELECT count(*) FROM v_history WHERE is_failure",
        "pinned": "SELECT count(*) FROM v_pinned AS p JOIN v_history AS h"
                  " ON h.case_id = p.case_id AND h.run_id = p.run_id",
        "accepted": "SELECT count(*) FROM v_accepted AS p JOIN v_history AS h"
                    " ON h.case_id = p.case_id AND h.run_id = p.run_id",
        "other bits": "SELECT count(*) FROM v_history WHERE verdict = 'changed'"}

    def counts() -> dict:
        with sqlite3.connect(f"file:{year}?mode=ro", uri=True) as db:
            return {name: db.execute(sql).fetchone()[0] for name, sql in kept_sql.items()}
    before = counts()
    seconds, out = measuring.seconds("prune", year, "--nights", nights, "--format", "json")
    told = json.loads(out)["data"]
    measuring.add(f"prune to {nights} nights", seconds, None,
                  f"{told['outcomes_deleted']} of {told['outcomes_before']} outcomes deleted")
    for name, count in counts().items():
        measuring.check(f"... keeps {name} ({before[name]})", count == before[name])
    again = json.loads(measuring.seconds("prune", year, "--nights", nights, "--format",
                                         "json")[1])["data"]
    measuring.check("... and pruning again deletes nothing", again["outcomes_deleted"] == 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2700, help="cases per night (default: 2700)")
    parser.add_argument("--nights", type=int, default=365, help="number of nights (default: 365)")
    parser.add_argument("--series", type=int, default=10000,
                        help="timed series that are judged (default: 10000)")
    parser.add_argument("--dir", type=Path, help="folder that keeps the files")
    parser.add_argument("--no-limits", action="store_true",
                        help="report times over their limits without failing, for a small year on"
                        " a busy machine")
    parser.add_argument("--plumbline", type=Path,
                        default=SOURCE / "build" / "host" / "bin" / "plumbline")
    options = parser.parse_args()
    if options.nights < 2 or options.cases < 10 or options.series < 10:
        parser.error("at least 2 nights, 10 cases and 10 series are needed")
    if not options.plumbline.exists():
        parser.error(f"{options.plumbline} does not exist; remedy: build it, or name another file"
                     " with --plumbline")
    folder = options.dir or Path(tempfile.mkdtemp(prefix="plumbline-year-"))
    folder.mkdir(parents=True, exist_ok=True)
    measuring = Measuring(options.plumbline, not options.no_limits)
    try:
        base = folder / "base.db"
        if not base.exists():
            suite = folder / "timed.toml"
            suite.write_text(TIMED_SUITE, encoding="utf-8")
            suites = [suite] if options.cases < 300 else [suite, SOURCE / "cases" / "smoke.toml"]
            measuring.seconds("run", *suites, "--db", base, "--quiet", "--repetitions", 3,
                              codes=(0, 1, 5))
        year, night, series = (folder / f"{name}.db" for name in ("year", "night", "series"))
        nights = options.nights
        build(base, folder / "asked.db", options.cases, range(nights), nights)
        shutil.copyfile(folder / "asked.db", year)
        night.unlink(missing_ok=True)
        build(base, night, options.cases, range(nights, nights + 1), nights)
        build(base, series, options.series, range(min(nights, JUDGED_NIGHTS)),
              min(nights, JUDGED_NIGHTS), timed_only=True)
        print(f"\n{'processor time':44} {'seconds':>8} {'limit':>8}")
        measure_queries(measuring, year)
        seconds, _ = measuring.seconds("judge", "latest", "--db", year, codes=(0, 1, 5))
        measuring.add(f"judge of a night, {options.cases} cases", seconds, JUDGE_LIMIT)
        seconds, _ = measuring.seconds("judge", "latest", "--db", series, codes=(0, 1, 5))
        measuring.add(f"judge of {options.series} timed series", seconds, JUDGE_LIMIT)
        measure_merging(measuring, year, night)
        measure_pruning(measuring, year, min(JUDGED_NIGHTS, nights // 2))
    finally:
        if options.dir is None:
            shutil.rmtree(folder, ignore_errors=True)
    if measuring.missed:
        print(f"\n{measuring.missed} limits or checks missed")
    return 1 if measuring.missed else 0


if __name__ == "__main__":
    sys.exit(main())
