"""Tests ci/harness_mutants.py without a compiler: its table fits today's tree, wrong tables are
refused, the copy follows the checkout, and which results count as killed. Only the standard library
is needed."""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
import harness_mutants  # noqa: E402  pylint: disable=wrong-import-position

MUTANT = {"name": "m", "bug": "b", "file": "harness/base/text.cc", "pattern": "f(x)",
          "replacement": "g(x)", "tests": {"test_base": "TextTest.*"}}
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), *(\w+)", re.MULTILINE)


def as_toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def written(*mutants):
    """Returns a table of these mutants."""
    return "schema = 1\n" + "".join("[[mutant]]\n" + "".join(
        f"{field} = {as_toml(value)}\n" for field, value in mutant.items()) for mutant in mutants)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def refused(self, called, *parts, **options):
        with self.assertRaises(harness_mutants.Refused) as raised:
            called(**options)
        for part in parts:
            self.assertIn(part, str(raised.exception))

    def said(self, *given):
        """Returns exit code, standard output and standard error of the program."""
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                code = harness_mutants.main([str(word) for word in given])
            except SystemExit as ended:
                code = ended.code
        return code, out.getvalue(), error.getvalue()


class OwnTable(unittest.TestCase):
    def setUp(self):
        self.mutants = harness_mutants.read_table(harness_mutants.TABLE)

    def test_has_mutants_of_12_folders_and_65_of_reference_and_judge(self):
        folders = [mutant["file"].split("/")[1] for mutant in self.mutants]
        self.assertGreaterEqual(len(set(folders)), 12, set(folders))
        self.assertGreaterEqual(folders.count("reference") + folders.count("judge"), 65)

    def test_every_pattern_matches_once_in_this_tree(self):
        harness_mutants.check_places(self.mutants)

    def test_every_program_and_filter_is_there(self):
        texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("*/*.cc")]
        known = {f"{suite}.{name}" for text in texts for suite, name in TEST.findall(text)}
        builds = "".join(path.read_text(encoding="utf-8")
                         for path in (ROOT / "tests").glob("*/CMakeLists.txt"))
        for mutant in self.mutants:
            for program, tests in mutant["tests"].items():
                # tests/store makes its programs, test_store_TOPIC, in a loop
                source = "store/test_" + program.removeprefix("test_store_") + ".cc"
                self.assertTrue(f"({program}\n" in builds or f"({program} " in builds or
                                (ROOT / "tests" / source).exists(), program)
                wanted = re.compile(re.escape(tests).replace(r"\*", ".*"))
                self.assertTrue(any(wanted.fullmatch(test) for test in known), tests)


class Table(Case):
    def read(self, text):
        return harness_mutants.read_table(self.write("table.toml", text))

    def test_reads_a_mutant(self):
        self.assertEqual(self.read(written(MUTANT)), [MUTANT])

    def test_each_field_is_needed(self):
        for field in MUTANT:
            without = {name: value for name, value in MUTANT.items() if name != field}
            self.refused(self.read, f"{field} is missing", text=written(without))

    def test_names_what_is_wrong(self):
        for changes, said in (({"colour": "red"}, "colour is unknown"),
                              ({"file": "kernels/cpu/flash.cc"}, "is not in harness/"),
                              ({"file": "harness/../ci/setup.sh"}, "is not in harness/"),
                              ({"bug": " "}, "bug is empty"),
                              ({"pattern": ""}, "pattern is empty"),
                              ({"tests": {}}, "tests is empty"),
                              ({"tests": {"test_base": ""}}, "tests of test_base"),
                              ({"tests": {"test_base": 7}}, "tests of test_base")):
            self.refused(self.read, "mutant m", said, text=written({**MUTANT, **changes}))
        self.refused(self.read, "the name is there twice", text=written(MUTANT, MUTANT))
        self.refused(self.read, "schema = 1 is expected", text="schema = 2\n")
        self.refused(self.read, "no [[mutant]]", text="schema = 1\n")
        self.refused(self.read, "table.toml", text="schema = \n")


