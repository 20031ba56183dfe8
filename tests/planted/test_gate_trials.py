"""Tests the trials of the gate: few nights of few cases, stopped and continued, and the counts."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("PLUMBLINE_BUILD", ROOT / "build" / "dev"))
SCRIPT = ROOT / "evidence" / "gate_trials.py"

spec = importlib.util.spec_from_file_location("gate_trials", SCRIPT)
gate_trials = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gate_trials)


def case(trial, sequence, night, name, verdict, **more):
    row = dict.fromkeys(gate_trials.CASE, "")
    return row | {"load": "idle", "trial": trial, "sequence": str(sequence), "night": str(night),
                  "counts": "1", "case_id": name, "planted": "1", "verdict": verdict,
                  "faster": "0"} | more


def night(trial, sequence, number, exit_code, **more):
    row = dict.fromkeys(gate_trials.ROW, "")
    return row | {"load": "idle", "trial": trial, "sequence": str(sequence), "night": str(number),
                  "counts": "1", "exit_code": str(exit_code), "other_load": "0.1"} | more


class Counting(unittest.TestCase):
    def test_a_case_counts_once_it_is_found_or_its_nights_are_done(self):
        rows = [case("three", 0, 1, "a", "pass"), case("three", 0, 2, "a", "regressed"),
                case("three", 0, 3, "a", "pass"), case("three", 0, 1, "b", "pass"),
                case("three", 0, 1, "unplanted", "regressed", planted="0"),
                case("three", 0, 1, "elsewhere", "regressed", load="load2"),
                case("three", 0, 1, "disturbed", "regressed", counts="0")]
        self.assertEqual(gate_trials.found_by(rows, "idle", "three", 7), (1, 1))
        self.assertEqual(gate_trials.found_by(rows, "idle", "three", 1), (0, 2))

    def test_accepted_steps_are_found_against_the_pin_alone(self):
        rows = [case("accepted", 0, 6, "a", "regressed", gate_finding="drifted"),
                case("accepted", 0, 6, "b", "regressed", gate_finding="slower"),
                case("accepted", 0, 6, "c", "unconfirmed", gate_finding="drifted")]
        found = gate_trials.found_by(rows, "idle", "accepted", 6, gate_trials.is_away_from_pin)
        self.assertEqual(found, (1, 3))

    def test_the_limits_of_nights_without_a_plant(self):
        def kept(failed, opened, nights):
            rows = [night("aa", 0, n + 1, 1 if n < failed else 5 if n < failed + opened else 0)
                    for n in range(nights)]
            return [line[3] for line in gate_trials.rates(rows, [], "idle")[:2]]
        self.assertEqual(kept(0, 2, 100), [True, True])
        self.assertEqual(kept(0, 0, 99), [None, None])
        self.assertEqual(kept(1, 3, 50), [False, False])

    def test_a_rate_rests_on_two_hundred_case_nights(self):
        def kept(found, cases):
            rows = [case("five", 0, 1, str(n), "regressed" if n < found else "pass")
                    for n in range(cases)]
            nights = [night("five", 0, 1, 1, planted_cases=str(cases))]
            return gate_trials.rates(nights, rows, "idle")[2][3]
        self.assertEqual([kept(180, 200), kept(179, 200), kept(199, 199)], [True, False, None])


class SmallTrials(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="plumbline-trials-")
        self.addCleanup(self.directory.cleanup)

    def trials(self, *arguments):
        return subprocess.run(
            [sys.executable, SCRIPT, "--directory", self.directory.name, "--build", BUILD,
             "--suite", ROOT / "tests" / "planted" / "trials.toml", "--history-nights", "2",
             "--any-load", "--parts", "2", *arguments], text=True, capture_output=True, check=False)

    def rows(self):
        path = pathlib.Path(self.directory.name) / "trials.csv"
        return gate_trials.Table(path, gate_trials.ROW).rows

    def test_nights_are_measured_once_and_reported(self):
        planned = self.trials("--plan", "--nights", "2", "aa")
        self.assertIn("aa           2 nights", planned.stdout)
        done = self.trials("--nights", "1", "aa")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([row["trial"] for row in self.rows()], ["history", "history", "aa"])

        # Continued: existing nights stay, missing ones are measured.
        done = self.trials("--nights", "2", "--sequences", "1", "aa", "five", "faster", "accepted")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = self.rows()
        self.assertEqual([row["trial"] for row in rows],
                         ["history", "history", "aa", "aa", "five", "slowed", "slowed", "faster",
                          *["accepted"] * 6])
        self.assertEqual({row["cases"] for row in rows}, {"6"})
        for row in rows:
            planted = int(row["planted_cases"])
            if row["trial"] in ("five", "slowed", "accepted"):
                self.assertTrue(0 < planted < 6, row)
            else:
                self.assertEqual(planted, 0, row)
            self.assertIn(row["exit_code"], ("0", "1", "5"))
        again = self.trials("--nights", "2", "--sequences", "1", "aa", "five", "faster", "accepted")
        self.assertEqual((again.returncode, again.stdout), (0, ""))

        # the planted nights left the history alone
        history = gate_trials.outcome_rows(
            pathlib.Path(self.directory.name) / "idle" / "history.db", "idle-five-0-1")
        self.assertIsNone(history)

        report = self.trials("report")
        self.assertIn(report.returncode, (1, 5), report.stdout)
        self.assertIn("of 2 ", report.stdout)
        self.assertIn("not enough nights", report.stdout)
        self.assertIn("load2: nothing was measured", report.stdout)

    def test_what_is_missing_is_said_with_a_remedy(self):
        wrong = self.trials("--suite", "no/where.toml", "aa")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("no/where.toml is missing; remedy", wrong.stderr)
        self.assertEqual(self.trials("six").returncode, 2)

    def test_a_line_that_was_cut_off_is_measured_again(self):
        path = pathlib.Path(self.directory.name) / "trials.csv"
        table = gate_trials.Table(path, gate_trials.ROW)
        table.add([night("aa", 0, 1, 0), night("aa", 0, 2, 0)])
        path.write_bytes(path.read_bytes()[:-9])
        self.assertEqual(len(gate_trials.Table(path, gate_trials.ROW).rows), 1)
        path.write_text("another,program\n", encoding="utf-8")
        with self.assertRaises(SystemExit):
            gate_trials.Table(path, gate_trials.ROW)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
