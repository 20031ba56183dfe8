"""Tests the scripts of CI and of the checks before a commit: seconds.py with its launcher,
run_tests.py, compare_tests.py, choose_tests.py and weekly.sh, run on files and projects made
here."""
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CI = SOURCE / "ci"
sys.path.insert(0, str(CI))
import check_sources  # noqa: E402
import choose_tests  # noqa: E402
import seconds  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run_it(self, *command, code=0, env=None):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout


class Seconds(InFolder):
    COMMITTED = "kind,name,processor_seconds\nbuild,a.o,10.0\ntest,T.slow,3.0\ntest,T.gone,9.0\n"

    def compare(self, log, code=0, accept=False):
        (self.folder / "build").mkdir(exist_ok=True)
        self.write("build/seconds.log", log.replace("BUILD", str(self.folder / "build")))
        self.committed = self.folder / "seconds.csv"
        if not self.committed.exists():
            self.committed.write_text(self.COMMITTED, encoding="utf-8")
        return self.run_it(CI / "seconds.py", "--build", "build", "--committed", self.committed,
                           *(["--accept"] if accept else []), code=code)

    def test_what_is_under_either_limit_passes(self):
        said = self.compare("build\t7\t19.9\tBUILD/a.o\n"  # under twice 10 s
                            "test\t7\t4.9\tT.new\n"  # under 5 s, and not in the file
                            "test\t7\t5.9\tT.slow\n")
        self.assertIn("none over 5 s", said)
        self.assertIn("20 in 1 build steps, 11 in 2 tests", said)

    def test_what_exceeds_both_limits_fails_and_is_named(self):
        said = self.compare("build\t7\t20.1\tBUILD/a.o\ntest\t7\t5.1\tT.new\n"
                            "test\t7\t6.1\tT.slow\n", code=1)
        self.assertIn("2 over 5 s and twice the figure", said)
        self.assertIn("build a.o: 20.1 s, was 10.0 s", said)
        self.assertIn("not judged, because no figure is committed: test T.new: 5.1 s", said)
        self.assertIn("test T.slow: 6.1 s, was 3.0 s", said)
        self.assertIn("remedy: make the step or test faster, or "
                      "`ci/seconds.py --build build --accept`", said)

    def test_a_slower_machine_raises_the_limit_and_a_common_slowdown_fails(self):
        names = [f"T.{number}" for number in range(20)]
        self.committed = self.write("seconds.csv", "kind,name,processor_seconds\n" + "".join(
            f"test,{name},10.0\n" for name in names))

        def log(usual, first):
            return f"test\t7\t{first}\tT.0\n" + "".join(
                f"test\t7\t{usual}\t{name}\n" for name in names[1:])
        said = self.compare(log(12, 23.9))  # 1.2 times slower: the limit is 24 s
        self.assertIn("none over 5 s", said)
        self.assertIn("twice the figure is multiplied by 1.20", said)
        self.assertIn("test T.0: 24.1 s, was 10.0 s", self.compare(log(12, 24.1), code=1))
        self.assertIn("20 over 5 s", self.compare(log(31, 31), code=1))

    def test_commands_of_one_step_add_up_and_its_last_run_counts(self):
        self.compare("build\t1\t50\tBUILD/x/../a.o\n"
                     "build\t2\t4\tBUILD/a.o\nbuild\t2\t5\tBUILD/a.o\n")
        self.assertEqual((self.folder / "build/seconds.csv").read_text(encoding="utf-8"),
                         "kind,name,processor_seconds\nbuild,a.o,9.0\n")

    def test_accept_writes_what_exceeds_a_second_and_forgets_what_is_gone(self):
        self.write("build/build.ninja", "build a.o b.o: rule a.cc\n")
        self.write("build/CTestTestfile.cmake", "add_test(T.slow true)\n")
        self.compare("build\t1\t12\tBUILD/a.o\nbuild\t1\t0.9\tBUILD/b.o\ntest\t1\t2.04\tT.x\n",
                     accept=True)
        self.assertEqual(self.committed.read_text(encoding="utf-8"),
                         "kind,name,processor_seconds\nbuild,a.o,12.0\n"
                         "test,T.slow,3.0\ntest,T.x,2.0\n")

    def test_accept_keeps_the_figure_of_a_step_that_the_compiler_cache_answered(self):
        self.write("build/build.ninja", "build a.o: rule a.cc\n")
        self.compare("build\t1\t0.05\tBUILD/a.o\n", accept=True)
        self.assertIn("build,a.o,10.0\n", self.committed.read_text(encoding="utf-8"))

    def test_unity_files_of_a_target_share_the_figure_of_the_slowest(self):
        unity = "lib.dir/Unity/unity_{}_cxx.cxx.o"
        self.committed = self.write("seconds.csv", "kind,name,processor_seconds\n"
                                    f"build,{unity.format('*')},10.0\n")

        def log(*figures):
            return "".join(f"build\t7\t{figure}\tBUILD/{unity.format(number)}\n"
                           for number, figure in enumerate(figures))
        said = self.compare(log(2, 19.9))
        self.assertIn("22 in 2 build steps", said)
        self.assertIn("none over 5 s", said)
        said = self.compare(log(2, 20.1, 30), code=1)
        self.assertIn(f"1 over 5 s and twice the figure in ci/seconds.csv\n"
                      f"  build {unity.format('*')}: 30.0 s, was 10.0 s", said)
        self.write("build/build.ninja", "".join(
            f"build {unity.format(number)}: rule a.cc\n" for number in range(2)))
        self.compare(log(2, 12), accept=True)
        self.assertEqual(self.committed.read_text(encoding="utf-8"),
                         f"kind,name,processor_seconds\nbuild,{unity.format('*')},12.0\n")
        self.compare(log(0.3, 0.1), accept=True)  # from the compiler cache
        self.assertIn("12.0", self.committed.read_text(encoding="utf-8"))

    def test_bad_input_is_named_with_its_line(self):
        self.assertIn("seconds.log:2: not a line of measure_seconds",
                      self.compare("test\t1\t1\tT\nnonsense\n", code=2))
        self.committed.write_text("kind,name,processor_seconds\na,b\n", encoding="utf-8")
        self.assertIn("seconds.csv:2: not kind,name,", self.compare("test\t1\t1\tT\n", code=2))
        self.assertIn("seconds.log is missing: nothing was measured",
                      self.run_it(CI / "seconds.py", "--build", self.folder, code=2))

    def test_the_committed_file_is_one_that_accept_would_write(self):
        committed = (CI / "seconds.csv").read_text(encoding="utf-8")
        path = self.folder / "again.csv"
        seconds.write_table(path, seconds.read_table(CI / "seconds.csv"))
        self.assertEqual(path.read_text(encoding="utf-8"), committed)


