#!/usr/bin/env python3
"""Extrapolates the cost of a fleet's nights from one night that was measured on this machine.

  evidence/extrapolate.py NIGHT.db [--plumbline FILE] [--architectures 6] [--cases 100000]
      [--gpus 100] [--nights 60]

NIGHT.db is a database of one run or night, such as that of `plumbline run cases/nightly.toml`. Its
bytes per outcome, the processor time to merge and to judge it, and the bytes of its Parquet file
are measured and multiplied; the only assumption is that they grow with the number of outcomes. The
night should be large (2,000 outcomes or more), so that fixed costs weigh little.
Example: evidence/extrapolate.py night.db --plumbline build/host/bin/plumbline
"""
import argparse
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys
import tempfile


def processor_seconds(words, codes=(0,)):
    """Returns the processor time of a command and its descendants, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in codes:
        return None, done.stdout
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def human(amount, unit):
    """Formats 1234567 bytes as "1.23 MB"."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= factor:
            return f"{amount / factor:.3g} {prefix}{unit}"
    return f"{amount:.3g} {unit}"


def duration(seconds):
    for length, name in ((3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.3g} {name}"
    return f"{seconds:.2g} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("night", type=pathlib.Path)
    parser.add_argument("--plumbline", default="plumbline")
    parser.add_argument("--architectures", type=int, default=6)
    parser.add_argument("--cases", type=int, default=100_000, help="per night and architecture")
    parser.add_argument("--gpus", type=int, default=100)
    parser.add_argument("--nights", type=int, default=60, help="number of nights that SQLite keeps")
    options = parser.parse_args()
    if not options.night.is_file():
        print(f"{options.night}: there is no such file\n  remedy: plumbline run cases/nightly.toml "
              f"--db {options.night}", file=sys.stderr)
        return 2
    rows = []  # title, measured, for the fleet, command
    outcomes = options.cases * options.architectures
    with tempfile.TemporaryDirectory() as scratch:
        with sqlite3.connect(f"file:{options.night}?mode=ro", uri=True) as night:
            count, wall_ms = night.execute(
                "SELECT count(*), sum(wall_ms) FROM outcome").fetchone()
        if not count:
            print(f"{options.night}: holds no outcome\n  remedy: name a night's database",
                  file=sys.stderr)
            return 2
        factor = outcomes / count
        out = os.path.join(scratch, "out.db")
        seconds, said = processor_seconds([options.plumbline, "merge", out, options.night])
        if seconds is None:
            print(said, file=sys.stderr)
            return 3
        size = os.path.getsize(out)
        rows.append(("SQLite, a night", human(size, "B"), human(size * factor, "B"),
                     "plumbline merge OUT.db NIGHT.db"))
        rows.append((f"SQLite, {options.nights} nights", "",
                     human(size * factor * options.nights, "B"), "plumbline prune --nights"))
        rows.append(("merging, processor time", duration(seconds), duration(seconds * factor),
                     "plumbline merge OUT.db NIGHT.db"))
        seconds, _ = processor_seconds(
            [options.plumbline, "merge", out, options.night, "--judge"], (0, 1, 3, 4, 5))
        if seconds is not None:
            rows.append(("judging, processor time", duration(seconds), duration(seconds * factor),
                         "plumbline merge … --judge"))
        parquet = os.path.join(scratch, "night.parquet")
        seconds, _ = processor_seconds(
            [options.plumbline, "export", "--db", options.night, "--parquet", parquet])
        if seconds is not None and os.path.exists(parquet):
            size = os.path.getsize(parquet)
            rows.append(("Parquet, a night", human(size, "B"), human(size * factor, "B"),
                         "plumbline export --parquet"))
            rows.append(("Parquet, a year", "", human(size * factor * 365, "B"),
                         "plumbline export --parquet"))
        else:
            rows.append(("Parquet", "not measured", "", "needs pyarrow: ci/setup.sh --python"))
        measuring = wall_ms / 1e3
        rows.append(("measuring, one process", duration(measuring),
                     duration(measuring * factor), "sum of wall_ms"))
        rows.append((f"measuring, on {options.gpus} GPUs", "",
                     duration(measuring * factor / options.gpus), "the same, divided by GPUs"))
    print(f"{count} outcomes measured; {options.architectures} architectures x {options.cases:,} "
          f"cases = {outcomes:,} a night")
    print(f"{'':28} {'measured':>13} {'the fleet':>13}  by")
    for what, measured, fleet, how in rows:
        print(f"{what:28} {measured:>13} {fleet:>13}  {how}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
