#!/usr/bin/env python3
"""Runs legal kernels with many seeds, one seed of one suite at a time, and sums the results.

Half of the runs come from cases/sweeps.toml, the others from cases/calibrate.toml. Each finished
seed leaves a JSON file, so an interrupted run continues where it stopped. Fails if a legal kernel
was flagged, a case was not measured, or more sums over a suite exceed their limit than the 99 %
interval of their expectation allows.

    evidence/calibrate.py --runs 1000000 --first-seed 20000 --folder out/calibrate
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ("sweeps", "calibrate")
LIMIT = 3.5  # |sum of scores| / sqrt(variance) is normal for a legal kernel


def measured(plumbline, folder, suite, seed):
    """Returns the report of a suite with one seed, from its file if that exists."""
    path = folder / f"{suite}-{seed}.json"
    if not path.exists():
        command = [plumbline, "audit", "--calibrate", str(ROOT / "cases" / f"{suite}.toml"),
                   "--seeds", f"{seed}..{seed}", "--format", "json", "-q",
                   "--baselines", str(ROOT / "baselines")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        part = path.with_suffix(".part")
        part.write_text(done.stdout)
        part.rename(path)
    return json.loads(path.read_text())["data"]


def max_alarms(sums):
    """Returns the upper end of the 99 % interval for the number of sums beyond the limit."""
    p = math.erfc(LIMIT / math.sqrt(2))
    count, tail = 0, 1 - (1 - p) ** sums
    term = (1 - p) ** sums
    while tail > 0.005:
        count += 1
        term *= (sums - count + 1) / count * p / (1 - p)
        tail -= term
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default="build/ci/bin/plumbline")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("out/calibrate"))
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--first-seed", type=int, default=20_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    runs = dict.fromkeys(SUITES, 0)
    seeds = dict.fromkeys(SUITES, options.first_seed)
    alarms, flagged, not_measured, sums, suite_alarms = [], 0, 0, 0, 0
    started, before = time.monotonic(), None
    while sum(runs.values()) < options.runs:
        suite = min(SUITES, key=runs.get)
        report = measured(options.plumbline, options.folder, suite, seeds[suite])
        seeds[suite] += 1
        runs[suite] += report["runs"]
        sums += report["suite_sums"]
        suite_alarms += report["suite_alarms"]
        not_measured += report["not_measured"]
        flagged += report["false_alarms"]
        alarms += report["alarms"]
        done = sum(runs.values())
        before = done if before is None else before
        left = (options.runs - done) * (time.monotonic() - started) / max(1, done - before)
        print(f"{done:,} of {options.runs:,} runs, {flagged} flagged, {suite_alarms} of "
              f"{sums} sums beyond the limit; about {left / 60:.0f} min left", flush=True)
    print(f"runs: {runs}; sums beyond {LIMIT}: {suite_alarms} of {sums}, at most "
          f"{max_alarms(sums)} expected; not measured: {not_measured}")
    print("\n".join(alarms))
    return 1 if not_measured or flagged or suite_alarms > max_alarms(sums) else 0


if __name__ == "__main__":
    sys.exit(main())
