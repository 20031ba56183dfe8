"""Four separate shards, merged and judged, equal the unsharded night row by row."""
import json
import shutil
import unittest

from fleet import USUAL, WORSE, FleetTest, outcomes, rows, verdicts


class ShardsEqualTheWhole(FleetTest):
    def whole_night(self, planted, code):
        shutil.copy(self.directory / "history.db", self.directory / "whole.db")
        self.measure("tonight", "whole.db", planted=planted, code=code)

    def test_a_night_without_a_finding(self):
        self.write_history()
        self.whole_night(USUAL, 0)
        shards = self.measure_shards("tonight")
        self.plumbline("merge", "history.db", *shards, "--judge", "--confirmations", "open.json",
                       code=0)
        self.assertEqual(json.loads((self.directory / "open.json").read_text())["cases"], [])
        self.assert_same_night("whole.db", "history.db", "tonight")
        # Merging again in another order changes nothing.
        before = outcomes(self.directory / "history.db", "tonight")
        self.plumbline("merge", "history.db", *reversed(shards), "--judge", code=0)
        self.assertEqual(outcomes(self.directory / "history.db", "tonight"), before)

    def test_a_planted_regression_is_confirmed_by_the_second_job(self):
        self.write_history()
        self.whole_night(WORSE, 1)
        self.assertIn(("regressed", "confirmed"), verdicts(self.directory / "whole.db", "tonight"))
        shards = self.measure_shards("tonight", planted=WORSE)
        merged = self.plumbline("merge", "history.db", *shards, "--judge", "--confirmations",
                                "open.json", code=5)
        self.assertIn("plumbline confirm", merged.stdout)
        opened = json.loads((self.directory / "open.json").read_text())
        regressed = verdicts(self.directory / "whole.db", "tonight")[("regressed", "confirmed")]
        self.assertEqual(len(opened["cases"]), regressed)
        self.assertEqual({c["suite"] for c in opened["cases"]}, {"fleet"})
        self.plumbline("confirm", "open.json", "--db", "confirm.db", "--past", "history.db",
                       planted=WORSE, code=0)
        self.plumbline("merge", "history.db", "confirm.db", "--judge", code=1)
        self.assert_same_night("whole.db", "history.db", "tonight")
        # Judging again does not change a confirmed finding.
        self.plumbline("merge", "history.db", *shards, "confirm.db", "--judge", code=1)
        self.assert_same_night("whole.db", "history.db", "tonight")
        # A confirmed regression and its reruns are not baselines, so the next night finds it again.
        self.measure("next", "history.db", planted=WORSE, code=1)

    def test_what_fresh_processes_do_not_see_is_no_regression(self):
        self.write_history()
        shards = self.measure_shards("tonight", planted=WORSE)
        self.plumbline("merge", "history.db", *shards, "--judge", "--confirmations", "open.json",
                       code=5)
        self.plumbline("confirm", "open.json", "--db", "confirm.db", "--past", "history.db", code=0)
        self.plumbline("merge", "history.db", "confirm.db", "--judge", code=0)
        found = verdicts(self.directory / "history.db", "tonight")
        self.assertNotIn("unconfirmed", {verdict for verdict, _ in found})
        self.assertIn("refuted", {said for _, said in found})

    def test_a_missing_shard_and_one_divided_otherwise_are_named(self):
        self.write_history(1)
        shards = self.measure_shards("tonight")
        missing = self.plumbline("merge", "three.db", *shards[:3], "--judge", code=3)
        self.assertIn("shard 4/4", missing.stdout)
        # The fourth shard, but partitioned by costs that the other shards did not have.
        (self.directory / "shard-4.db").unlink()
        self.measure("tonight", "shard-4.db", "--shard", "4/4", "--match", "*", "--tier", "smoke",
                     "--costs", "shard-1.db", code=0)
        partitions = {row[0] for shard in shards for row in rows(
            self.directory / shard,
            "SELECT json_extract(versions_json, '$.shard.partition') FROM run")}
        self.assertEqual(len(partitions), 2, partitions)
        runs = [rows(self.directory / shard, "SELECT run_id FROM run")[0][0] for shard in shards]
        self.plumbline("merge", "four.db", *shards, code=0)
        refused = self.plumbline("judge", *runs, "--db", "four.db", code=3)
        for partition in partitions:
            self.assertIn(partition, refused.stdout)

    def test_lists_that_are_none_are_refused(self):
        self.write_history(1)
        (self.directory / "open.json").write_text("{}")
        refused = self.plumbline("confirm", "open.json", "--db", "c.db", "--past", "history.db",
                                 code=2)
        self.assertIn("is no list of open cases", refused.stdout)
        self.assertFalse((self.directory / "c.db").exists())
        self.plumbline("merge", "out.db", "history.db", "--confirmations", "o.json", code=2)


if __name__ == "__main__":
    unittest.main()