class ExactlyOnce(Case):
    def test_the_pattern_is_text_and_so_is_the_replacement(self):
        mutant = {**MUTANT, "pattern": "a[0] + 1", "replacement": r"\1 \n"}
        self.assertEqual(harness_mutants.mutate("x = a[0] + 1;", mutant), r"x = \1 \n;")

    def test_other_counts_and_no_change_are_refused(self):
        for text, said in (("h(x)", "matches 0 times"), ("f(x) f(x)", "matches 2 times")):
            self.refused(harness_mutants.mutate, "mutant m", said, MUTANT["file"], text=text,
                         mutant=MUTANT)
        self.refused(harness_mutants.mutate, "changes nothing", text="f(x)",
                     mutant={**MUTANT, "replacement": "f(x)"})


class Copy(Case):
    def setUp(self):
        super().setUp()
        self.root, self.to = self.folder / "root", self.folder / "to"
        self.write("root/a.cc", "a")
        self.write("root/sub/b.sh", "b").chmod(0o755)
        self.write("root/.gitignore", "/build/\n")
        self.write("root/build/c.o", "c")
        (self.root / "link").symlink_to("a.cc")
        subprocess.run(["git", "init", "-q", self.root], check=True)
        subprocess.run(["git", "-C", self.root, "add", "a.cc"], check=True)

    def copied(self):
        self.written = harness_mutants.copy_files(self.root, self.to,
                                                  harness_mutants.files_of(self.root))
        return sorted(path.relative_to(self.to).as_posix() for path in self.to.rglob("*")
                      if not path.is_dir() or path.is_symlink())

    def test_holds_tracked_and_new_files_but_no_ignored_ones(self):
        self.assertEqual(self.copied(), [".gitignore", "a.cc", "link", "sub/b.sh"])
        self.assertTrue(os.access(self.to / "sub/b.sh", os.X_OK))
        self.assertEqual(os.readlink(self.to / "link"), "a.cc")

    def test_follows_the_checkout_and_touches_only_what_changed(self):
        self.copied()
        self.write("to/build/d.o", "d")
        self.write("to/" + harness_mutants.MARK, "")
        self.write("to/a.cc", "a mutant that an interrupted run left")
        os.utime(self.to / ".gitignore", (1, 1))
        (self.root / "sub/b.sh").unlink()
        self.assertEqual(self.copied(), [".gitignore", harness_mutants.MARK, "a.cc", "build/d.o",
                                         "link"])
        self.assertEqual((self.to / "a.cc").read_text(), "a")
        self.assertEqual(self.written, ["a.cc"])
        self.assertEqual((self.to / ".gitignore").stat().st_mtime, 1)

    def test_the_hash_is_that_of_what_is_built(self):
        def digest():
            return harness_mutants.digest_of(self.root, harness_mutants.files_of(self.root))
        self.write("root/harness/base/a.cc", "a")
        first = digest()
        for path in ("build/c.o", "a.cc", "docs/a.md", "tests/ci/harness_mutants.toml"):
            self.write("root/" + path, "other")
            self.assertEqual(digest(), first, path)
        for path in ("CMakeLists.txt", "ci/cmake/a.cmake", "tests/base/test_a.cc"):
            self.write("root/" + path, "new")
            self.assertNotEqual(digest(), first, path)
            (self.root / path).unlink()
        self.write("root/harness/base/a.cc", "b")
        self.assertNotEqual(digest(), first)

    def test_somebody_elses_folder_is_not_overwritten(self):
        self.refused(harness_mutants.check_folder, "is no copy made by", build=self.folder,
                     copy=self.root)
        self.refused(harness_mutants.check_folder, "is part of the checkout",
                     build=ROOT / "harness", copy=ROOT / "harness/copy")
        harness_mutants.check_folder(ROOT / "build/mutants", ROOT / "build/mutants/copy")


