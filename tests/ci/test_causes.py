"""Tests ci/causes.py without running plumbline: which sentences count as right, that its table of
planted failures is consistent, how its mutants were drawn, and that a changed result is named. Only
the standard library is needed."""
import contextlib
import hashlib
import io
import pathlib
import re
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
import causes  # noqa: E402  pylint: disable=wrong-import-position

# Places as harness/diagnose prints them.
PLACES = (
    "heads 0, 1 of 4 are wrong, the others right",
    "rows 16 to 31 of 96 compared are wrong, the others right, 98 % of the squared error in column "
    "3",
    "column 5 of 64 is wrong, the others right",
    "head 1 of 4 is wrong, the others are right",
    "head 1 of sample 0 is wrong, the others are right",
    "key 5 of key head 1 in sample 0 weighs too much",
    "key 95, the sample's last key, of key head 1 in sample 0 weighs too little",
    "the last visible key weighs too much",
    "the key before the first visible one is seen",
    "the logits are too large (softmax scale, softcap or exp2)",
    "the outputs are too small (denominator, rescale or truncation)",
    "the outputs are 0.94 % too small (denominator, rescale or numbers that are cut off)",
    "values outside the range of v, which no weighted mean can reach",
    "only the LSE is beyond its limit")
# Sentences that name several causes, and the planted failures for which they are right.
GENERAL = {
    "the softmax denominator is too large, by up to 3.2 times: it counts keys twice or keys that "
    "are hidden, or a rescale is wrong":
        ("mutants/mask_tail_only_when_causal",),
    "the softmax denominator is too small, by up to 3.2 times: it misses keys, or a rescale is "
    "wrong": (),
    "the outputs are 20 % too small: the last division, a rescale, or numbers that are cut off "
    "instead of rounded; the LSE is not affected": ("mutants/precision_output_13_bits",),
    "elements never written: a tail of rows, heads or columns that no thread covers":
        ("mutants/memory_empty_rows_unwritten", "mutants/memory_lse_unwritten"),
    "NaN: a row divided by a denominator of 0 (all keys masked), inf - inf, or memory that was "
    "never written":
        ("mutants/softmax_zero_by_zero", "mutants/softmax_nan_from_masked_tile",
         "mutants/precision_raw_scores_fp16"),
    "infinity: an overflow, as of fp16 beyond 65504, or a division by 0":
        ("mutants/softmax_lazy_by_step", "mutants/precision_raw_scores_fp16"),
    "rows that see no key: their output is 0 and their LSE -inf by definition, not a mean or a "
    "division by 0": ("planted/lse_plus_infinity", "mutants/softmax_zero_by_zero"),
    "a sum that must be exact with these inputs is inexact: an element is dropped, repeated, or "
    "rounded twice": (),
    "the kernel is not deterministic: two calls with the same inputs differ by up to 3 sigma, and "
    "the error is 3 sigma. It has a race, keeps state of an earlier call, reads memory that was "
    "never written, or draws random numbers (dropout)": ("mutants/stale_accumulator",),
}
NOT_LOOKED_FOR = "not looked for: the run's time for causes was spent"
UNFINISHED = " (not looked into further: the time of a search was spent)"
# Mutants with a reported bug that no case of cases/audit.toml catches, so that none was drawn.
NOT_CAUGHT = {"precision_exp2_two_ulp_low", "precision_prescale_in_sum",
              "precision_prescale_missing"}
DRAWN = 60


def table():
    return tomllib.loads((causes.FOLDER / "planted.toml").read_text(encoding="utf-8"))["planted"]


def catalogue():
    path = ROOT / "kernels" / "mutants" / "mutants.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]


class Judged(unittest.TestCase):
    FAILURE = {"kernel": "planted/k", "says": "length|the window is 3", "or_where": "window"}

    def judged(self, cause, **more):
        return causes.judged({**self.FAILURE, **more}, cause)

    def test_expected_sentence_is_right_and_any_other_wrong(self):
        self.assertEqual(self.judged("The window is 3 keys too wide"), "right")
        self.assertEqual(self.judged("without the window"), "unknown")
        self.assertEqual(self.judged("the output is all zeros"), "wrong")
        self.assertEqual(self.judged(None), "not failed")

    def test_no_sentence_is_unknown(self):
        for cause in ("", NOT_LOOKED_FOR):
            self.assertEqual(self.judged(cause), "unknown")

    def test_place_is_unknown_even_with_expected_words(self):
        for place in PLACES:
            self.assertIsNotNone(causes.LOCATION.fullmatch(place), place)
            for cause in (place, place + UNFINISHED):
                self.assertEqual(self.judged(cause, says="."), "unknown", cause)
                self.assertEqual(self.judged(cause, says=".", place_is_answer=True), "right")

    def test_place_with_a_cause_is_no_place(self):
        cause = PLACES[1].partition(",")[0] + ": would be explained without the causal mask"
        self.assertEqual(self.judged(cause, says="causal mask"), "right")


class Sources(unittest.TestCase):
    """The sentences above are still those of harness/diagnose."""

    def setUp(self):
        texts = [path.read_text(encoding="utf-8")
                 for path in sorted((ROOT / "harness" / "diagnose").glob("*.cc"))]
        self.source = re.sub(r'"\s*\n\s*"', "", "\n".join(texts)).replace("{:.0f}", "{}")

    def assert_printed(self, words):
        self.assertTrue(words in self.source, f"harness/diagnose does not have: {words}")

    def test_diagnose_prints_every_place(self):
        for words in (" wrong, the others right", " of sample {} is wrong, the others are right",
                      "{} % of the squared error in column ", ", the sample's last key,",
                      "the last visible key weighs {}", "the key before the first visible one is "
                      "seen", "the logits are {} (softmax scale, softcap or exp2)",
                      "the outputs are {} (denominator, rescale or truncation)",
                      "too {} (denominator, rescale or numbers that are cut off)",
                      "values outside the range of v, which no weighted mean can reach",
                      "only the LSE is beyond its limit", "not looked for: {} was spent",
                      " (not looked into further: {} was spent)"):
            self.assert_printed(words)

    def test_diagnose_prints_every_general_sentence(self):
        for sentence in GENERAL:
            self.assert_printed(sentence.rpartition(": ")[2].rpartition("sigma. ")[2])


