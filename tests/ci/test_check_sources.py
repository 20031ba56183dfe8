"""Tests ci/check_sources.py on a small project, and --build with and without unity sources."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = """\
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
enable_testing()
add_library(one STATIC harness/base/a.cc harness/base/b.cc)
"""


class PlantedSource(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumbline-sources."))
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("CMakeLists.txt", LISTS)
        for name in ("a", "b"):
            self.write(f"harness/base/{name}.cc", f"// {name}.\nint {name}() {{ return 0; }}\n")
        self.write("harness/base/README.md", "# Base\n")
        (self.folder / "ci").mkdir()
        for script in ("check_sources.py", "check_prose.py", "named_headers.py"):
            shutil.copy(ROOT / "ci" / script, self.folder / "ci")
        # The script reads the order of folders from CONTRIBUTING.md, and counts README.md's words.
        for page in ("README.md", "CONTRIBUTING.md"):
            shutil.copy(ROOT / page, self.folder)
        self.write(".gitignore", "/build/\n__pycache__/\n")
        subprocess.run(["git", "init", "-q", self.folder], check=True)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def errors(self, unity):
        """Configures, and returns the lines that the script prints about sources of harness/."""
        build = self.folder / "build"
        shutil.rmtree(build, ignore_errors=True)
        subprocess.run(["cmake", "-S", self.folder, "-B", build, "-G", "Ninja",
                        f"-DCMAKE_UNITY_BUILD={unity}"], check=True, capture_output=True)
        done = subprocess.run([sys.executable, self.folder / "ci" / "check_sources.py", "--build",
                               build], capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("harness/")]
        self.assertEqual(done.returncode, 1 if lines else 0, done.stdout + done.stderr)
        return lines

    def test_a_complete_build_has_no_error(self):
        for unity in ("OFF", "ON"):
            with self.subTest(unity=unity):
                self.assertEqual(self.errors(unity), [])

    def test_filters_match_a_test(self):
        for page in ("README.md", "CONTRIBUTING.md"):  # hides filters: this project lacks the tests
            path = self.folder / page
            path.write_text(path.read_text(encoding="utf-8").replace("ctest", "run")
                            .replace("gtest_filter", "filter"), encoding="utf-8")
        self.write("tests/CMakeLists.txt", "add_test(NAME docs.site COMMAND true)\n")
        self.write("tests/a.cc", "// Tests.\nTEST_P(Limits, GrowWithRows) {}\n"
                                 "INSTANTIATE_TEST_SUITE_P(All, Limits, Values(1));\n")
        for line, matches in (("ctest --preset ci -R Limits", True),
                              ("ctest -R 'All/Limits.Grow|docs.site' -V", True),
                              ("ctest -R 'Limits|Lost'", False),
                              ("test_a --gtest_filter='*Rows*'", True),
                              ("test_a --gtest_filter=Limits.Lost", False)):
            self.write("harness/a.md", line + "\n")
            done = subprocess.run([sys.executable, self.folder / "ci" / "check_sources.py"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual("matches no test" not in done.stdout, matches, done.stdout)

    def test_folders_keep_the_order_of_the_table(self):
        for name, include, error in (
                ("harness/base/a.cc", "harness/problem/b.h", "harness/problem is not above"),
                ("harness/base/a.cc", "emulator/ptx/b.h",
                 "harness/ includes no header of emulator/"),
                ("emulator/machine/a.cc", "emulator/ptx/b.h", "emulator/ptx is not above"),
                ("kernels/cpu/a.cc", "harness/base/b.h", "but the C interface of providers"),
                ("harness/nowhere/a.cc", "harness/base/b.h", "table of folders lacks")):
            with self.subTest(name=name, include=include):
                self.write(name, f'// A.\n#include "{include}"\nint a() {{ return 0; }}\n')
                self.assertIn(error, self.output())
                (self.folder / name).unlink()

    def test_a_folder_has_a_short_readme_and_no_sql(self):
        self.write("harness/base/README.md", "word " * 201)
        self.assertIn("harness/base/README.md:1: 201 words, more than 200", self.output())
        (self.folder / "harness/base/README.md").unlink()
        self.assertIn("harness/base/README.md:1: the folder has none", self.output())
        self.write("harness/base/a.cc", '// A.\nauto a = "SELECT x FROM run";\n')
        self.assertIn("harness/base/a.cc:2: SQL: move the query", self.output())

    def test_keys_of_json_are_not_typed(self):
        limit = int(re.search(r"^JSON_KEYS = (\d+)", (ROOT / "ci/check_sources.py").read_text(
            encoding="utf-8"), re.MULTILINE)[1])
        key = '  Json a = {{"a", 1},\n            {"b", 2}};\n  a["c"] = 3;\n'
        self.write("harness/base/a.cc", "// A.\n" + key * (limit // 3))
        self.assertNotIn("keys of JSON", self.output())
        self.write("harness/base/a.cc", "// A.\n" + key * (limit // 3 + 1))
        self.assertIn(f"harness:1: {3 * (limit // 3 + 1)} JSON keys are literals", self.output())

    def test_a_name_needs_its_header(self):
        use = "std::optional<int> a() { return {}; }\n"
        self.write("harness/base/a.cc", "// A.\n" + use)
        self.assertIn("harness/base/a.cc:2: std::optional needs #include <optional>",
                      self.output())
        for lines in ("#include <optional>\n", '#include "harness/base/a.h"\n'):
            with self.subTest(lines=lines):
                self.write("harness/base/a.h", "// A.\n#include <optional>\n")
                self.write("harness/base/a.cc", f"// A.\n{lines}{use}")
                self.assertNotIn("needs #include", self.output())
        self.write("harness/base/a.cc", "// std::vector\nconst char* a = \"std::vector\";\n")
        self.assertNotIn("needs #include", self.output())

    def output(self):
        """Returns the script's output without a build."""
        return subprocess.run([sys.executable, self.folder / "ci" / "check_sources.py"],
                              capture_output=True, text=True, check=False).stdout

    def test_a_source_without_a_target_is_an_error(self):
        self.write("harness/base/planted.cc", "// Planted.\nint planted() { return 0; }\n")
        for unity in ("OFF", "ON"):
            with self.subTest(unity=unity):
                errors = self.errors(unity)
                self.assertEqual(len(errors), 1)
                self.assertRegex(errors[0], r"^harness/base/planted\.cc:1: no target of ")

    def test_a_source_of_two_targets_is_an_error(self):
        self.write("CMakeLists.txt", LISTS + "add_library(two STATIC harness/base/b.cc)\n")
        for unity in ("OFF", "ON"):
            with self.subTest(unity=unity):
                errors = self.errors(unity)
                self.assertEqual(len(errors), 1)
                self.assertTrue(re.match(r"harness/base/b\.cc:1: 2 targets of .*\(one, two\)",
                                         errors[0]), errors[0])


if __name__ == "__main__":
    unittest.main()
