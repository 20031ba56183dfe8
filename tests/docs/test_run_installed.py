#!/usr/bin/env python3
"""Tests that run_installed.py refuses what a newcomer cannot type, and reports each difference from
a page."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import run_installed
from page_commands import missing_line, read_page

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs" / "start").glob("*.md"))]


class Pages(unittest.TestCase):
    """The real pages, as text."""

    def test_there_are_six(self):
        self.assertEqual(len(PAGES), 6)

    def test_none_has_a_mark_or_block_that_newcomers_lack(self):
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            self.assertEqual(list(run_installed.faults_of_page(text, read_page(text))), [], page)

    def test_docs_start_begins_with_init_or_a_file(self):
        for page in PAGES[1:]:
            parts = [part for part in read_page(page.read_text(encoding="utf-8"))
                     if isinstance(part, tuple) or "install" not in part.marks]
            if not isinstance(parts[0], tuple):
                self.assertRegex(parts[0].text, "^plumbline init ", page.name)

    def test_packages_of_debian_are_those_that_pages_name(self):
        self.assertEqual(run_installed.debian_packages(PAGES), ["cmake", "g++", "git", "make"])

    def test_figures_of_readme_are_those_of_their_pages(self):
        def text(*parts):
            return " ".join(SOURCE.joinpath(*parts).read_text(encoding="utf-8").split())

        rows = {row[0]: row[1:] for row in re.findall(
            r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|",
            (SOURCE / "docs" / "audit.md").read_text(encoding="utf-8"), re.MULTILINE)}

        def total(rule, pattern):
            return sum(int(re.search(pattern, cell)[1]) for cell in rows[rule])

        readme = text("README.md")
        caught, planted, flagged = r"^(\d+)", r"/(\d+)", r"\((\d+)\)"
        self.assertEqual(total("plumbline", flagged), 0)
        self.assertIn(
            "Counted per dtype (fp16, bf16, fp32), it catches "
            f"{total('plumbline', caught)} of {total('plumbline', planted)} and flags no correct "
            "kernel; `allclose` at 1e-3 catches "
            f"{total('allclose 1e-3', caught)} and flags {total('allclose 1e-3', flagged)}", readme)
        same, foreign = (int(re.search(pattern, text("docs", "gpu.md"))[1]) for pattern in (
            r"(\d+) of \1 cases of cases/pr.toml", r"(\d+) of \1 cases of FlashAttention-2"))
        self.assertIn(f"On an H200, {same + foreign} of {same + foreign} cases", readme)


class Run(unittest.TestCase):
    """Small pages that the program runs."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.venv = pathlib.Path(cls.scratch.name) / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.venv], check=True)
        (cls.venv / "bin" / "plumbline").symlink_to("/bin/true")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_page(self, *lines, package=None):
        page = pathlib.Path(self.scratch.name) / "page.md"
        page.write_text("\n".join([*lines, ""]), encoding="utf-8")
        done = subprocess.run([sys.executable, HERE / "run_installed.py", "--package",
                               package or self.venv, page], text=True, stdout=subprocess.PIPE,
                              check=False)
        return done.returncode, done.stdout

    def assert_refused(self, word, *lines):
        code, said = self.run_page(*lines)
        self.assertEqual(code, 1, said)
        self.assertIn(word, said)

    def test_commands_files_and_cd_work(self):
        code, said = self.run_page(
            "`a.txt`:", "```", "one two", "```", "```console", "$ mkdir b && cd b",
            "$ cat ../a.txt", "one …", "$ false; echo \"exit code $?\"", "exit code 1",
            "$ echo exit code 3; exit 3", "exit code 3", "```")
        self.assertEqual(code, 0, said)
        self.assertIn("4 commands run, 0 failed", said)

    def test_marks_of_other_pages_are_refused(self):
        for mark in ("needs a.py", "python", "providers", "nvcc"):
            self.assert_refused(f"the mark `{mark.split()[0]}`", f"<!-- commands: {mark} -->",
                                "```sh", "true", "```")

    def test_other_output_and_other_exit_codes_are_failures(self):
        self.assert_refused("shows the line\ntwo", "```console", "$ echo one", "two", "```")
        self.assert_refused("shows the line\none", "```console", "$ echo one two", "one", "```")
        self.assert_refused("shows the line\ntwo", "```console", "$ echo two; echo one", "one",
                            "two", "```")
        self.assert_refused("exit code 1 instead of 0", "```sh", "false", "```")
        self.assert_refused("exit code 0 instead of 1", "<!-- commands: exit 1 -->", "```sh",
                            "true", "```")

    def test_a_block_that_nothing_uses_is_refused(self):
        self.assert_refused("neither run nor a file", "Call it:", "```python", "f()", "```")

    def test_packages_have_to_be_there(self):
        for line, name in (("pip install no_such_module", "no_such_module"),
                           ("sudo apt-get install no-such-program", "no-such-program")):
            self.assert_refused(f"needs {name}", "<!-- commands: install -->", "```sh", line, "```")
        code, said = self.run_page("<!-- commands: install -->", "```sh",
                                   "sudo apt-get install bash", "```")
        self.assertEqual(code, 0, said)
        self.assert_refused("marks lines of pip and apt-get", "<!-- commands: install -->", "```sh",
                            "true", "```")

    def test_the_checkout_and_the_environment_are_hidden(self):
        os.environ["PLUMBLINE_SECRET"] = "1"
        code, said = self.run_page("```console", "$ env", "HOME=/…/home", "```", "```sh",
                                   "! env | grep PLUMBLINE_SECRET", f"test ! -e {SOURCE}/README.md",
                                   "```")
        if "the checkout stays visible" in said:
            self.skipTest("no mount namespace can be made here")
        self.assertEqual(code, 0, said)

    def test_without_a_package_it_is_skipped(self):
        self.assertEqual(self.run_page("x", package=pathlib.Path("/nowhere"))[0], 77)


class Lines(unittest.TestCase):
    def test_the_order_and_whole_lines_count(self):
        self.assertEqual(missing_line(["a", "c"], "a\nb\nc\n"), "")
        self.assertEqual(missing_line(["c", "a"], "a\nb\nc\n"), "a")
        self.assertEqual(missing_line(["a"], "ab\n"), "a")
        self.assertEqual(missing_line(["a …", "… c"], "a   1\nb  c\n"), "")
        self.assertEqual(missing_line(["  x  1"], "x 1\n"), "")
        self.assertEqual(missing_line(["…", "a.c"], "abc\n"), "a.c")


if __name__ == "__main__":
    unittest.main()
