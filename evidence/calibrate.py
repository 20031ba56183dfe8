#!/usr/bin/env python3
"""Runs legal kernels with many seeds, one seed of one suite at a time, and sums the results.

Half of the runs come from cases/sweeps.toml, the others from cases/calibrate.toml. Each half runs
plumbline's own legal kernels and those of each --provider equally often. Each finished seed leaves
a JSON file with its program: version, judge, reference, commit, and a digest of the files that
decide its results. An interrupted run continues where it stopped. It refuses files of another
program, or measures them again with --redo. Fails if a legal kernel was flagged, a case was not
measured, or more sums over a suite exceed their limit than the 99 % interval of their expectation
allows.

    PYTHONPATH=python python3 tests/legal/legal_ways.py out/legal
    evidence/calibrate.py --runs 1000000 --first-seed 20000 --folder out/calibrate \\
      --provider tests/legal/legal_ways.py out/legal
"""
import argparse
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ("sweeps", "calibrate")
LIMIT = 3.5  # |sum of scores| / sqrt(variance) is normal for a legal kernel
# The files that run and judge plumbline's own kernels, from the parent of the program's folder.
BUILT = ("bin/plumbline", "bin/plumbline-worker", "lib/plumbline/plumbline_cpu.so",
         "lib/plumbline/plumbline_mutants.so", "lib/plumbline/plumbline_merge_mutants.so",
         "lib/plumbline/mutants.toml")
REVIEWED = ("contracts.toml", "support.toml")


class Source:
    """Legal kernels: plumbline's own, or those of a provider with a folder of reviewed text."""

    def __init__(self, provider=None, reviewed=ROOT / "baselines"):
        self.name = "" if provider is None else provider.stem + "-"
        self.options = ["--baselines", str(reviewed)]
        self.files = [reviewed / name for name in REVIEWED]
        if provider is not None:
            self.options += ["--no-default-provider", "--provider", str(provider),
                             "--catalogue", str(reviewed / "mutants.toml")]
            self.files += [provider, *sorted(provider.parent.glob("*.py"))]

    def check(self):
        for path in self.files:
            if not path.exists():
                sys.exit(f"{path} is missing; a provider needs a folder with contracts.toml, "
                         "support.toml and mutants.toml")


def digest_of(paths):
    """Returns a hash of the contents of files; missing ones count as empty."""
    digest = hashlib.sha256()
    for path in paths:
        contents = path.read_bytes() if path.exists() else b""
        digest.update(hashlib.sha256(contents).digest())
    return digest.hexdigest()[:16]


