#!/usr/bin/env python3
"""Prints which causes the reports name for planted failures: right, unknown, wrong or not failed.

Runs each failure of tests/causes/planted.toml, whose head explains the columns, and compares the
first cause with the expected one. Unknown: it is empty or names at most a place. Not failed: no
case of the kernel fails. Fails below 90 % right or above 3 % wrong.
"""
import argparse
import concurrent.futures
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
EXAMPLES = """\
examples:
  ci/causes.py
  ci/causes.py --only planted/zeros --only mutants/head_modulo
  ci/causes.py --plumbline build/dev/bin/plumbline --wrong
"""
# The sentences of harness/diagnose/locate.cc and of wrong_heads_only(), with what causes.cc adds to
# them. They name a place. Sentences that begin alike but go on differently name a cause.
PLACES = r"[\d, to…]+ of \d+ (?:is|are) wrong, the others(?: are)? right"
SHARE = r", \d+ % of the squared error in (?:head \d+ of sample \d+|column \d+)"
LOCATION = re.compile("|".join((
    rf"(?:head|row|column)s? {PLACES}(?:{SHARE})*",
    rf"head {PLACES}: a wrong key head, stride or slot of that head",
    r"head \d+ of sample \d+ is wrong, the others are right: a wrong key head, stride or slot of "
    r"that head",
    r"key \d+ of key head \d+ in sample \d+ weighs too (?:much|little): that key is dropped, "
    r"repeated, or read from the wrong place",
    r"key \d+, the sample's last key, of key head \d+ in sample \d+ weighs too (?:much|little): "
    r"off by one in a length, or a tail of keys that is cut off",
    r"the (?:(?:last|first) visible key weighs too (?:much|little)|"
    r"key (?:after the last|before the first) visible one is seen): the error follows the edge of "
    r"the visible keys: the mask, the window or a length is off by one",
    r"only the LSE is beyond its limit")))
# Processor time for the search of one cause, enough on any machine.
CAUSE_SECONDS = "600"
LEAST_RIGHT, MOST_WRONG = 0.90, 0.03
# NaN, infinities and rows without keys hide what else is wrong.
JUDGED = """
  SELECT o.verdict, o.cause, c.case_id, o.peak FROM outcome AS o JOIN attention_case AS c
  USING (case_key) JOIN verdict AS v USING (verdict) WHERE v.is_failure
  ORDER BY o.faults_nan + o.faults_inf + o.faults_unwritten + o.faults_empty_rows > 0,
  o.peak DESC"""


def failures(plumbline, folder, *arguments):
    """Returns (cause, case id) of the failing cases of a run, the largest error first."""
    database = pathlib.Path(folder) / "causes.db"
    database.unlink(missing_ok=True)
    command = [plumbline, "run", *arguments, "--db", str(database), "--no-default-provider", "-q",
               "--cause-seconds", CAUSE_SECONDS, "--baselines", str(ROOT / "baselines")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not database.exists():
        sys.exit(f"ci/causes.py: {' '.join(command)}: {done.stderr.strip()}")
    with sqlite3.connect(database) as connection:
        return [(row[1] or "", row[2]) for row in connection.execute(JUDGED)]


def cause_of(plumbline, failure):
    """Returns the first cause that the report names, or None if nothing failed."""
    with tempfile.TemporaryDirectory() as folder:
        return cause_in(plumbline, folder, failure)


def cause_in(plumbline, folder, failure):
    kernel = failure["kernel"]
    if kernel.startswith("planted/"):
        found = failures(plumbline, folder, str(FOLDER / "planted_suite.toml"),
                         "--provider", str(FOLDER / "planted.py"), "--kernel", kernel,
                         "--match", f"planted/{failure['group']}/*")
    else:
        every = failures(plumbline, folder, str(ROOT / "cases" / "audit.toml"),
                         "--provider", "mutants", "--kernel", kernel)
        if not every:
            return None
        # Kernels that keep state of earlier calls fail only beside other cases.
        found = failures(plumbline, folder, "--case", every[0][1], "--provider", "mutants") or every
    return found[0][0] if found else None


def judged(failure, cause):
    """Returns right, unknown (at most a place is named), wrong or not failed."""
    if cause is None:
        return "not failed"
    if re.search(failure["says"], cause, re.IGNORECASE):
        return "right"
    place = failure.get("or_where")
    is_location = cause == "" or LOCATION.fullmatch(cause) is not None
    return "unknown" if is_location or (place and re.search(place, cause, re.I)) else "wrong"


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default=str(ROOT / "build" / "ci" / "bin" / "plumbline"))
    parser.add_argument("--only", action="append", metavar="KERNEL", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--wrong", action="store_true", help="print no line for right causes")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.plumbline).is_file():
        parser.error(f"{arguments.plumbline} is no file; next: ci/quickstart.sh, or --plumbline")
    table = tomllib.loads((FOLDER / "planted.toml").read_text(encoding="utf-8"))["planted"]
    known = {failure["kernel"] for failure in table}
    for name in arguments.only:
        if name not in known:
            parser.error(f"--only {name}: tests/causes/planted.toml has no such kernel")
    chosen = [f for f in table if not arguments.only or f["kernel"] in arguments.only]
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        causes = pool.map(lambda failure: cause_of(arguments.plumbline, failure), chosen)
        for number, (failure, cause) in enumerate(zip(chosen, causes), 1):
            result = judged(failure, cause)
            counts[result] = counts.get(result, 0) + 1
            if result != "right" or not arguments.wrong:
                print(f"[{number}/{len(chosen)}] {result:10} {failure['kernel']}: {cause}",
                      flush=True)
    total = len(chosen)
    print(", ".join(f"{counts.get(name, 0)} {name}"
                    for name in ("right", "unknown", "wrong", "not failed")), f"of {total}")
    right, wrong = counts.get("right", 0), counts.get("wrong", 0)
    return 0 if right >= LEAST_RIGHT * total and wrong <= MOST_WRONG * total else 1


if __name__ == "__main__":
    sys.exit(main())
