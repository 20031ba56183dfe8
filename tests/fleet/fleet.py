"""Shared by the tests of fleet nights: a small suite, a planted provider, nights, and their rows.

Called by CTest with PLUMBLINE_BUILD, the build directory.
"""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("PLUMBLINE_BUILD", ROOT / "build" / "host")).resolve()
PLUMBLINE = BUILD / "bin" / "plumbline"
PLANTED = BUILD / "tests" / "planted" / "plumbline_planted_cpu.so"
NIGHT_SH = ROOT / "ci" / "fleet" / "night.sh"

# 18 problems, each for two kernels, and a diff between two of them.
SUITE = """
schema = 1
name = "fleet"
[[group]]
name = "lengths"
reason = "cheap problems of different cost"
tier = "smoke"
kernels = ["cpu/flash", "cpu/split_kv"]
set = { heads_q = 2, heads_kv = 1 }
product = { dtype = ["bf16", "fp16"], seq = [16, 33, 64, 96, 128, 160, 192, 224, 256] }
[[diff]]
name = "decode"
reason = "a diff keeps the problems of its sides together"
set = { heads_q = 2, heads_kv = 1, dtype = "bf16", seq_kv = 96 }
a = { kernel = "cpu/flash", seq_q = 96 }
b = { kernel = "cpu/split_kv", seq_q = 1 }
"""

# The kernels' usual options: without declaring it, cpu/flash does not round P in a third of the
# problems. With WORSE it rounds P: the error is then about twice as large, within every limit, but
# a regression.
USUAL = "p_dtype=fp32,undeclared=1,part=1/3,only=cpu/flash"
WORSE = "none"

# Columns of an outcome that may differ in another process or at another time.
NOT_COMPARED = {
    "run_id", "run_order", "wall_ms", "saved_to", "peak_memory_bytes", "workspace_bytes", "notes",
    "time_ns", "time_mad_ns", "time_ratio", "time_hot_ns", "time_rounds", "fresh_ratios",
    "time_cpu_ns", "time_sentinel_ns", "flops_per_second", "bytes_per_second", "flops_share",
    "bytes_share", "second_ratio", "past_times", "time_over_past", "gate_nights", "gate_pool",
    "gate_level", "gate_spread", "gate_limit", "gate_change", "gate_deviation",
}


def rows(database, sql, parameters=()):
    """Returns the rows of a query as a list of tuples."""
    with sqlite3.connect(database) as connection:
        return connection.execute(sql, parameters).fetchall()


def outcomes(database, night):
    """Returns all outcomes of a night's own runs, sorted, without the columns of NOT_COMPARED."""
    with sqlite3.connect(database) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(outcome)")]
        wanted = ", ".join("o." + c for c in columns if c not in NOT_COMPARED and c != "case_key")
        return sorted(connection.execute(
            f"SELECT o.suite, c.case_id, {wanted} FROM outcome AS o "
            "JOIN attention_case AS c USING (case_key) JOIN run AS r USING (run_id) "
            "WHERE r.night_id = ? AND r.purpose <> 'confirm'", (night,)), key=repr)


def night_tables(database, night):
    """Returns a night's suite statistics, changes and diffs, for any number of runs."""
    of_night = "FROM {} JOIN run AS r USING (run_id) WHERE r.night_id = ? AND " \
        "r.purpose <> 'confirm'"
    return (
        rows(database, "SELECT DISTINCT suite, kernel, dtype, statistic, cases, value, status "
             + of_night.format("suite_score") + " ORDER BY 1, 2, 3, 4", (night,)),
        rows(database, "SELECT DISTINCT suite, case_id, kind, standing "
             + of_night.format("run_change") + " ORDER BY 1, 2, 3", (night,)),
        rows(database, "SELECT DISTINCT suite, name, status " + of_night.format("diff")
             + " ORDER BY 1, 2", (night,)),
    )


def verdicts(database, night):
    """Returns the number of cases of a night for each verdict and confirmation."""
    return dict(((verdict, said), count) for verdict, said, count in rows(
        database, "SELECT verdict, confirmation, count(*) FROM outcome JOIN run USING (run_id) "
        "WHERE night_id = ? AND purpose <> 'confirm' GROUP BY 1, 2", (night,)))


class FleetTest(unittest.TestCase):
    """A directory with a suite, which is deleted after the test."""

    maxDiff = 2000

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-fleet-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.suite = self.directory / "fleet.toml"
        self.suite.write_text(SUITE, encoding="utf-8")

    def environment(self, planted=USUAL):
        options = "" if planted == WORSE else planted
        return os.environ | {"PLANTED_OPTIONS": options, "PLUMBLINE_COMMIT": "0123abc"}

    def command(self, *words, planted=USUAL, code=None, timeout=600):
        """Runs a program in the directory; fails the test if it ends with another code."""
        done = subprocess.run([str(word) for word in words], cwd=self.directory,
                              env=self.environment(planted), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        if code is not None:
            expected = code if isinstance(code, tuple) else (code,)
            self.assertIn(done.returncode, expected, done.stdout[-4000:])
        return done

    def plumbline(self, *words, **how):
        return self.command(PLUMBLINE, *words, **how)

    def run_options(self):
        return ("--no-default-provider", "--provider", PLANTED, "--jobs", "1")

    def measure(self, night, database, *more, **how):
        """Runs the suite, or a shard of it."""
        return self.plumbline("run", self.suite, "--purpose", "nightly", "--night", night, "--db",
                              database, "--quiet", *self.run_options(), *more, **how)

    def write_history(self, nights=2):
        """Writes history.db with nights without findings."""
        for night in range(nights):
            self.measure(f"before-{night}", "history.db", code=0)

    def measure_shards(self, night, shards=4, planted=USUAL, costs="history.db"):
        """Writes shard-1.db and so on, without a past to compare with."""
        for shard in range(1, shards + 1):
            self.measure(night, f"shard-{shard}.db", "--shard", f"{shard}/{shards}", "--costs",
                         costs, planted=planted, code=0)
        return [f"shard-{shard}.db" for shard in range(1, shards + 1)]

    def assert_same_night(self, one, other, night):
        """Compares row by row, except for times and run ids."""
        before, after = outcomes(self.directory / one, night), outcomes(self.directory / other,
                                                                        night)
        self.assertGreater(len(before), 0)
        self.assertEqual(len(before), len(after))
        for left, right in zip(before, after):
            self.assertEqual(left, right)
        self.assertEqual(night_tables(self.directory / one, night),
                         night_tables(self.directory / other, night))