class Launcher(InFolder):
    def setUp(self):
        super().setUp()
        self.launcher = self.folder / "measure_seconds"
        self.run_it(os.environ.get("CC", "cc"), "-o", self.launcher,
                    CI / "cmake/measure_seconds.c")
        self.log = self.folder / "log"

    def launch(self, *words, code=0):
        return self.run_it(self.launcher, self.log, *words, code=code)

    def lines(self):
        return [line.split("\t") for line in self.log.read_text(encoding="utf-8").splitlines()]

    def test_counts_the_seconds_of_children_and_passes_the_exit_code_on(self):
        spin = "import time\nwhile time.process_time() < 0.3: pass"
        self.launch("test", "T.a", "--", "sh", "-c", f"{sys.executable} -c '{spin}'; exit 7",
                    code=7)
        (kind, _, figure, name), = self.lines()
        self.assertEqual((kind, name), ("test", "T.a"))
        self.assertGreaterEqual(float(figure), 0.3)
        self.assertLess(float(figure), 3)

    def test_a_signal_stays_a_signal(self):
        self.launch("test", "T.a", "--", "sh", "-c", "kill -SEGV $$", code=-signal.SIGSEGV)
        self.assertEqual(self.lines()[0][3], "T.a")

    def test_names_come_from_the_filter_or_the_output(self):
        self.launch("gtest", "--", "true", "--gtest_filter=All/X.Y/0")
        self.launch("gtest", "--", "true", "--gtest_list_tests")
        self.launch("build", "sub/a.o", "--", "true")
        self.launch("build", "", "--", "true")
        self.assertEqual([(line[0], line[3]) for line in self.lines()],
                         [("test", "All/X.Y/0"), ("build", f"{self.folder}/sub/a.o")])

    def test_a_killed_launcher_takes_the_test_with_it(self):
        with subprocess.Popen([self.launcher, self.log, "test", "T", "--", "sh", "-c",
                               "echo $$; exec sleep 60"], stdout=subprocess.PIPE) as process:
            child = int(process.stdout.readline())
            process.kill()
            process.wait()
            process.stdout.read()  # ends when the child has ended
        self.assertFalse(pathlib.Path(f"/proc/{child}/fd/1").exists())

    def test_refuses_what_it_cannot_read(self):
        self.assertIn("usage:", self.run_it(self.launcher, "log", "test", code=2))
        self.assertIn("no-such-program: No such file",
                      self.launch("test", "T", "--", "no-such-program", code=127))


