#!/usr/bin/env python3
"""Prints what a suite would miss without one of its groups, and without one of its cases.

Runs known bugs on the suite's problems once, and then counts for each group and case the bugs that
no other one catches. Groups that catch nothing alone are listed. Needs providers of bugs:
plumbline's mutants, the kernels of tests/bugs, or your own.
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
  ci/suite_worth.py cases/nightly.toml --match 'corners/*' --exclude '*/device=emulated:*'
"""
OUTCOMES = """
  SELECT o.suite, o.case_group, c.kernel, c.case_id, v.is_failure, o.wall_ms FROM outcome AS o
  JOIN attention_case AS c USING (case_key) JOIN verdict AS v USING (verdict)"""


def outcomes(options, folder):
    """Returns (suite, group, kernel, case id, failed, milliseconds) for each kernel and case."""
    database = pathlib.Path(folder) / "worth.db"
    command = [options.plumbline, "run", options.suite, "--db", str(database), "-q",
               "--no-default-provider", "--baselines", str(ROOT / "baselines")]
    for name in ("provider", "kernel", "match", "exclude"):
        for value in getattr(options, name):
            command += [f"--{name}", value]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not database.exists():
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    with sqlite3.connect(database) as connection:
        return connection.execute(OUTCOMES).fetchall()


class Worth:
    """Which groups and cases catch which kernels."""

    def __init__(self, rows):
        self.cases_of = collections.defaultdict(list)  # kernel -> (group, problem) that fail
        self.cases = {}  # group -> its problems, in order
        self.milliseconds = collections.Counter()
        self.kernels = set()
        for suite, group, kernel, case_id, failed, wall in rows:
            place = (f"{suite}/{group}", case_id.removeprefix(kernel + "/"))
            self.kernels.add(kernel)
            self.cases.setdefault(place[0], {})[place[1]] = None
            self.milliseconds[place[0]] += wall or 0
            if failed:
                self.cases_of[kernel].append(place)

    def caught_by(self, group):
        return sorted(k for k, places in self.cases_of.items() if group in {g for g, _ in places})

    def missed_without_group(self, group):
        return [k for k in self.caught_by(group) if {g for g, _ in self.cases_of[k]} == {group}]

    def missed_without_case(self, group, problem):
        return sorted(k for k, places in self.cases_of.items() if set(places) == {(group, problem)})

    def missed(self):
        return sorted(self.kernels - set(self.cases_of))


def report(worth):
    """Returns the lines of the report."""
    total = sum(worth.milliseconds.values()) or 1
    lines = [f"{len(worth.cases_of)} of {len(worth.kernels)} kernels are caught", "",
             f"{'group':<32} cases   time  caught  missed without it"]
    idle, lone = [], []
    for group, problems in worth.cases.items():
        alone = worth.missed_without_group(group)
        lines.append(f"{group:<32} {len(problems):>5} {worth.milliseconds[group] / total:>6.1%} "
                     f"{len(worth.caught_by(group)):>7}  {len(alone)} {' '.join(alone)}".rstrip())
        if not alone:
            idle.append(group)
        for problem in problems:
            if missed := worth.missed_without_case(group, problem):
                lone.append(f"  {group}/{problem}: {' '.join(missed)}")
    lines += ["", "caught by one case only:", *(lone or ["  none"]), "",
              "groups that catch nothing alone: " + (" ".join(idle) or "none"),
              "missed by the suite: " + (" ".join(worth.missed()) or "none")]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("--provider", action="append", default=[], help="default: mutants")
    parser.add_argument("--kernel", action="append", default=[], help="default: 'mutants/*'")
    parser.add_argument("--match", action="append", default=[], metavar="GLOB",
                        help="only these cases, as in plumbline run: 'smoke/dense/*'")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB",
                        help="without these cases")
    parser.add_argument("--plumbline", default="build/ci/bin/plumbline")
    options = parser.parse_args()
    options.provider = options.provider or ["mutants"]
    options.kernel = options.kernel or ["mutants/*"]
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(report(Worth(outcomes(options, folder)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
