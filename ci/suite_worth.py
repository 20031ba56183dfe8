#!/usr/bin/env python3
"""Prints what each group of a suite finds that no other group finds.

Runs known bugs on the suite's problems. A bug that only one group catches would be missed without
that group; the same holds for a case. Needs providers of bugs: plumbline's mutants, the kernels of
tests/bugs, or your own.
"""
import argparse
import collections
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = """\
examples:
  ci/suite_worth.py cases/smoke.toml
  ci/suite_worth.py cases/reach.toml --provider tests/bugs/new_bugs.py --kernel 'new_bugs/*'
"""
OUTCOMES = """
  SELECT o.case_group, c.kernel, c.case_id, v.is_failure, o.wall_ms FROM outcome AS o
  JOIN attention_case AS c USING (case_key) JOIN verdict AS v USING (verdict)"""


def outcomes(options, folder):
    """Returns (group, kernel, case id, failed, milliseconds) of the suite for each kernel."""
    database = pathlib.Path(folder) / "worth.db"
    command = [options.plumbline, "run", options.suite, "--db", str(database), "-q",
               "--no-default-provider", "--baselines", str(ROOT / "baselines")]
    for provider in options.provider:
        command += ["--provider", provider]
    for kernel in options.kernel:
        command += ["--kernel", kernel]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not database.exists():
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    with sqlite3.connect(database) as connection:
        return connection.execute(OUTCOMES).fetchall()


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("--provider", action="append", default=[], help="default: mutants")
    parser.add_argument("--kernel", action="append", default=[], help="default: 'mutants/*'")
    parser.add_argument("--plumbline", default="build/ci/bin/plumbline")
    options = parser.parse_args()
    options.provider = options.provider or ["mutants"]
    options.kernel = options.kernel or ["mutants/*"]
    groups_of, cases_of = collections.defaultdict(set), collections.defaultdict(set)
    cases, milliseconds = collections.defaultdict(set), collections.Counter()
    kernels = set()
    with tempfile.TemporaryDirectory() as folder:
        for group, kernel, case_id, failed, wall in outcomes(options, folder):
            problem = case_id.removeprefix(kernel + "/")
            kernels.add(kernel)
            cases[group].add(problem)
            milliseconds[group] += wall or 0
            if failed:
                groups_of[kernel].add(group)
                cases_of[kernel].add(problem)
    total = sum(milliseconds.values()) or 1
    print(f"{len(groups_of)} of {len(kernels)} kernels are caught")
    print(f"{'group':<24} cases   time   caught  by it alone  of these by one case alone")
    for group in cases:
        caught = [k for k in groups_of if group in groups_of[k]]
        alone = sorted(k for k in caught if len(groups_of[k]) == 1)
        by_case = [k for k in alone if len(cases_of[k]) == 1]
        print(f"{group:<24} {len(cases[group]):>5} {milliseconds[group] / total:>6.1%} "
              f"{len(caught):>8} {len(alone):>12} {len(by_case):>6}  {' '.join(alone)}")
    missed = sorted(kernels - set(groups_of))
    print(f"missed: {' '.join(missed) if missed else 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
