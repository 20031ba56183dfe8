"""ci/check_prose.py on planted comments, names and pages."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
import check_prose  # noqa: E402

# Rule -> a comment that it flags, and one that says the same in plain English.
PAIRS = {
    "C1": ("Of each outcome the commit.", "The commit of each outcome."),
    "C2": ("Whether the run ended.", "Returns true if the run ended."),
    "C4": ("What a run costs.", "The cost of a run."),
    "C5": ("Those that the layout needs.", "Tensors that the layout needs."),
    "C6": ("Reruns that nobody asked for.", "Reruns that the user did not request."),
    "C7": ("A missing file is said.", "Reports a missing file."),
    "C8": ("The text is no date.", "There is no date in the text; the text is not a date."),
    "C9": ("Bytes behind the tensor.", "Bytes after the tensor, which lag behind."),
    "C10": ("Empty, else the newest.", "Empty; otherwise the newest."),
    "C11": ("Waits for so many rounds.", "Takes so many that they collide."),
}


class PlantedTree(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-prose."))
        self.addCleanup(shutil.rmtree, self.folder)
        subprocess.run(["git", "init", "-q", self.folder], check=True)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def rules(self):
        return [rule for rule, *_ in check_prose.count(self.folder).hits]

    def errors(self):
        return [message for _, _, message in check_prose.errors(self.folder)]

    def test_every_rule_flags_its_pattern_alone(self):
        self.assertEqual(set(PAIRS), set(check_prose.COMMENT_RULES))
        for rule, (bad, good) in PAIRS.items():
            with self.subTest(rule=rule):
                for form in ("// {}\nint a;\n", "int a;  // {}\n", "/* {} */\nint a;\n"):
                    self.write("a.cc", form.format(bad))
                    self.assertEqual(self.rules(), [rule])
                    self.write("a.cc", form.format(good))
                    self.assertEqual(self.rules(), [])
                (self.folder / "a.cc").unlink()
                for form in ("# {}\na = 1\n", '"""{}"""\n'):
                    self.write("a.py", form.format(bad))
                    self.assertEqual(self.rules(), [rule])
                (self.folder / "a.py").unlink()

    def test_lines_of_a_comment_are_one_and_strings_are_none(self):
        self.write("a.cc", '// A file, which somebody\n// else has.\nauto a = "// nobody";\n')
        counts = check_prose.count(self.folder)
        self.assertEqual((counts.comments, [hit[2] for hit in counts.hits]), (1, [1]))

    def test_names_of_identifiers_and_tests(self):
        self.write("a.h", "int least_bytes;\nint count_of_nobody_asked();\nint most_frequent;\n")
        self.assertEqual(self.rules(), ["N1", "N1"])
        long = "OneTwoThreeFourFiveSixSevenEight"
        self.write("a.h", f"TEST(Suite, {long}) {{}}\n"
                   "TEST_F(Suite, UnmatchedEntryIsAnError) {}\n")
        self.assertEqual(self.rules(), [])
        for name in (long + "Nine", "TheFileIsMissing", "ErrorsSayWhatItIs"):
            self.write("a.h", f"TEST(Suite, {name}) {{}}\n")
            self.assertEqual(self.rules(), ["T1"], name)

    def test_a_count_above_the_baseline_fails(self):
        self.write("harness/base/a.cc", "// What it is.\nint a;\n")
        (self.folder / "ci").mkdir()
        check_prose.write_baseline(self.folder, "HEAD", {"C4": 1}, {("C4", "harness/base"): 1})
        self.assertEqual(self.errors(), [])
        self.write("harness/base/b.cc", "// What it was.\nint b;\n")
        self.assertEqual([text.split(":")[0] for text in self.errors()],
                         ["prose C4 (2 hits, limit 1)"] * 2)
        self.write("harness/base/b.cc", "// What it was. prose: ok\nint b;\n")
        self.assertEqual(self.errors(), [])
        self.write("harness/base/b.cc", "\nint b;  // prose: ok\n" * 31)
        self.assertIn("31 comments are exempt", self.errors()[0])

    def test_subjects_of_commits(self):
        for subject, bad in (("store: read rows once", False), ("store: the rows", True),
                             ("store: read rows; sort", True), ("store: read " + "x" * 70, True)):
            self.assertEqual(check_prose.is_bad_subject(subject), bad, subject)

    def test_a_bad_subject_after_the_first_commit_fails(self):
        def commit(subject):
            subprocess.run(["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b",
                            "commit", "-q", "--allow-empty", "-m", subject], check=True)
        commit("The first; of all")
        subprocess.run(["git", "-C", self.folder, "tag", "begin"], check=True)
        (self.folder / "ci").mkdir()
        check_prose.write_baseline(self.folder, "begin", {}, {})
        commit("store: read rows once")
        self.assertEqual(self.errors(), [])
        commit("store: the rows; sorted")
        self.assertIn("prose G1 (1 hits, limit 0): store: the rows; sorted", self.errors()[0])

    def test_pages_have_limits_of_words(self):
        sentence = " ".join(["word"] * 31) + ". "
        self.write("docs/a.md", "# A\n\n" + ("Short. " + sentence) * 10)
        self.assertIn("(limit 30)", self.errors()[0])
        self.write("docs/a.md", "A short sentence.\n\n```\n" + "word " * 50 + "\n```\n")
        self.assertEqual(self.errors(), [])
        self.write("docs/a.md", "word. " * 55001)
        self.assertIn("55001 words", self.errors()[0])


if __name__ == "__main__":
    unittest.main()
