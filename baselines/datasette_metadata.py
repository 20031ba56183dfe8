#!/usr/bin/env python3
"""Prints metadata with which Datasette (https://datasette.io) shows a database of runs.

  baselines/datasette_metadata.py history.db > metadata.json
  datasette serve history.db --metadata metadata.json --setting sql_time_limit_ms 20000

baselines/queries become canned queries, and views get descriptions. Tables are private and may
change, so they are hidden.
"""
import argparse
import json
import pathlib
import re
import sqlite3
import sys

HOME = pathlib.Path(__file__).resolve().parent


def comment_before(lines):
    """Returns the text of the comment lines at the end of `lines`."""
    text = []
    for line in reversed(lines):
        if not line.startswith("--"):
            break
        text.insert(0, line[2:].strip())
    return " ".join(text)


def queries():
    found = {}
    for path in sorted((HOME / "queries").glob("*.sql")):
        lines = path.read_text(encoding="utf-8").splitlines()
        comments = [line for line in lines if line.startswith("--")]
        question, more = comments[0][2:].strip(), " ".join(line[2:].strip()
                                                           for line in comments[1:])
        found[re.sub(r"^\d+-", "", path.stem)] = {
            "title": question, "description": more, "sql": "\n".join(lines).rstrip(";\n ")}
    return found


def view_descriptions():
    lines = (HOME / "views.sql").read_text(encoding="utf-8").splitlines()
    return {match.group(1): {"description": comment_before(lines[:at])}
            for at, line in enumerate(lines)
            if (match := re.match(r"CREATE VIEW (v_\w+)", line))}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=pathlib.Path, help="file of runs")
    database = parser.parse_args().database
    if not database.is_file():
        sys.exit(f"datasette_metadata: {database}: no such file; remedy: name a database of runs")
    with sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True) as db:
        tables = [name for (name,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    if "outcome" not in tables:
        sys.exit(f"datasette_metadata: {database}: no database of plumbline's runs")
    metadata = {
        "title": "plumbline",
        "description": "Numerical conformance of attention kernels: runs, verdicts, errors and "
                       "times. The views are the public interface.",
        "databases": {database.stem: {
            "queries": queries(),
            "tables": view_descriptions() | {name: {"hidden": True} for name in tables}}},
    }
    print(json.dumps(metadata, indent=1))


if __name__ == "__main__":
    main()