def version_of(plumbline):
    """Returns "plumbline 0.1.0 (judge 5, reference 7, schema 21) commit 0123456789ab"."""
    done = subprocess.run([plumbline, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def digest_of_program(plumbline, suite, source):
    """Returns a hash of all files that decide the results of a part."""
    prefix = pathlib.Path(plumbline).resolve().parent.parent
    built = [prefix / name for name in BUILT]
    worker = sorted((prefix / "lib" / "plumbline" / "python").rglob("*.py"))
    return digest_of([pathlib.Path(plumbline), *built, *worker, suite_file(suite), *source.files])


def suite_file(suite):
    return ROOT / "cases" / f"{suite}.toml"


def measure(plumbline, suite, source, seed):
    """Returns the report of a suite with one seed."""
    command = [plumbline, "audit", "--calibrate", str(suite_file(suite)), "--seeds",
               f"{seed}..{seed}", "--format", "json", "-q", *source.options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    report = json.loads(done.stdout)["data"]
    if not report or report["runs"] <= 0:
        sys.exit(f"{' '.join(command)}: no run was counted\n{done.stdout[-2000:]}")
    return report


class Parts:
    """The reports by suite, source and seed, kept in a folder."""

    def __init__(self, plumbline, folder, redo):
        self.plumbline, self.folder, self.redo = plumbline, folder, redo
        self.version = version_of(plumbline)
        self.digests = {}

    def program(self, suite, source):
        key = (suite, source)
        if key not in self.digests:
            self.digests[key] = digest_of_program(self.plumbline, suite, source)
        return {"version": self.version, "digest": self.digests[key]}

    def report(self, suite, source, seed):
        """Returns a report, from its file if this program has measured it."""
        path = self.folder / f"{source.name}{suite}-{seed}.json"
        program = self.program(suite, source)
        if path.exists():
            part = json.loads(path.read_text(encoding="utf-8"))
            if part.get("program") == program:
                return part["report"]
            if not self.redo:
                sys.exit(f"{path} was measured by another program: {part.get('program')}, this is "
                         f"{program}; name another --folder, or measure again with --redo")
        report = measure(self.plumbline, suite, source, seed)
        if digest_of_program(self.plumbline, suite, source) != program["digest"]:
            sys.exit(f"the program changed while {path} was measured; run again with the new one "
                     "and another --folder, or with --redo")
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps({"program": program, "report": report}), encoding="utf-8")
        unfinished.rename(path)
        return report


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


class Totals:
    FIELDS = ("suite_sums", "suite_alarms", "not_measured", "false_alarms")

    def __init__(self, sources, first_seed):
        self.runs = {(suite, source): 0 for suite in SUITES for source in sources}
        self.seeds = dict.fromkeys(self.runs, first_seed)
        self.sums = dict.fromkeys(self.FIELDS, 0)
        self.alarms = []

    def of_suite(self, suite):
        return sum(runs for (name, _), runs in self.runs.items() if name == suite)

    def all_runs(self):
        return sum(self.runs.values())

    def next(self):
        """Returns the suite with the fewest runs, and its source with the fewest."""
        suite = min(SUITES, key=self.of_suite)
        return min((key for key in self.runs if key[0] == suite), key=self.runs.get)

    def add(self, key, report):
        self.seeds[key] += 1
        self.runs[key] += report["runs"]
        for field in self.FIELDS:
            self.sums[field] += report[field]
        self.alarms += report["alarms"]

    def fails(self):
        sums = self.sums
        return bool(sums["not_measured"] or sums["false_alarms"]
                    or sums["suite_alarms"] > max_alarms(sums["suite_sums"]))


def sources_of(options):
    sources = [Source(), *(Source(pathlib.Path(file), pathlib.Path(reviewed))
                           for file, reviewed in options.provider)]
    if len({source.name for source in sources}) < len(sources):
        sys.exit("two providers have files of one name, which names their parts")
    for source in sources:
        source.check()
    return sources


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default="build/ci/bin/plumbline")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("out/calibrate"))
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--first-seed", type=int, default=20_000)
    parser.add_argument("--provider", nargs=2, action="append", default=[],
                        metavar=("FILE", "FOLDER"),
                        help="also runs a provider's legal kernels; FOLDER has its contracts.toml, "
                             "support.toml and mutants.toml; repeat for more")
    parser.add_argument("--redo", action="store_true",
                        help="measures parts of another program again")
    options = parser.parse_args(arguments)
    sources = sources_of(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    parts = Parts(options.plumbline, options.folder, options.redo)
    totals = Totals(sources, options.first_seed)
    started, before = time.monotonic(), None
    while totals.all_runs() < options.runs:
        key = totals.next()
        totals.add(key, parts.report(*key, totals.seeds[key]))
        done = totals.all_runs()
        before = done if before is None else before
        left = (options.runs - done) * (time.monotonic() - started) / max(1, done - before)
        print(f"{done:,} of {options.runs:,} runs, {totals.sums['false_alarms']} flagged, "
              f"{totals.sums['suite_alarms']} of {totals.sums['suite_sums']} sums beyond the "
              f"limit; about {left / 60:.0f} min left", flush=True)
    for (suite, source), runs in totals.runs.items():
        print(f"{source.name}{suite}: {runs:,} runs")
    print(f"sums beyond {LIMIT}: {totals.sums['suite_alarms']} of {totals.sums['suite_sums']}, at "
          f"most {max_alarms(totals.sums['suite_sums'])} expected; "
          f"not measured: {totals.sums['not_measured']}")
    print("\n".join(totals.alarms))
    return int(totals.fails())


if __name__ == "__main__":
    sys.exit(main())
