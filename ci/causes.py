#!/usr/bin/env python3
"""Prints which causes the reports name for planted failures: right, unknown, wrong or not failed.

Runs each failure of tests/causes/planted.toml, whose head explains the columns, and compares the
first cause with the expected one. Unknown: it is empty or names at most a place. Not failed: no
case of the kernel fails. Fails if a result differs from tests/causes/classes.csv or is not there,
below 90 % right, or above 3 % wrong.
"""
import argparse
import concurrent.futures
import csv
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "causes"
CLASSES = FOLDER / "classes.csv"  # kernel,class of each row when it was last accepted
EXAMPLES = """\
examples:
  ci/causes.py
  ci/causes.py --only planted/zeros --only mutants/head_modulo
  ci/causes.py --plumbline build/dev/bin/plumbline --wrong
  ci/causes.py --accept                   rewrites tests/causes/classes.csv
"""
# Sentences of harness/diagnose that name at most a place: those of locate.cc, wrong_heads_only()
# and size_of_common_factor(), and one about values out of range. If more follows, it is a cause.
PLACES = r"[\d, to…]+ of \d+(?: compared)? (?:is|are) wrong, the others(?: are)? right"
SHARE = r", \d+ % of the squared error in (?:head \d+ of sample \d+|column \d+)"
LOCATION = re.compile("|".join((
    rf"(?:head|row|column)s? {PLACES}(?:{SHARE})*",
    r"head \d+ of sample \d+ is wrong, the others are right",
    r"key \d+(?:, the sample's last key,)? of key head \d+ in sample \d+ weighs too "
    r"(?:much|little)",
    r"the (?:last|first) visible key weighs too (?:much|little)",
    r"the key (?:after the last|before the first) visible one is seen",
    r"the logits are too (?:large|small) \(softmax scale, softcap or exp2\)",
    r"the outputs are (?:[\d.e+]+ (?:%|times) )?too (?:large|small) \(denominator, rescale or "
    r"(?:truncation|numbers that are cut off)\)",
    r"values outside the range of v, which no weighted mean can reach",
    r"only the LSE is beyond its limit")))
# Texts of harness/diagnose/causes.cc if the time for a search ran out, alone or after a place.
NOT_LOOKED_FOR = re.compile("not looked for: .* was spent")
UNFINISHED = re.compile(r" \(not looked into further: .* was spent\)$")
RESULTS = ("right", "unknown", "wrong", "not failed")
MIN_RIGHT, MAX_WRONG = 0.90, 0.03
# Cases with NaN, infinities, unwritten elements or wrong rows without keys come last, because
# these faults hide other errors.
JUDGED = """
  SELECT o.verdict, o.cause, c.case_id, o.peak FROM outcome AS o JOIN attention_case AS c
  USING (case_key) JOIN verdict AS v USING (verdict) WHERE v.is_failure
  ORDER BY o.faults_nan + o.faults_inf + o.faults_unwritten + o.faults_empty_rows > 0,
  o.peak DESC"""