class MeasuredProject(InFolder):
    """Tests ci/cmake/Seconds.cmake in a project with a step of each kind and a test of each
    kind."""

    LISTS = """\
        cmake_minimum_required(VERSION 3.25)
        project(measured LANGUAGES C)
        include(ci/cmake/Seconds.cmake)
        enable_testing()
        include(GoogleTest)
        add_subdirectory(sub)
        """
    SUB = """\
        add_custom_command(OUTPUT made.c
          COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/program.c made.c
          COMMAND ${CMAKE_COMMAND} -E touch made.c DEPENDS program.c)
        add_executable(program made.c)
        add_test(NAME by_target COMMAND program one)
        add_test(NAME by_path COMMAND ${CMAKE_COMMAND} -E true)
        if(PLUMBLINE_SECONDS_LAUNCHER)
          set_target_properties(program PROPERTIES
            CROSSCOMPILING_EMULATOR "${PLUMBLINE_SECONDS_LAUNCHER};gtest;--")
        endif()
        gtest_discover_tests(program NO_PRETTY_VALUES)
        """
    PROGRAM = """\
        #include <stdio.h>
        #include <string.h>
        int main(int count, char** words) {
          for (int i = 1; i < count; ++i) {
            if (strcmp(words[i], "--gtest_list_tests") == 0) puts("Suite.\\n  Test");
          }
          return 0;
        }
        """

    def build(self, option):
        self.write("CMakeLists.txt", self.LISTS)
        self.write("sub/CMakeLists.txt", self.SUB)
        self.write("sub/program.c", self.PROGRAM)
        for name in ("Seconds.cmake", "measure_seconds.c"):
            self.write(f"ci/cmake/{name}", (CI / "cmake" / name).read_text(encoding="utf-8"))
        self.run_it("cmake", "-G", "Ninja", "-S", ".", "-B", "build",
                    f"-DPLUMBLINE_SECONDS={option}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        self.run_it("cmake", "--build", "build")
        self.run_it("ctest", "--test-dir", "build")

    def test_each_step_and_test_has_one_line_under_a_name_that_is_the_same_everywhere(self):
        self.build("ON")
        measured = seconds.read_log(self.folder / "build/seconds.log", self.folder / "build")
        self.assertEqual(set(measured), {
            ("build", "sub/made.c"), ("build", "sub/CMakeFiles/program.dir/made.c.o"),
            ("build", "sub/program"), ("test", "Suite.Test"), ("test", "by_target"),
            ("test", "by_path")})
        # clang-tidy reads these.
        commands = (self.folder / "build/compile_commands.json").read_text(encoding="utf-8")
        self.assertNotIn("measure_seconds", commands)

    def test_without_the_option_nothing_is_measured(self):
        self.build("OFF")
        self.assertFalse((self.folder / "build/seconds.log").exists())
        self.assertNotIn("measure_seconds",
                         (self.folder / "build/build.ninja").read_text(encoding="utf-8"))


class RunTests(InFolder):
    """Runs a copy of run_tests.py on a project of its own."""

    PRESETS = {
        "version": 6,
        "configurePresets": [{"name": "p", "generator": "Ninja",
                              "binaryDir": "${sourceDir}/build/p"}],
        "testPresets": [
            {"name": "base", "hidden": True,
             "filter": {"exclude": {"label": "^(times|weekly|gpu)$"}}},
            {"name": "p", "inherits": "base", "configurePreset": "p"}]}

    def project(self, tests):
        (self.folder / "ci").mkdir()
        for name in ("run_tests.py", "seconds.py", "seconds.csv"):
            (self.folder / "ci" / name).write_bytes((CI / name).read_bytes())
        (self.folder / "ci/run_tests.py").chmod(0o755)
        self.write("CMakePresets.json", json.dumps(self.PRESETS))
        text = "cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\nenable_testing()\n"
        for name, script, properties in tests:
            text += f"add_test(NAME {name} COMMAND sh -c [==[{script}]==])\n"
            if properties:
                text += f"set_tests_properties({name} PROPERTIES {properties})\n"
        self.write("CMakeLists.txt", text)
        self.run_it("cmake", "--preset", "p")

    def run_tests(self, *options, code=0, **env):
        return self.run_it(self.folder / "ci/run_tests.py", "--preset", "p", *options, code=code,
                           env={"CUDA_VISIBLE_DEVICES": "", "PLUMBLINE_REQUIRE_GPU": "", **env})

    SKIPS = "SKIP_RETURN_CODE 77"
    TESTS = [("fine", "true", ""), ("no_zsh", "echo 'a.cc:3: Skipped'; echo no zsh here; exit 77",
                                    SKIPS),
             ("no_zsh_either", "echo 'b.cc:9: Skipped'; echo no zsh here; exit 77", SKIPS),
             ("no_numpy", "echo skipped: no numpy", 'SKIP_REGULAR_EXPRESSION "^skipped:"'),
             ("gpu_one", "exit 1", "LABELS gpu"), ("gpu_two", "exit 1", "LABELS \"unit;gpu\""),
             ("rare", "echo rarely run", "LABELS weekly")]

    def test_skipped_tests_are_grouped_and_the_last_lines_are_those_of_ctest(self):
        self.project(self.TESTS)
        lines = self.run_tests().splitlines()
        self.assertLess(len(lines) - lines.index("3 tests skipped, for 2 reasons (all names: "
                                                 "build/p/skipped.txt):"), 30)
        self.assertIn("    2: no zsh here", lines)
        self.assertIn("       no_zsh, no_zsh_either", lines)
        self.assertIn("    1: no numpy", lines)
        self.assertIn("2 GPU tests not run: no NVIDIA device here; ci/gpu.sh runs them", lines)
        self.assertEqual(lines[-3], "100% tests passed, 0 tests failed out of 4")
        self.assertTrue(lines[-1].startswith("Total Test time (real) ="), lines[-1])
        self.assertIn("  no_zsh_either\n",
                      (self.folder / "build/p/skipped.txt").read_text(encoding="utf-8"))

    def test_where_a_gpu_is_required_its_absence_fails(self):
        self.project(self.TESTS)
        said = self.run_tests(code=8, PLUMBLINE_REQUIRE_GPU="1")
        self.assertNotIn("GPU tests not run", said)
        self.assertIn("gpu_one (Failed)", said)
        self.assertIn("2 tests failed out of 6", said)

    def test_a_test_that_needs_a_gpu_has_the_label(self):
        words = "no GPU: "
        self.assertIn(f'GTEST_SKIP() << "{words}"',
                      (SOURCE / "tests/need_gpu.h").read_text(encoding="utf-8"))
        self.project([("forgotten", f"echo 'a.cc:3: Skipped'; echo '{words}none'; exit 77",
                       self.SKIPS)])
        self.assertIn("lack the label gpu; remedy: add it in CMakeLists.txt:\n  forgotten\n",
                      self.run_tests(code=1))

    def test_a_label_that_the_preset_leaves_out_can_be_run(self):
        self.project(self.TESTS)
        said = self.run_tests("--label", "weekly")
        self.assertIn("rare", said)
        self.assertIn("0 tests failed out of 1", said)
        self.assertIn("no test was skipped", said)

    def test_many_reasons_are_cut_and_counted(self):
        self.project([(f"t{i}", f"echo skipped: reason {i}", 'SKIP_REGULAR_EXPRESSION "^skipped:"')
                      for i in range(12)])
        lines = self.run_tests().splitlines()
        self.assertIn("    5: for 5 more reasons", lines)

    def test_seconds_over_the_limits_fail_the_run(self):
        self.project([("fine", "true", "")])
        self.write("ci/seconds.csv", "kind,name,processor_seconds\ntest,No.SuchTest,3.0\n")
        self.write("build/p/seconds.log", "test\t1\t99\tNo.SuchTest\n")
        said = self.run_tests(code=1)
        self.assertIn("test No.SuchTest: 99.0 s, was 3.0 s", said)
        self.assertIn("100% tests passed", said.splitlines()[-3])
        self.assertNotIn("processor seconds", self.run_tests("--", "-R", "fine"))

    def test_slow_tests_can_be_left_out(self):
        self.project([("fine", "true", ""), ("A.Slow/x.y+z", "exit 1", ""),
                      ("slower", "exit 1", "")])
        self.write("ci/seconds.csv", "kind,name,processor_seconds\ntest,fine,4.9\n"
                                     "test,A.Slow/x.y+z,5.1\ntest,slower,60.0\n")
        said = self.run_tests("--at-most", "5")
        self.assertIn("2 tests left out: more than 5 s in ci/seconds.csv", said)
        self.assertIn("0 tests failed out of 1", said)
        self.assertIn("1 tests failed out of 2", self.run_tests("--at-most", "50", code=8))

    def test_tests_that_need_a_slow_set_up_are_left_out(self):
        self.project([("slow_set_up", "touch made", "FIXTURES_SETUP made"),
                      ("needs_it", "test -e made", "FIXTURES_REQUIRED made"), ("fine", "true", "")])
        self.write("ci/seconds.csv", "kind,name,processor_seconds\ntest,slow_set_up,5.1\n")
        said = self.run_tests("--at-most", "5")
        self.assertIn("2 tests left out: more than 5 s in ci/seconds.csv", said)
        self.assertIn("0 tests failed out of 1", said)
        self.assertIn("0 tests failed out of 3", self.run_tests("--at-most", "50"))

    def test_unknown_presets_and_missing_builds_are_refused(self):
        self.project([("fine", "true", "")])
        self.assertIn("no test preset q: it has p",
                      self.run_it(self.folder / "ci/run_tests.py", "--preset", "q", code=1))
        (self.folder / "build/p/build.ninja").unlink()
        self.assertIn("is not configured; remedy: cmake --preset p", self.run_tests(code=2))


class CheckSources(unittest.TestCase):
    def test_a_program_is_found_behind_the_launcher(self):
        program = "/b/tests/gpu/test_x"
        for launcher in ([], ["/b/measure_seconds", "/b/log", "gtest", "--"],
                         ["/b/measure_seconds", "/b/log", "test", "X.y", "--"]):
            test = {"command": [*launcher, program, "--gtest_filter=X.y", "--"], "properties": []}
            self.assertEqual(check_sources.program_of(test), pathlib.Path(program))
            self.assertEqual(check_sources.missing_label(test, pathlib.Path("/b")), "gpu_folder")


class CompareTests(InFolder):
    OLD = "  Test  #1: A.a\n  Test #10: B.b\n  Test #11: C.c\n\nTotal Tests: 3\n"

    def compare(self, *words, code=0):
        return self.run_it(CI / "compare_tests.py", *words, code=code)

    def test_every_old_test_is_somewhere(self):
        old = self.write("old", self.OLD)
        one = self.write("one", "  Test #1: B.b\n  Test #2: D.d\n")
        two = self.write("two", json.dumps({"tests": [{"name": "A.a"}, {"name": "C.c"}]}))
        self.assertIn("3 tests before, 4 now: 1 new, 0 renamed, none missing",
                      self.compare(old, one, two))
        self.assertIn("missing: A.a\nmissing: C.c\n", self.compare(old, one, code=1))

    def test_renames_are_followed_and_checked(self):
        old = self.write("old", self.OLD)
        new = self.write("new", "  Test #1: A.a\n  Test #2: B.b\n  Test #3: New.c\n")
        renamed = self.write("renamed", "# why\nC.c -> New.c\n")
        self.assertIn("0 new, 1 renamed, none missing",
                      self.compare(old, new, "--renamed", renamed))
        instances = self.write("instances", "  Test #1: All/C.c/half\n  Test #2: C.c/0\n")
        named = self.write("named", "  Test #1: All/New.c/half\n  Test #2: New.c/0\n")
        self.assertIn("2 tests before, 2 now: 0 new, 2 renamed, none missing",
                      self.compare(instances, named, "--renamed", renamed))
        self.write("renamed", "C.c -> Newer.c\nE.e -> A.a\n")
        said = self.compare(old, new, "--renamed", renamed, code=1)
        self.assertIn("missing under its new name: C.c -> Newer.c", said)
        self.assertIn("renamed, but not in the old list: E.e", said)

    def test_bad_lists_are_refused(self):
        old = self.write("old", self.OLD)
        self.assertIn("no test in it", self.compare(old, self.write("e", "hello\n"), code=2))
        self.assertIn("were not built",
                      self.compare(old, self.write("n", "  Test #1: x_NOT_BUILT\n"), code=2))
        self.assertIn('r:1: not "OLD NAME -> NEW NAME"',
                      self.compare(old, old, "--renamed", self.write("r", "A.a\n"), code=2))


class ChooseTests(unittest.TestCase):
    PROGRAMS = [{"program": "test_judge", "folder": "judge", "quick": "YES"},
                {"program": "test_cli", "folder": "cli", "quick": "NO"},
                {"program": "test_exact_nights", "folder": "run", "quick": "NO"},
                {"program": "test_run", "folder": "run", "quick": "YES"}]

    def test_folders_of_a_change(self):
        own, harness, elsewhere = choose_tests.touched_folders(
            ["harness/judge/verdict.h", "harness/outcome/a.h", "kernels/cpu/flash.cc",
             "kernels/mutants/x.cc", "tests/run/test_run.cc", "docs/a.md", "CMakeLists.txt",
             "tests/need_gpu.h", "emulator/machine/block.cc", "emulator/ptx/parse.cc",
             "python/worker/plumbline_worker.py", "python/plumbline/kernels.py", "page/src/a.ts"],
            {"judge", "kernels", "mutants", "run", "docs", "emulator", "ptx", "python_worker",
             "python_package", "page"})
        self.assertEqual(own, {"judge", "kernels", "mutants", "run", "emulator", "ptx",
                               "python_worker", "python_package", "page"})
        self.assertEqual(harness, {"judge", "outcome"})
        self.assertEqual(elsewhere, ["harness/outcome/a.h", "docs/a.md", "CMakeLists.txt",
                                     "tests/need_gpu.h"])

    def test_programs_are_the_quick_ones_and_those_of_touched_folders(self):
        def names(own):
            return [row["program"] for row in choose_tests.chosen_programs(self.PROGRAMS, own)]
        self.assertEqual(names(set()), ["test_judge", "test_run"])
        self.assertEqual(names({"run"}), ["test_judge", "test_exact_nights", "test_run"])

    @staticmethod
    def entry(name, folder, *labels, built=True):
        return {"name": name, "command": ["x"] if built else [],
                "properties": [{"name": "LABELS", "value": list(labels)},
                               {"name": "WORKING_DIRECTORY", "value": f"/b/tests/{folder}"}]}

    def test_tests_are_chosen_by_label_and_folder(self):
        tests = [self.entry("J.quick", "judge", "unit", "judge", "quick"),
                 self.entry("J.slow", "judge", "unit", "judge"),
                 self.entry("C.c", "cli", "cli", "cli"),
                 self.entry("R.times", "run", "unit", "run", "times"),
                 self.entry("R.r", "run/sub", "unit", "run"),
                 self.entry("test_run_NOT_BUILT", "run", "unit", built=False)]
        numbers, others = choose_tests.chosen_tests(tests, pathlib.Path("/b"), {"run"}, "^times$")
        self.assertEqual(numbers, [1, 5])
        self.assertEqual(choose_tests.describe_others(others),
                         "1 unit, 1 cli, 1 times, those of 1 program not built")

    def test_who_includes_a_folder(self):
        graph = choose_tests.includers(SOURCE / "harness")
        self.assertLessEqual({"run", "report", "cli"}, graph["judge"])
        self.assertNotIn("problem", graph["judge"])

    def test_the_list_builds_nothing_and_names_programs(self):
        build = pathlib.Path(os.environ["PLUMBLINE_BUILD"])
        if not build.is_relative_to(SOURCE / "build"):
            self.skipTest(f"{build} is not the folder of a preset")
        said = subprocess.run([CI / "choose_tests.py", "--preset", build.name, "--list"],
                              capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"programs \(\d+ of \d+\): .*test_judge")
        touched = said.splitlines()[0].removeprefix("touched: ").split(", ")
        programs = said.splitlines()[-1].split()
        self.assertEqual("test_cli" in programs, "cli" in touched, said)


class Weekly(InFolder):
    HEADER = "item,date,commit,result,processor_seconds,wall_seconds\n"

    def setUp(self):
        super().setUp()
        self.results = self.folder / "weekly.csv"
        self.items = self.write("items", "good echo one\nbad echo two >&2; exit 3\n"
                                         "last echo three\n")

    def weekly(self, *options, code=0):
        return self.run_it(CI / "weekly.sh", "--results", self.results, *options, code=code,
                           env={"PLUMBLINE_WEEKLY_ITEMS": str(self.items)})

    def stored(self, item, days_ago=0, result="passed", commit="abc"):
        date = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days_ago)
        return f"{item},{date:%Y-%m-%dT%H:%M:%SZ},{commit},{result},12,34\n"

    def test_a_failed_item_does_not_stop_the_others(self):
        said = self.weekly(code=1)
        self.assertRegex(said, r"\[1/3\] good: begins at [^\n]*\none\n\[1/3\] good: passed after")
        self.assertRegex(said, r"two\n\[2/3\] bad: failed after \d+ s, \d+ s of processor time "
                               r"\(exit code 3\)")
        self.assertIn("three", said)
        rows = self.results.read_text(encoding="utf-8").splitlines()
        self.assertEqual(rows[0] + "\n", self.HEADER)
        self.assertEqual([row.split(",")[0] + " " + row.split(",")[3] for row in rows[1:]],
                         ["good passed", "bad failed", "last passed"])

    def test_what_passed_for_this_commit_is_not_run_again(self):
        commit, _, changes = subprocess.run(
            [CI / "hardening.py", "commit"], text=True, capture_output=True,
            check=True).stdout.strip().partition("-")
        self.results.write_text(self.HEADER + self.stored("good", commit=commit)
                                + self.stored("last", commit="of_another"), encoding="utf-8")
        said = self.weekly(code=1)
        self.assertIn("three", said)
        self.assertEqual("one\n" in said, bool(changes), "a result of a commit says nothing of "
                         "changes to it")
        self.assertIn("one\n", self.weekly("--again", code=1))

    def test_old_and_missing_results_are_open(self):
        self.results.write_text(self.HEADER + self.stored("good", 7) + self.stored("bad", 8),
                                encoding="utf-8")
        said = self.weekly("--check", code=5)
        self.assertIn("good: passed on", said)
        self.assertIn("bad: open: its result is 8 days old", said)
        self.assertIn("last: open: it never ran", said)
        self.assertIn("next: ci/weekly.sh", said)

    def test_check_fails_where_one_failed_and_passes_where_all_passed(self):
        rows = [self.stored("good"), self.stored("bad"), self.stored("last")]
        self.results.write_text(self.HEADER + "".join(rows), encoding="utf-8")
        self.weekly("--check")
        rows[1] = self.stored("bad", 20, "failed")
        self.results.write_text(self.HEADER + "".join(rows), encoding="utf-8")
        self.assertIn("bad: failed on", self.weekly("--check", code=1))

    def test_options_are_checked(self):
        self.assertIn("there is no item x; there are: good bad last",
                      self.weekly("--only", "x", code=2))
        self.assertIn("unknown option --x", self.weekly("--x", code=2))
        self.assertEqual(self.weekly("--list"), "good\nbad\nlast\n")
        self.results.write_text("nonsense\n", encoding="utf-8")
        self.assertIn("the first line is not item,date", self.weekly(code=2))
        self.results.write_text(self.HEADER + "good,today\n", encoding="utf-8")
        self.assertIn("the fields are not item,date", self.weekly(code=2))

    def test_only_the_items_that_are_asked_for_run(self):
        said = self.weekly("--only", "last", code=5)
        self.assertIn("three", said)
        self.assertNotIn("one\n", said)

    def test_the_build_without_nvcc_hides_it_and_nothing_else(self):
        for name in ("nvcc", "beside_nvcc"):
            self.write(f"bin/{name}", "#!/bin/sh\necho this is $0\n").chmod(0o755)
        self.items.write_text("hidden without_nvcc bash -c '! command -v nvcc && beside_nvcc'\n",
                              encoding="utf-8")
        said = self.run_it(CI / "weekly.sh", "--results", self.results, env={
            "PLUMBLINE_WEEKLY_ITEMS": str(self.items),
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        self.assertIn("beside_nvcc\n[1/1] hidden: passed", said)

    def test_the_committed_results_are_of_items_that_exist(self):
        committed = SOURCE / "baselines/weekly.csv"
        if committed.exists():
            names = self.run_it(CI / "weekly.sh", "--list").split()
            rows = committed.read_text(encoding="utf-8").splitlines()
            self.assertEqual(rows[0] + "\n", self.HEADER)
            self.assertLessEqual({row.split(",")[0] for row in rows[1:]}, set(names))


class CheckScript(InFolder):
    def test_options_are_checked(self):
        self.assertIn("unknown option --fast", self.run_it(CI / "check.sh", "--fast", code=2))
        self.assertIn("there is no commit no-such", self.run_it(CI / "check.sh", "--since",
                                                                "no-such", code=2))
        self.assertIn("--since needs a commit", self.run_it(CI / "check.sh", "--since", code=2))


if __name__ == "__main__":
    unittest.main()
