"""Tests evidence/calibrate.py: the halves of its runs, its limit of alarms, and which parts an
interrupted or repeated run takes from their files. No kernel runs: a stand-in for plumbline counts
the calls and prints made-up reports, so that only the script is tested."""
import contextlib
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evidence"))
import calibrate  # noqa: E402  pylint: disable=wrong-import-position

# A stand-in for plumbline. The files beside it have its version, a report for each suite, its exit
# code, and the log of its calls.
STAND_IN = """#!/bin/sh
folder=${0%/*}
if [ "$1" = --version ]; then
  read -r version <"$folder/version"
  printf '%s\\n' "$version"
  exit 0
fi
printf '%s\\n' "$*" >>"$folder/calls"
if [ -e "$folder/is_rebuilt" ]; then printf '#\\n' >>"$0"; fi
suite=${3##*/}
read -r report <"$folder/$suite.json"
read -r code <"$folder/exit_code"
printf '%s\\n' "$report"
exit "$code"
"""
RUNS = {"sweeps": 20, "calibrate": 30}
REPORT = {"suite_sums": 2, "suite_alarms": 0, "not_measured": 0, "false_alarms": 0, "alarms": []}
VERSION = "plumbline 0.1.0 (judge 5, reference 7, schema 21) commit 0123456789ab"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "build" / "bin"
        self.write("build/bin/plumbline", STAND_IN).chmod(0o755)
        self.version(VERSION)
        self.report()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def version(self, text):
        self.write("build/bin/version", text + "\n")

    def report(self, code=0, **changes):
        """Sets the reports and the exit code of the stand-in."""
        self.write("build/bin/exit_code", f"{code}\n")
        for suite, runs in RUNS.items():
            report = {**REPORT, "runs": runs, **changes}
            self.write(f"build/bin/{suite}.toml.json", json.dumps({"data": report}) + "\n")

    def provider(self):
        self.write("mine/ways.py", "a provider")
        for name in ("contracts", "support", "mutants"):
            self.write(f"mine/reviewed/{name}.toml", "schema = 1\n")
        return ["--provider", str(self.folder / "mine/ways.py"),
                str(self.folder / "mine/reviewed")]

    def run_script(self, *options, runs=100):
        """Returns the exit code, or the message with which the script ends, and its calls."""
        (self.bin / "calls").unlink(missing_ok=True)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                code = calibrate.main(["--plumbline", str(self.bin / "plumbline"), "--folder",
                                       str(self.folder / "parts"), "--runs", str(runs),
                                       "--first-seed", "40", *map(str, options)])
            except SystemExit as ended:
                code = ended.code
        self.out = out.getvalue()
        log = self.bin / "calls"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return code, [line.split() for line in lines]

    def parts(self):
        return sorted(path.name for path in (self.folder / "parts").iterdir())


class Halves(Case):
    def test_each_suite_has_half_of_the_runs(self):
        code, calls = self.run_script(runs=400)
        self.assertEqual(code, 0)
        runs = {suite: sum(suite in pathlib.Path(call[2]).stem for call in calls)
                * RUNS[suite] for suite in calibrate.SUITES}
        self.assertGreaterEqual(sum(runs.values()), 400)
        self.assertLessEqual(abs(runs["sweeps"] - runs["calibrate"]), 30)
        seeds = [call[4] for call in calls if pathlib.Path(call[2]).stem == "sweeps"]
        self.assertEqual(seeds, [f"{seed}..{seed}" for seed in range(40, 40 + len(seeds))])

    def test_providers_share_each_half_with_own_kernels(self):
        _, calls = self.run_script(*self.provider(), runs=400)
        shares = {}
        for call in calls:
            key = (pathlib.Path(call[2]).stem, "--provider" in call)
            shares[key] = shares.get(key, 0) + 1
        for suite in calibrate.SUITES:
            self.assertLessEqual(abs(shares[suite, True] - shares[suite, False]), 1, shares)

    def test_a_provider_has_its_own_contracts_and_no_default_provider(self):
        _, calls = self.run_script(*self.provider())
        mine = next(call for call in calls if "--provider" in call)
        reviewed = str(self.folder / "mine/reviewed")
        self.assertIn("--no-default-provider", mine)
        self.assertEqual(mine[mine.index("--baselines") + 1], reviewed)
        self.assertEqual(mine[mine.index("--catalogue") + 1], reviewed + "/mutants.toml")
        own = next(call for call in calls if "--provider" not in call)
        self.assertEqual(own[own.index("--baselines") + 1], str(ROOT / "baselines"))
        self.assertNotIn("--no-default-provider", own)

    def test_a_missing_contract_or_a_name_twice_is_refused(self):
        options = self.provider()
        self.assertIn("of one name", self.run_script(*options, *options)[0])
        (self.folder / "mine/reviewed/contracts.toml").unlink()
        self.assertIn("contracts.toml is missing", self.run_script(*options)[0])


