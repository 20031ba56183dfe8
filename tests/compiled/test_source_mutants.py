"""Tests ci/source_mutants.py without a compiler: its table, the exactly-once rule, the copy of a
source, and which mutants count as caught. Needs only the standard library."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
import source_mutants  # noqa: E402  pylint: disable=wrong-import-position

MUTANT = {"name": "m", "bug": "b", "provider": "flashinfer", "instance": "i", "file": "a/b.h",
          "pattern": "x = ([0-9])", "replacement": r"y = \1", "cases": ["ragged"]}
TEXT = "void f(int) {\n  x = 1;\n}\nvoid g() {\n  x = 2;\n}\n"


def written(mutant):
    """The mutant as TOML."""
    return "schema = 1\n[[mutant]]\n" + "".join(
        f"{field} = {json.dumps(value)}\n" for field, value in mutant.items())


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, called, *parts, **options):
        with self.assertRaises(source_mutants.Refused) as raised:
            called(**options)
        for part in parts:
            self.assertIn(part, str(raised.exception))

    def read(self, text):
        path = self.folder / "table.toml"
        path.write_text(text, encoding="utf-8")
        return source_mutants.read_table(path)


class Table(Case):
    def test_own_table_is_complete(self):
        mutants = source_mutants.read_table(ROOT / "tests/compiled/source_mutants.toml")
        self.assertGreaterEqual(len(mutants), 10)
        for mutant in mutants:
            suite = tomllib.loads((ROOT / "tests/compiled" / (
                f"source_mutants_{mutant['provider']}.toml")).read_text(encoding="utf-8"))
            self.assertEqual(suite["name"], "source_mutants")
            self.assertLessEqual(set(mutant["cases"]), {group["name"] for group in suite["group"]})

    def test_own_patterns_match_once_where_the_sources_are(self):
        sources = ROOT / ".providers"
        for mutant in source_mutants.read_table(ROOT / "tests/compiled/source_mutants.toml"):
            path = sources / mutant["file"]
            if path.is_file():
                source_mutants.mutate(path.read_text(encoding="utf-8"), mutant)

    def test_reads_a_mutant(self):
        self.assertEqual(self.read(written(MUTANT)), [MUTANT])

    def test_each_field_is_needed(self):
        for field in MUTANT:
            without = {name: value for name, value in MUTANT.items() if name != field}
            self.refused(self.read, f"{field} is missing", text=written(without))

    def test_names_what_is_wrong(self):
        self.refused(self.read, "mutant m", "colour is unknown",
                     text=written({**MUTANT, "colour": "red"}))
        self.refused(self.read, "provider cudnn is not one of flashinfer",
                     text=written({**MUTANT, "provider": "cudnn"}))
        self.refused(self.read, "pattern: ", text=written({**MUTANT, "pattern": "("}))
        self.refused(self.read, "cases is empty", text=written({**MUTANT, "cases": []}))
        self.refused(self.read, "the name is there twice",
                     text=written(MUTANT) + written(MUTANT).removeprefix("schema = 1\n"))
        self.refused(self.read, "schema = 1 is expected", text="schema = 2\n")
        self.refused(self.read, "no [[mutant]]", text="schema = 1\n")
        self.refused(self.read, "table.toml", text="schema = \n")

    def test_only(self):
        self.assertEqual(source_mutants.chosen_of([MUTANT], ["m"]), [MUTANT])
        self.refused(source_mutants.chosen_of, "no mutant n", "--list", mutants=[MUTANT],
                     only=["m", "n"])


class ExactlyOnce(Case):
    def mutate(self, **changes):
        return source_mutants.mutate(TEXT, {**MUTANT, **changes})

    def test_in_the_function(self):
        self.assertEqual(self.mutate(function="void g("), TEXT.replace("x = 2", "y = 2"))
        self.assertEqual(self.mutate(function="void f("), TEXT.replace("x = 1", "y = 1"))

    def test_in_the_file(self):
        self.assertEqual(self.mutate(pattern="x = (2)"), TEXT.replace("x = 2", "y = 2"))

    def test_counts_name_the_file(self):
        self.refused(self.mutate, "mutant m", "matches 2 times", "a/b.h")
        self.refused(self.mutate, "matches 0 times", "\"void f(\"", "a/b.h", pattern="x = (2)",
                     function="void f(")
        self.refused(self.mutate, "\"void \" occurs 2 times", "a/b.h", function="void ")
        self.refused(self.mutate, "\"void h(\" occurs 0 times", function="void h(")

    def test_changes_something(self):
        self.refused(self.mutate, "changes nothing", pattern="x = 2", replacement="x = 2")


class Mirror(Case):
    def test_writes_one_file_and_links_the_rest(self):
        source, to = self.folder / "source", self.folder / "to"
        for name in ("a/b.h", "a/c.h", "d/e.h"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(name)
        for text in ("changed", "a/b.h"):
            source_mutants.mirror(source, to, {"a/b.h": text})
            self.assertEqual((to / "a/b.h").read_text(), text)
            self.assertFalse((to / "a/b.h").is_symlink())
            self.assertEqual((source / "a/b.h").read_text(), "a/b.h")
        self.assertTrue((to / "a/c.h").is_symlink() and (to / "d").is_symlink())
        self.assertEqual((to / "d/e.h").read_text(), "d/e.h")

    def test_other_files_of_an_earlier_run_are_as_they_were(self):
        source, to = self.folder / "source", self.folder / "to"
        for name in ("a/b.h", "a/c.h", "d/e.h"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(name)
        source_mutants.mirror(source, to, {"a/b.h": "changed"})
        source_mutants.mirror(source, to, {"d/e.h": "changed"})
        self.assertEqual((to / "a/b.h").read_text(), "a/b.h")
        self.assertEqual((to / "d/e.h").read_text(), "changed")

    def test_leaves_what_did_not_change(self):
        source, to = self.folder / "source", self.folder / "to"
        source.mkdir()
        (source / "a.h").write_text("a")
        source_mutants.mirror(source, to, {"a.h": "b"})
        before = (to / "a.h").stat().st_mtime_ns
        source_mutants.mirror(source, to, {"a.h": "b"})
        self.assertEqual((to / "a.h").stat().st_mtime_ns, before)


class Verdict(unittest.TestCase):
    def test_what_ran_out_of_time_shows_no_bug(self):
        cases = [{"verdict": "fail", "status": "ok"}, {"verdict": "fail", "status": "timeout"},
                 {"verdict": "pass", "status": "ok"}]
        self.assertEqual(source_mutants.fails(cases), cases[:1])

    def test_names_the_case_furthest_beyond_its_limit(self):
        cases = [{"percent_of_limit": 200, "nearest_statistic": "rms", "cause": "a"},
                 {"percent_of_limit": 900, "nearest_statistic": "peak", "cause": "",
                  "location": {"description": "tile edge"}}]
        self.assertEqual(source_mutants.of_worst(cases), ("peak", "tile edge"))
        self.assertEqual(source_mutants.of_worst([{"faults": {"nan": 3}, "repeat_equal": False}]),
                         ("3 NaN, two runs differ", ""))
        self.assertEqual(source_mutants.of_worst([{"status": "crash", "reason": "x\ny"}]),
                         ("crash", "x"))


class CommandLine(unittest.TestCase):
    def said(self, *given):
        """Exit code, standard output and standard error."""
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                code = source_mutants.main(given)
            except SystemExit as ended:
                code = ended.code
        return code, out.getvalue(), error.getvalue()

    def test_help_has_examples(self):
        code, out, _ = self.said("--help")
        self.assertEqual(code, 0)
        self.assertIn("--only last_key_dropped", out)

    def test_list(self):
        code, out, _ = self.said("--list", "--only", "next_page")
        self.assertEqual(code, 0)
        self.assertEqual(len(out.splitlines()), 2)

    def test_wrong_command_lines(self):
        for given, said in ((("--only", "nobody"), "no mutant nobody"),
                            (("--plumbline", "/nowhere"), "/nowhere is not a program"),
                            (("--jobs", "0"), "--jobs: 1 or more"),
                            (("--colour",), "--colour"),
                            (("--table", "/nowhere.toml"), "/nowhere.toml"),
                            (("--plumbline", sys.executable, "--sources", "/nowhere"),
                             "ci/setup.sh --providers")):
            code, _, error = self.said(*given)
            self.assertEqual(code, 2, given)
            self.assertIn(said, error)


if __name__ == "__main__":
    unittest.main()
