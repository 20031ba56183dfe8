#!/usr/bin/env python3
"""Prints the spread of the times in a database, per series and over all series.

    evidence/time_statistics.py DB [--clock ratio|cpu|wall] [--format text|csv] [--least-runs N]

A series is a case on one machine class with the options of its provider. Three spreads are shown,
each a coefficient of variation (standard deviation over mean, in percent):

    between runs    of the gating ratio of each run (or the time by the named clock)
    between rounds  of the rounds of one run, pooled over the runs of the series
    robust          1.4826 median absolute deviations of the runs over their median

A series with fewer runs than --least-runs (3) is left out. Exit codes: 0; 2 the file cannot be
read or has no such series.

Example: evidence/time_statistics.py history.db --format csv > spread.csv"""
import argparse
import collections
import csv
import json
import math
import pathlib
import sqlite3
import statistics
import sys

QUERY = """
    SELECT case_id, machine_class, provider_options, time_ratio, time_cpu_ns, time_ns, time_rounds
    FROM v_history
    WHERE timed AND status = 'ok' ORDER BY run_order"""


def cv(values):
    """Returns standard deviation over mean, in percent; NaN if undefined."""
    mean = statistics.fmean(values) if values else 0
    return 100 * statistics.stdev(values) / mean if len(values) > 1 and mean > 0 else math.nan


def robust_cv(values):
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    return 148.26 * deviation / middle if middle > 0 else math.nan


def pooled(spreads):
    known = [spread for spread in spreads if not math.isnan(spread)]
    return math.sqrt(statistics.fmean(s * s for s in known)) if known else math.nan


def of_round(one, clock):
    """Returns a round's value by the clock: the ratio, or the shortest time in ns; None without
    one."""
    if clock == "ratio":
        return one.get("ratio")
    samples = one.get("kernel_cpu_ns" if clock == "cpu" else "kernel_ns")
    return min(samples) if samples else None


def read(database, clock):
    """Returns {series: (values of its runs, values of the rounds of each run)}."""
    # not "immutable": a run may be writing
    connection = sqlite3.connect(f"{pathlib.Path(database).absolute().as_uri()}?mode=ro", uri=True)
    column = {"ratio": "time_ratio", "cpu": "time_cpu_ns", "wall": "time_ns"}[clock]
    connection.row_factory = sqlite3.Row
    series = collections.defaultdict(lambda: ([], []))
    for row in connection.execute(QUERY):
        if not row[column]:
            continue
        runs, rounds = series[row["case_id"], row["machine_class"], row["provider_options"]]
        runs.append(row[column])
        values = [of_round(one, clock) for one in json.loads(row["time_rounds"])]
        rounds.append([value for value in values if value])
    return series


def statistics_of(series, least_runs):
    rows = []
    for (case_id, _, options), (runs, rounds) in series.items():
        if len(runs) >= least_runs:
            rows.append({"case": case_id + (f" ({options})" if options else ""), "runs": len(runs),
                         "median": statistics.median(runs), "between_runs": cv(runs),
                         "between_rounds": pooled(cv(values) for values in rounds),
                         "robust": robust_cv(runs)})
    return sorted(rows, key=lambda row: -row["between_runs"])


def print_text(rows, clock):
    print(f"{'runs':>5} {'median':>12} {'runs %':>8} {'rounds %':>8} {'robust %':>8}  case")
    for row in rows:
        print(f"{row['runs']:>5} {row['median']:>12.5g} {row['between_runs']:>8.3f} "
              f"{row['between_rounds']:>8.3f} {row['robust']:>8.3f}  {row['case']}")
    spreads = sorted(row["between_runs"] for row in rows)
    ninth = spreads[min(len(spreads) - 1, int(0.9 * len(spreads)))]
    print(f"{len(rows)} series by {clock}: spread between runs {statistics.median(spreads):.3f} % "
          f"in the median, {ninth:.3f} % in the 90th percentile, {spreads[-1]:.3f} % at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", metavar="DB")
    parser.add_argument("--clock", choices=("ratio", "cpu", "wall"), default="ratio")
    parser.add_argument("--format", choices=("text", "csv"), default="text")
    parser.add_argument("--least-runs", type=int, default=3, metavar="N")
    options = parser.parse_args()
    if not pathlib.Path(options.database).is_file():
        print(f"evidence/time_statistics.py: there is no file {options.database}; remedy: name a "
              f"database that `plumbline run --db` wrote", file=sys.stderr)
        return 2
    try:
        rows = statistics_of(read(options.database, options.clock), max(2, options.least_runs))
    except (sqlite3.Error, json.JSONDecodeError) as error:
        print(f"evidence/time_statistics.py: {options.database}: {error}; remedy: name a database "
              f"of this plumbline (any `plumbline` command migrates an older one)", file=sys.stderr)
        return 2
    if not rows:
        print(f"evidence/time_statistics.py: no series of {options.database} was timed in "
              f"{options.least_runs} runs; remedy: run more, or lower --least-runs",
              file=sys.stderr)
        return 2
    if options.format == "csv":
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        print_text(rows, options.clock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
