"""A slower kernel, measured by shards without a past, is confirmed by the second job."""
import json
import unittest

from fleet import WORSE, FleetTest, rows

TIMED_SUITE = """
schema = 1
name = "fleet"
[[group]]
name = "usual"
reason = "series that stay as they are: a shift of all series would make the night suspect"
tier = "smoke"
kernels = ["cpu/flash"]
timed = true
set = { heads_q = 2, heads_kv = 1, dtype = "bf16" }
product = { seq = [64, 80, 96, 112, 128] }
[[group]]
name = "slower"
reason = "the series that becomes slower"
tier = "smoke"
kernels = ["cpu/split_kv"]
timed = true
set = { heads_q = 2, heads_kv = 1, dtype = "bf16" }
product = { seq = [128] }
"""
NIGHTS = 12  # two more than the gate needs before it judges
SLOWER = "slow=3,only=cpu/split_kv"


class Times(FleetTest):
    def setUp(self):
        super().setUp()
        self.suite.write_text(TIMED_SUITE, encoding="utf-8")

    def run_options(self):
        return super().run_options() + ("--repetitions", "3")

    def verdict(self):
        return rows(self.directory / "history.db",
                    "SELECT verdict, confirmation FROM outcome JOIN attention_case USING (case_key)"
                    " JOIN run USING (run_id) WHERE night_id = 'tonight' AND purpose <> 'confirm'"
                    " AND kernel = 'cpu/split_kv'")

    def test_a_slower_kernel(self):
        for night in range(NIGHTS):
            # Other work on this machine may look like a change of the other series.
            self.measure(f"before-{night}", "history.db", planted=WORSE, code=(0, 1, 5))
        for shard in (1, 2):
            self.measure("tonight", f"shard-{shard}.db", "--shard", f"{shard}/2", "--costs",
                         "history.db", planted=SLOWER, code=0)
        self.plumbline("merge", "history.db", "shard-1.db", "shard-2.db", "--judge",
                       "--confirmations", "open.json", code=(1, 5))
        self.assertEqual(self.verdict(), [("unconfirmed", "")])
        opened = json.loads((self.directory / "open.json").read_text())["cases"]
        slower = [c for c in opened if c["case_id"].startswith("cpu/split_kv")]
        self.assertEqual(len(slower), 1)
        self.assertEqual(slower[0]["statistic"], "time")
        self.plumbline("confirm", "open.json", "--db", "confirm.db", "--past", "history.db",
                       planted=SLOWER, code=0)
        self.plumbline("merge", "history.db", "confirm.db", "--judge", code=1)
        self.assertEqual(self.verdict(), [("regressed", "confirmed")])
        asked = rows(self.directory / "history.db",
                     "SELECT json_array_length(fresh_ratios) FROM outcome JOIN run USING (run_id) "
                     "JOIN attention_case USING (case_key) WHERE night_id = 'tonight' AND "
                     "purpose <> 'confirm' AND kernel = 'cpu/split_kv'")
        self.assertEqual(asked, [(slower[0]["processes"],)])


if __name__ == "__main__":
    unittest.main()