class Resuming(Case):
    def test_finished_seeds_are_not_measured_again(self):
        _, first = self.run_script()
        before = self.parts()
        self.assertEqual(self.run_script(), (0, []))
        _, more = self.run_script(runs=200)
        self.assertTrue(more)
        self.assertFalse([call for call in more if call in first])
        self.assertTrue(set(before) < set(self.parts()))

    def test_an_unfinished_part_is_measured_again(self):
        self.run_script()
        part = self.folder / "parts/sweeps-41.json"
        part.rename(part.with_suffix(".part"))
        _, calls = self.run_script()
        self.assertEqual([(pathlib.Path(call[2]).stem, call[4]) for call in calls],
                         [("sweeps", "41..41")])

    def test_a_part_states_judge_reference_commit_and_files(self):
        self.run_script()
        part = json.loads((self.folder / "parts/sweeps-40.json").read_text(encoding="utf-8"))
        self.assertEqual(part["program"]["version"], VERSION)
        self.assertRegex(part["program"]["digest"], "^[0-9a-f]{16}$")

    def test_an_error_of_plumbline_leaves_no_part(self):
        self.report(code=3)
        self.assertIn("exit code 3", self.run_script()[0])
        self.report(runs=0)
        self.assertIn("no run was counted", self.run_script()[0])
        self.assertEqual(self.parts(), [])


class OtherProgram(Case):
    def refused(self, *options):
        code, calls = self.run_script(*options)
        self.assertIn("measured by another program", str(code))
        self.assertIn("--redo", code)
        self.assertEqual(calls, [])

    def test_another_judge_reference_or_commit_is_refused(self):
        self.run_script()
        for change in (("judge 5", "judge 6"), ("reference 7", "reference 8"),
                       ("0123456789ab", "0123456789ac")):
            self.version(VERSION.replace(*change))
            self.refused()
        self.version(VERSION)
        self.assertEqual(self.run_script(), (0, []))

    def test_a_rebuilt_file_of_one_version_is_refused(self):
        self.run_script()
        for name in ("build/bin/plumbline-worker", "build/lib/plumbline/plumbline_cpu.so",
                     "build/lib/plumbline/python/_plumbline_worker/wire.py"):
            path = self.write(name, "rebuilt")
            self.refused()
            path.unlink()
        with (self.bin / "plumbline").open("a", encoding="utf-8") as program:
            program.write("# rebuilt\n")
        self.refused()

    def test_a_changed_provider_or_contract_is_refused(self):
        options = self.provider()
        self.run_script(*options)
        for name in ("mine/ways.py", "mine/reviewed/contracts.toml", "mine/reviewed/support.toml",
                     "mine/helper.py"):
            path = self.folder / name
            text = path.read_text(encoding="utf-8") if path.exists() else None
            self.write(name, "changed")
            self.refused(*options)
            if text is None:
                path.unlink()
            else:
                self.write(name, text)
        self.assertEqual(self.run_script(*options), (0, []))

    def test_a_part_without_a_program_is_refused(self):
        self.write("parts/sweeps-40.json", json.dumps({"data": REPORT}))
        self.refused()

    def test_redo_measures_all_parts_again(self):
        _, first = self.run_script()
        self.version(VERSION.replace("judge 5", "judge 6"))
        self.assertEqual(self.run_script("--redo"), (0, first))
        self.assertEqual(self.run_script(), (0, []))

    def test_a_change_during_a_run_leaves_no_part(self):
        self.write("build/bin/is_rebuilt", "")
        code, _ = self.run_script()
        self.assertIn("changed while", code)
        self.assertEqual(self.parts(), [])


class Alarms(Case):
    def test_limit_is_the_upper_end_of_a_binomial_interval(self):
        p = math.erfc(calibrate.LIMIT / math.sqrt(2))
        for sums in (0, 1, 10, 11, 100, 222, 223, 1152, 2516, 9000):
            tail, count = 1.0, -1
            while tail > 0.005:
                count += 1
                tail = math.fsum(math.comb(sums, k) * p ** k * (1 - p) ** (sums - k)
                                 for k in range(count + 1, min(sums, count + 40) + 1))
            self.assertEqual(calibrate.max_alarms(sums), count, sums)

    def test_flagged_unmeasured_or_too_many_sums_fail(self):
        self.assertEqual(self.run_script()[0], 0)
        for number, changes in enumerate(({"false_alarms": 1}, {"not_measured": 1},
                                          {"suite_alarms": 2})):
            self.report(code=1, **changes)
            self.assertEqual(self.run_script("--folder", self.folder / f"other{number}")[0], 1)

    def test_few_sums_beyond_the_limit_pass(self):
        self.report(code=1, suite_sums=2000, suite_alarms=1)
        self.assertEqual(self.run_script("--folder", self.folder / "other", runs=7)[0], 0)
        self.assertIn("1 of 2000", self.out)


if __name__ == "__main__":
    unittest.main()