class Runner:
    """Runs planted failures. `cause_seconds` is an option of `plumbline run`; None: its default."""

    def __init__(self, plumbline, cause_seconds):
        self.plumbline = plumbline
        self.options = [] if cause_seconds is None else ["--cause-seconds", f"{cause_seconds:g}"]

    def failures(self, folder, *arguments):
        """Returns (cause, case id) of the failing cases of a run, the largest error first."""
        database = pathlib.Path(folder) / "causes.db"
        database.unlink(missing_ok=True)
        command = [self.plumbline, "run", *arguments, "--db", str(database), "-q",
                   "--no-default-provider", *self.options, "--baselines", str(ROOT / "baselines")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not database.exists():
            sys.exit(f"ci/causes.py: {' '.join(command)}: {done.stderr.strip()}")
        with sqlite3.connect(database) as connection:
            return [(row[1] or "", row[2]) for row in connection.execute(JUDGED)]

    def cause_of(self, failure):
        """Returns the first cause that the report names, or None if nothing failed."""
        with tempfile.TemporaryDirectory() as folder:
            return self.cause_in(folder, failure)

    def cause_in(self, folder, failure):
        kernel = failure["kernel"]
        if kernel.startswith("planted/"):
            found = self.failures(folder, str(FOLDER / "planted_suite.toml"),
                                  "--provider", str(FOLDER / "planted.py"), "--kernel", kernel,
                                  "--match", f"planted/{failure['group']}/*")
        else:
            every = self.failures(folder, str(ROOT / "cases" / "audit.toml"),
                                  "--provider", "mutants", "--kernel", kernel)
            if not every:
                return None
            # Kernels that keep state of earlier calls fail only beside other cases.
            alone = self.failures(folder, "--case", every[0][1], "--provider", "mutants")
            found = alone or every
        return found[0][0] if found else None


def judged(failure, cause):
    """Returns one of RESULTS. A place alone is unknown, even if it has the expected words."""
    if cause is None:
        return "not failed"
    cause = UNFINISHED.sub("", cause)
    is_place = LOCATION.fullmatch(cause) is not None and not failure.get("place_is_answer")
    if cause == "" or NOT_LOOKED_FOR.fullmatch(cause) or is_place:
        return "unknown"
    if re.search(failure["says"], cause, re.IGNORECASE):
        return "right"
    place = failure.get("or_where")
    return "unknown" if place and re.search(place, cause, re.IGNORECASE) else "wrong"


def read_classes(path):
    """Returns the recorded result of each kernel."""
    with open(path, encoding="utf-8", newline="") as file:
        return {row["kernel"]: row["class"] for row in csv.DictReader(file)}


def write_classes(path, classes, kernels):
    """Records the results of these kernels, in this order; those without a result have no row."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("kernel", "class"))
        writer.writerows((name, classes[name]) for name in kernels if name in classes)


def changes(results, recorded):
    """Returns a line for each result that differs from the recorded one."""
    return [f"{kernel}: {result}, was {recorded.get(kernel, 'not recorded')}"
            for kernel, result in results.items() if recorded.get(kernel) != result]


def is_good(results):
    """Returns True if enough results are right and few are wrong."""
    found = list(results.values())
    return found.count("right") >= MIN_RIGHT * len(found) and \
        found.count("wrong") <= MAX_WRONG * len(found)


def arguments_of(given, kernels):
    parser = argparse.ArgumentParser(prog="ci/causes.py", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default=str(ROOT / "build" / "ci" / "bin" / "plumbline"))
    parser.add_argument("--only", action="append", metavar="KERNEL", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--wrong", action="store_true", help="print no line for right causes")
    parser.add_argument("--cause-seconds", type=float, metavar="SECONDS",
                        help="option of `plumbline run` (default: that of `run`)")
    parser.add_argument("--accept", action="store_true",
                        help="record the results in tests/causes/classes.csv")
    arguments = parser.parse_args(given)
    if not pathlib.Path(arguments.plumbline).is_file():
        parser.error(f"{arguments.plumbline} is no file; next: ci/quickstart.sh, or --plumbline")
    for name in arguments.only:
        if name not in kernels:
            parser.error(f"--only {name}: tests/causes/planted.toml has no such kernel")
    return arguments


def results_of(chosen, arguments):
    """Runs the failures and prints a line for each. Returns the result of each kernel."""
    runner = Runner(arguments.plumbline, arguments.cause_seconds)
    print("time for the search of a cause:", " ".join(runner.options) or "default of run",
          flush=True)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        causes = pool.map(runner.cause_of, chosen)
        for number, (failure, cause) in enumerate(zip(chosen, causes), 1):
            kernel, result = failure["kernel"], judged(failure, cause)
            results[kernel] = result
            if result != "right" or not arguments.wrong:
                print(f"[{number}/{len(chosen)}] {result:10} {kernel}: {cause}", flush=True)
    return results


def main(given=None):
    table = tomllib.loads((FOLDER / "planted.toml").read_text(encoding="utf-8"))["planted"]
    kernels = [failure["kernel"] for failure in table]
    arguments = arguments_of(given, kernels)
    results = results_of([failure for failure in table
                          if not arguments.only or failure["kernel"] in arguments.only], arguments)
    found = list(results.values())
    print(", ".join(f"{found.count(name)} {name}" for name in RESULTS), f"of {len(found)}")
    recorded = read_classes(CLASSES)
    if arguments.accept:
        write_classes(CLASSES, {**recorded, **results}, kernels)
        recorded = read_classes(CLASSES)
    changed = changes(results, recorded)
    for line in changed:
        print(f"changed: {line}; next: mend it, or --accept")
    return 0 if is_good(results) and not changed else 1


if __name__ == "__main__":
    sys.exit(main())