class Interrupted(Case):
    def setUp(self):
        super().setUp()
        self.place = self.write("harness/base/text.cc", "a = f(x);")

    def test_interrupted_build_restores_the_file(self):
        seen = []

        class Bench:
            copy = self.folder

            @staticmethod
            def build(_):
                seen.append(self.place.read_text(encoding="utf-8"))
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            harness_mutants.judge(Bench, MUTANT)
        self.assertEqual(seen, ["a = g(x);"])
        self.assertEqual(self.place.read_text(encoding="utf-8"), "a = f(x);")

    def test_interrupted_run_says_how_to_go_on(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        self.addCleanup(setattr, harness_mutants, "judge_all", harness_mutants.judge_all)
        harness_mutants.judge_all = interrupt
        code, _, error = self.said("--build", self.folder / "build")
        self.assertEqual(code, 130)
        self.assertIn("the same command resumes", error)


class Verdict(Case):
    @staticmethod
    def report(*tests):
        """Returns GoogleTest's JSON for tests: (name, failed, ran)."""
        return {"testsuites": [{"name": "Suite", "testsuite": [
            {"name": name, "status": "RUN", "result": "COMPLETED" if ran else "SKIPPED",
             **({"failures": [{"failure": "no"}]} if failed else {})}
            for name, failed, ran in tests]}]}

    def test_only_a_failing_or_crashing_program_kills(self):
        outcome_of = harness_mutants.outcome_of
        self.assertEqual(outcome_of(1, self.report(("A", False, True), ("B", True, True))),
                         ("fails", "Suite.B"))
        self.assertEqual(outcome_of(1, self.report(("A", True, True), ("B", True, True))),
                         ("fails", "Suite.A and 1 more"))
        self.assertEqual(outcome_of(0, self.report(("A", False, True), ("B", False, False))),
                         ("passes", "1 of 2 tests pass"))
        self.assertEqual(outcome_of(-11, None), ("fails", "dies of signal 11"))
        self.assertEqual(outcome_of(1, self.report(("A", False, True)))[0], "fails")

    def test_a_filter_that_runs_nothing_passes_nothing(self):
        for report in ({"testsuites": []}, self.report(("A", False, False))):
            self.assertEqual(harness_mutants.outcome_of(0, report)[0], "runs nothing")

    def test_results_are_found_again_for_the_same_source_and_row(self):
        path = self.folder / "results.json"
        harness_mutants.Results(path, "s").put(MUTANT, {"words": "w"})
        self.assertEqual(harness_mutants.Results(path, "s").get(dict(MUTANT)), {"words": "w"})
        self.assertIsNone(harness_mutants.Results(path, "t").get(MUTANT))
        self.assertIsNone(harness_mutants.Results(path, "s").get({**MUTANT, "pattern": "h(x)"}))
        path.write_text("{", encoding="utf-8")
        self.assertIsNone(harness_mutants.Results(path, "s").get(MUTANT))


class CommandLine(Case):
    def test_help_has_examples(self):
        code, out, _ = self.said("--help")
        self.assertEqual(code, 0)
        self.assertIn("ci/harness_mutants.py --only ", out)
        names = {mutant["name"] for mutant in harness_mutants.read_table(harness_mutants.TABLE)}
        for name in re.findall(r"--only ([a-z_]+)", out.split("examples:")[1]):
            self.assertIn(name, names)

    def test_list(self):
        first = harness_mutants.read_table(harness_mutants.TABLE)[0]["name"]
        code, out, _ = self.said("--list", "--only", first)
        self.assertEqual(code, 0)
        self.assertEqual(len(out.splitlines()), 2)

    def test_a_pattern_that_the_tree_lacks_is_exit_1_and_named(self):
        path = self.write("table.toml", written(
            {**MUTANT, "name": "unknown", "pattern": "no_such_function_here()"},
            {**MUTANT, "name": "everywhere", "pattern": "return"},
            {**MUTANT, "name": "no_file", "file": "harness/base/nowhere.cc"}))
        code, _, error = self.said("--table", path, "--build", self.folder / "build")
        self.assertEqual(code, 1)
        for said in ("mutant unknown: the pattern matches 0 times",
                     "mutant everywhere: the pattern", "mutant no_file: harness/base/nowhere.cc"):
            self.assertIn(said, error)
        self.assertFalse((self.folder / "build").exists())

    def test_wrong_command_lines_are_exit_2(self):
        for given, said in ((("--only", "nobody"), "no mutant nobody"),
                            (("--jobs", "0"), "--jobs: 1 or more"),
                            (("--colour",), "--colour"),
                            (("--table", "/nowhere.toml"), "/nowhere.toml"),
                            (("--build", self.write("file", "")), "is not a folder"),
                            (("--build", ROOT / "harness"), "is part of the checkout"),
                            (("--build", ROOT.parent), "is no copy made by")):
            code, _, error = self.said(*given)
            self.assertEqual(code, 2, given)
            self.assertIn(said, error)


if __name__ == "__main__":
    unittest.main()
