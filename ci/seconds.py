#!/usr/bin/env python3
"""Compares the processor seconds of build steps and tests with those in ci/seconds.csv.

A build with PLUMBLINE_SECONDS (preset ci) writes seconds.log while it builds and tests;
ci/cmake/measure_seconds.c defines the format. This script writes seconds.csv next to it, with every
step and test. The committed file has those above 1 s; tests in it do not get the label `quick`.

  ci/seconds.py --build build/ci            exit 1 if a step or test takes over 5 s and over twice
                                            its committed figure; lists slow ones without a figure.
                                            If the median test is slower here, the limit rises by
                                            the same factor, up to 1.5. The unity files of a
                                            target share the figure of the slowest, because
                                            a new source renumbers them
  ci/seconds.py --build build/ci --accept   writes the figures of this build to ci/seconds.csv

--accept keeps the figures of steps that came from the compiler cache, and of steps and tests that
did not run but still exist. Measure new steps with a cold cache: CCACHE_RECACHE=1 ci/test.sh.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "ci" / "seconds.csv"
HEADER = ["kind", "name", "processor_seconds"]
NOTICED = 5.0  # seconds; shorter steps and tests are never too slow
FACTOR = 2.0  # on two shared cores, figures of equal runs differ by a third
# This machine's slowness is the median of measured / committed seconds, at most SLOWNESS_LIMIT. It
# includes only tests of at least SLOWNESS_SECONDS, and is 1 for fewer than SLOWNESS_TESTS tests.
SLOWNESS_TESTS, SLOWNESS_SECONDS, SLOWNESS_LIMIT = 20, 2.0, 1.5
SMALLEST = 1.0  # seconds; the committed file has no smaller figures
# Seconds, and a share of the committed figure: a step below both came from the compiler cache.
FROM_CACHE = 0.5, 0.2
SHOWN = 6
UNITY_FILE = re.compile(r"(.*/Unity/unity_)\d+(_\w+\.\w+\.o)")


class SecondsError(Exception):
    """An error in a file, with its line and a remedy."""


def read_log(path, build):
    """Returns {(kind, name): seconds} of the last run of each step and test. Build steps are named
    by their outputs relative to the build directory, which are the same in every clone."""
    runs = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            kind, group, seconds, name = line.split("\t")
            if kind not in ("build", "test"):
                raise ValueError
            seconds = float(seconds)
        except ValueError:
            raise SecondsError(f"{path}:{number}: not a line of measure_seconds: {line!r}; "
                               "remedy: delete the file, then build and test again") from None
        if kind == "build":
            name = os.path.relpath(os.path.normpath(name), build)
        before = runs.get((kind, name))
        # A build step may have several commands, a test has one.
        same_step = kind == "build" and before is not None and before[0] == group
        runs[kind, name] = (group, seconds + (before[1] if same_step else 0.0))
    return {key: seconds for key, (_, seconds) in runs.items()}


def read_table(path):
    """Returns {(kind, name): seconds} from a file in the format of ci/seconds.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if not rows or rows[0] != HEADER:
        raise SecondsError(f"{path}:1: the first line is not {','.join(HEADER)}")
    figures = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            kind, name, seconds = row
            figures[kind, name] = float(seconds)
        except ValueError:
            raise SecondsError(f"{path}:{number}: not {','.join(HEADER)}: "
                               f"{','.join(row)}") from None
    return figures


def write_table(path, figures, header=HEADER):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for (kind, name), seconds in sorted(figures.items()):
            writer.writerow([kind, name, f"{seconds:.1f}"])


def figure_name(name):
    """Returns the name of a step's figure: a target's unity files have one name, with a *."""
    match = UNITY_FILE.fullmatch(name)
    return f"{match[1]}*{match[2]}" if match else name


def by_figure(measured):
    """Returns the slowest step of each figure."""
    figures = {}
    for (kind, name), seconds in measured.items():
        key = kind, figure_name(name)
        figures[key] = max(seconds, figures.get(key, 0.0))
    return figures


def slowness(measured, committed):
    """Returns this machine's slowness: the median of measured / committed time, 1 to 1.5."""
    ratios = [seconds / committed[key] for key, seconds in measured.items()
              if key[0] == "test" and committed.get(key, 0.0) >= SLOWNESS_SECONDS]
    if len(ratios) < SLOWNESS_TESTS:
        return 1.0
    return min(max(statistics.median(ratios), 1.0), SLOWNESS_LIMIT)