class OwnTable(unittest.TestCase):
    def setUp(self):
        self.table = table()
        self.names = [failure["kernel"] for failure in self.table]

    def test_kernels_and_groups_exist_and_are_used(self):
        self.assertEqual(len(set(self.names)), len(self.names))
        source = (causes.FOLDER / "planted.py").read_text(encoding="utf-8")
        planted = {"planted/" + name for name in re.findall(r'^planted\("(\w+)"', source, re.M)}
        self.assertEqual({name for name in self.names if name.startswith("planted/")},
                         planted - {"planted/none"})
        suite = tomllib.loads((causes.FOLDER / "planted_suite.toml").read_text(encoding="utf-8"))
        self.assertEqual({failure["group"] for failure in self.table if "group" in failure},
                         {group["name"] for group in suite["group"]})

    def test_mutants_are_drawn_by_hash(self):
        reported = [mutant["name"] for mutant in catalogue()
                    if "zoo" in mutant and mutant["class"] != "race"]
        order = sorted(set(reported) - NOT_CAUGHT,
                       key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        self.assertEqual({name for name in self.names if name.startswith("mutants/")},
                         {"mutants/" + name for name in order[:DRAWN]})

    def test_general_sentence_is_right_only_where_listed(self):
        for sentence, kernels in GENERAL.items():
            self.assertEqual({failure["kernel"] for failure in self.table
                              if causes.judged(failure, sentence) == "right"}, set(kernels),
                             sentence)

    def test_place_is_the_answer_only_for_one_column(self):
        right = {failure["kernel"] for failure in self.table for place in PLACES
                 if causes.judged(failure, place) == "right"}
        self.assertEqual(right, {"planted/one_column"})

    def test_recorded_classes_are_of_the_table(self):
        recorded = causes.read_classes(causes.CLASSES)
        self.assertLessEqual(set(recorded), set(self.names))
        self.assertLessEqual(set(recorded.values()), set(causes.RESULTS))
        self.assertTrue(recorded)


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # A program whose every run fails in one case, for the cause that its kernel names.
        self.program = self.folder / "plumbline"
        self.program.write_text(f"""#!{sys.executable}
import sqlite3, sys
given = sys.argv[1:]
print(*given, file=open({str(self.folder / "calls")!r}, "a"))
cause = {{"planted/zeros": "the output is all zeros", "planted/negated": "no idea"}}[
    given[given.index("--kernel") + 1]]
db = sqlite3.connect(given[given.index("--db") + 1])
db.executescript('''CREATE TABLE outcome (verdict, cause, case_key, peak, faults_nan, faults_inf,
  faults_unwritten, faults_empty_rows); CREATE TABLE attention_case (case_key, case_id);
  CREATE TABLE verdict (verdict, is_failure); INSERT INTO verdict VALUES ('fail', 1);
  INSERT INTO attention_case VALUES (1, 'case')''')
db.execute("INSERT INTO outcome VALUES ('fail', ?, 1, 9, 0, 0, 0, 0)", (cause,))
db.commit()
""", encoding="utf-8")
        self.program.chmod(0o755)
        self.addCleanup(setattr, causes, "CLASSES", causes.CLASSES)
        causes.CLASSES = self.folder / "classes.csv"
        self.record("planted/zeros,right")

    def record(self, *rows):
        causes.CLASSES.write_text("\n".join(("kernel,class", *rows)) + "\n", encoding="utf-8")

    def said(self, *given, code=0):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(causes.main(["--plumbline", str(self.program), *given]), code,
                             out.getvalue())
        return out.getvalue()

    def test_recorded_result_passes(self):
        said = self.said("--only", "planted/zeros")
        self.assertIn("1 right, 0 unknown, 0 wrong, 0 not failed of 1", said)

    def test_changed_result_fails(self):
        self.record("planted/zeros,unknown")
        said = self.said("--only", "planted/zeros", code=1)
        self.assertIn("changed: planted/zeros: right, was unknown; next: mend it", said)
        self.record("planted/negated,right")
        self.assertIn("planted/zeros: right, was not recorded",
                      self.said("--only", "planted/zeros", code=1))

    def test_accept_keeps_other_rows_and_the_order_of_the_table(self):
        self.record("planted/zeros,unknown", "planted/lse_base_2,wrong", "planted/gone,right")
        self.said("--accept", "--only", "planted/negated", code=1)  # wrong, so too few are right
        self.said("--accept", "--only", "planted/zeros")
        self.assertEqual(causes.CLASSES.read_text(encoding="utf-8"),
                         "kernel,class\nplanted/lse_base_2,wrong\nplanted/zeros,right\n"
                         "planted/negated,wrong\n")

    def test_time_is_that_of_run_unless_given(self):
        self.assertIn("cause: default of run\n", self.said("--only", "planted/zeros"))
        calls = (self.folder / "calls").read_text(encoding="utf-8")
        self.assertNotIn("--cause-seconds", calls)
        said = self.said("--only", "planted/zeros", "--cause-seconds", "600")
        self.assertIn("cause: --cause-seconds 600\n", said)
        calls = (self.folder / "calls").read_text(encoding="utf-8")
        self.assertIn("--cause-seconds 600", calls)


if __name__ == "__main__":
    unittest.main()
