#!/usr/bin/env python3
"""Writes the dump of the present schema anew from an older dump, before anything is released.

    tests/store/releases/rewrite.py tests/store/releases/schema_14.sql

Tables and columns are those of baselines/schema.sql; rows are those of the old dump. A column that
the dump lacks gets the value below or, where there is none, NULL or the least its type allows. A
table that it lacks gets one row from below, so that the migration test reads a row of every table.
"""
import re
import sqlite3
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
VALUES = {"time_rounds": '[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]',
          "fresh_ratios": "[2.0]", "calls": 3, "night_id": "2026-11-22",
          "error_histogram": bytes(4 * 41),
          "spre_ratios": bytes(4 * 32), "error_map_rows": 1, "error_map_columns": 2,
          "error_map": b"\x41\x42", "standing": "fine", "planned_cases": 2, "clock_behind_s": 0}
KEY = bytes(range(16))
# What outcomes copy from elsewhere; triggers fill latest_outcome.
COPIES = {"series_key": "SELECT series_key FROM attention_case WHERE case_key = :case_key",
          "run_order": "SELECT run_order FROM run WHERE run_id = :run_id"}


def new_rows(db: sqlite3.Connection) -> dict:
    run, machine = db.execute("SELECT run_id, machine_key FROM run LIMIT 1").fetchone()
    case = db.execute("SELECT case_key FROM outcome LIMIT 1").fetchone()[0]
    return {
        "night_event": (KEY, "2026-11-22", "opened", "2026-11-22T00:00:00Z", "me", ""),
        "night_times": (run, machine, 1, 0.0, 0.01, 0, "", 3, 0, 0, 0.0, 0, 0, 0.5),
        "acknowledgement": (KEY, run, "*", "me", "known", "2026-11-22T00:00:00Z", ""),
        "acknowledged_case": (run, case, KEY),
        "run_state": (0, "fine", 4),
    }


def main() -> None:
    out = Path(sys.argv[1])
    old_path = sorted(out.parent.glob("schema_*.sql"), key=lambda p: int(p.stem.split("_")[1]))[-1]
    old = sqlite3.connect(":memory:")
    old.executescript(re.sub(r"PRAGMA [^;]*;", "", old_path.read_text(encoding="utf-8")))
    schema = (REPOSITORY / "baselines/schema.sql").read_text(encoding="utf-8")
    number = re.search(r"PRAGMA user_version = (\d+);", schema).group(1)
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(schema + "PRAGMA foreign_keys = OFF;")
    known = {row[0] for row in old.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    tables = [row[0] for row in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    for table in tables:
        if table not in known or table == "latest_outcome":
            continue
        columns = [(row[1], row[3]) for row in db.execute(f"PRAGMA table_info({table})")]
        there = {row[1] for row in old.execute(f"PRAGMA table_info({table})")}
        lacking = [name for name, _ in columns if name not in there]
        defaults = {name: VALUES.get(name, "" if needed else None) for name, needed in columns}
        kept = [name for name, _ in columns if name in there]
        for row in old.execute(f"SELECT {', '.join(kept)} FROM {table}"):
            values = dict(zip(kept, row)) | {name: defaults[name] for name in lacking}
            if table == "outcome":
                values |= {name: old.execute(sql, values).fetchone()[0]
                           for name, sql in COPIES.items()}
            names = [name for name, _ in columns]
            db.execute(f"INSERT INTO {table}({', '.join(names)})"
                       f" VALUES ({', '.join('?' * len(names))})", [values[n] for n in names])
    db.execute("UPDATE meta SET value = '' WHERE key = 'views'")  # the dump has none: they are made
    for table, row in new_rows(db).items():
        if not db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    lines = ["PRAGMA foreign_keys=OFF;", *db.iterdump(),
             f"PRAGMA application_id = 1886154082; PRAGMA user_version = {number};"]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