def too_slow(measured, committed):
    """Returns [(kind, name), seconds, figure] of steps and tests above both limits, slowest
    first."""
    factor = FACTOR * slowness(measured, committed)
    found = [(key, seconds, committed[key]) for key, seconds in measured.items()
             if key in committed and seconds > NOTICED and seconds > factor * committed[key]]
    return sorted(found, key=lambda row: -row[1])


def without_figure(measured, committed):
    """Returns [(kind, name), seconds] of steps and tests over 5 s without a committed
    figure, slowest first."""
    found = [(key, seconds) for key, seconds in measured.items()
             if key not in committed and seconds > NOTICED]
    return sorted(found, key=lambda row: -row[1])


def existing(build):
    """Returns a function that returns true if a build still has a step or a test."""
    ninja = build / "build.ninja"
    outputs = set()
    if ninja.is_file():
        for line in ninja.read_text(encoding="utf-8").splitlines():
            if line.startswith("build "):
                outputs.update(figure_name(os.path.relpath(os.path.normpath(build / word), build))
                               for word in line[len("build "):].split(":")[0].split())
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                           capture_output=True, text=True, check=False).stdout
    try:
        tests = {test["name"] for test in json.loads(shown)["tests"]} or None
    except (json.JSONDecodeError, KeyError):
        tests = None

    def exists(key):
        kind, name = key
        if kind == "build":
            return name in outputs
        return tests is None or name in tests  # None: the tests are unknown, so none is dropped
    return exists


def accepted(measured, committed, exists):
    """Returns the figures to commit."""
    figures = {key: seconds for key, seconds in committed.items()
               if key not in measured and exists(key)}
    for key, seconds in measured.items():
        figure = committed.get(key, 0.0)
        least, share = FROM_CACHE
        if key[0] == "build" and seconds < least and seconds < share * figure:
            seconds = figure
        if seconds > SMALLEST:
            figures[key] = seconds
    return figures


def report(measured, committed, build, name=COMMITTED.name):
    """Returns the lines of the report, and whether something is too slow."""
    def total(kind):
        of_kind = [seconds for key, seconds in measured.items() if key[0] == kind]
        return len(of_kind), sum(of_kind)
    steps, step_seconds = total("build")
    tests, test_seconds = total("test")
    measured = by_figure(measured)
    found = too_slow(measured, committed)
    lines = [f"processor seconds: {step_seconds:.0f} in {steps} build steps, {test_seconds:.0f} in "
             f"{tests} tests; {len(found) or 'none'} over {NOTICED:.0f} s and twice the figure in "
             f"ci/{name}"]
    if (factor := slowness(measured, committed)) > 1:
        lines.append(f"  twice the figure is multiplied by {factor:.2f}, because the median test "
                     "takes longer here")
    for (kind, entry), seconds, figure in found[:SHOWN]:
        lines.append(f"  {kind} {entry}: {seconds:.1f} s, was {figure:.1f} s")
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN} more: see {build}/seconds.csv")
    if found:
        lines.append(f"  remedy: make the step or test faster, or `ci/seconds.py --build {build} "
                     "--accept` and say in the commit why")
    if new := without_figure(measured, committed):
        (kind, entry), seconds = new[0]
        more = f" and {len(new) - 1} more" if len(new) > 1 else ""
        lines.append(f"  not judged, because no figure is committed: {kind} {entry}: "
                     f"{seconds:.1f} s{more}; next: ci/seconds.py --build {build} --accept")
    return lines, bool(found)


def measure(build):
    """Reads the log of a build and writes all its figures to seconds.csv there."""
    log = build / "seconds.log"
    if not log.is_file():
        raise SecondsError(f"{log} is missing: nothing was measured; remedy: configure with "
                           "-DPLUMBLINE_SECONDS=ON (preset ci), build and test")
    measured = read_log(log, build.resolve())
    write_table(build / "seconds.csv", measured)
    return measured


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory")
    parser.add_argument("--accept", action="store_true", help="rewrite the committed file")
    parser.add_argument("--committed", type=pathlib.Path, default=COMMITTED,
                        help="the file to compare with (default: ci/seconds.csv)")
    arguments = parser.parse_args()
    try:
        measured = measure(arguments.build)
        committed = read_table(arguments.committed)
    except (SecondsError, OSError) as error:
        print(f"ci/seconds.py: {error}", file=sys.stderr)
        return 2
    if arguments.accept:
        figures = accepted(by_figure(measured), committed, existing(arguments.build.resolve()))
        write_table(arguments.committed, figures)
        print(f"{arguments.committed}: {len(figures)} figures, {len(committed)} before")
        return 0
    lines, failed = report(measured, committed, arguments.build, arguments.committed.name)
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
