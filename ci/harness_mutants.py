#!/usr/bin/env python3
"""Plants bugs in harness/, one at a time, and runs the unit tests that have to find them.

The checkout is only read. A copy of its files, with uncommitted changes, is kept in the build
folder and configured once. There the test programs first have to pass without a mutant. Then each
mutant of tests/ci/harness_mutants.toml is planted, the programs it names are built and run, and
every one of them has to fail.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import mutant_tables
from mutant_tables import (NoPlace, NotBuilt, Progress, Refused, chosen_of, replaced_once, said,
                           table)

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "ci" / "harness_mutants.toml"
PROGRAM = "ci/harness_mutants.py"
EXAMPLES = """\
examples:
  ci/harness_mutants.py                        all of them
  ci/harness_mutants.py --list
  ci/harness_mutants.py --only last_visible_key --only later_copy_ignored
  ci/harness_mutants.py --preset asan --build out/mutants --jobs 2

exit codes: 0 every mutant was killed; 1 one survived, was not judged or has lost its place in the
source, or the unchanged tests fail; 2 wrong command line or table; 130 interrupted.
An interrupted run restores the file and resumes. BUILD/results.json keeps the killed mutants; such
a result is void once a built source or the mutant changes. The first run builds the unchanged test
programs; then a mutant costs the compilation of what includes its file, and the tests it names.
"""
FIELDS = {"name": str, "bug": str, "file": str, "pattern": str, "replacement": str, "tests": dict}
# A result depends on these files, but not on scripts, pages or the table of mutants.
BUILT = ("CMakeLists.txt", "CMakePresets.json", "baselines/", "cases/", "ci/cmake/", "harness/",
         "kernels/", "tests/")
NOT_BUILT = ("tests/ci/", "tests/docs/")
MARK = ".harness_mutants"  # marks a copy, which may be overwritten
TEST_SECONDS = 600  # timeout of a test program; these take seconds on an idle machine
NINJA_STEP = re.compile(r"\[\d+/\d+\] ")
SECONDS_BETWEEN_LINES = 30


def check(mutant, who):
    """Refuses wrong values that the field types do not rule out."""
    file = pathlib.PurePosixPath(mutant["file"])
    if file.parts[:1] != ("harness",) or ".." in file.parts:
        raise Refused(f"{who}: file {mutant['file']} is not in harness/")
    for field in ("bug", "pattern"):
        if not mutant[field].strip():
            raise Refused(f"{who}: {field} is empty")
    if not mutant["tests"]:
        raise Refused(f"{who}: tests is empty; write {{ test_base = \"TextTest.*\" }}")
    for program, tests in mutant["tests"].items():
        if not isinstance(tests, str) or not tests:
            raise Refused(f"{who}: tests of {program} must be a GoogleTest filter, "
                          "such as TextTest.*")


def read_table(path):
    """Returns the mutants of a table, each complete and with known fields only."""
    return mutant_tables.read_table(pathlib.Path(path), FIELDS, {}, check)


def mutate(text, mutant):
    """Returns the text with the mutant's one change. The pattern is literal text."""
    return replaced_once(text, mutant, re.compile(re.escape(mutant["pattern"])),
                         lambda _: mutant["replacement"])


def text_of(folder, mutant):
    """Returns the text of the file that the mutant changes."""
    try:
        return (folder / mutant["file"]).read_text(encoding="utf-8")
    except OSError as error:
        raise NoPlace(f"mutant {mutant['name']}: {mutant['file']}: {error.strerror}") from None


def check_places(mutants):
    """Raises an error that names all mutants that no longer fit the checkout."""
    lost = []
    for mutant in mutants:
        try:
            mutate(text_of(ROOT, mutant), mutant)
        except NoPlace as error:
            lost.append(str(error))
    if lost:
        raise NoPlace("\n".join(lost))


def git_lines(root, *arguments):
    done = subprocess.run(["git", "-C", str(root), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Refused(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}; "
                      "remedy: run this in a git checkout of plumbline")
    return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path]


def files_of(root):
    """Returns the files of a checkout that git tracks or would add."""
    paths = git_lines(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted({path for path in paths if os.path.lexists(root / path)})


def content(path):
    return os.readlink(path).encode() if path.is_symlink() else path.read_bytes()


def copy_files(root, to, paths):
    """Makes `to` hold exactly these files of `root`, plus its own build/ and mark. An unchanged
    file keeps its time, so that nothing is recompiled for it. Returns the paths written."""
    written = []
    wanted = set(paths)
    for folder, folders, files in os.walk(to):
        here = pathlib.Path(folder)
        if here == to and "build" in folders:
            folders.remove("build")
        if here == to and MARK in files:
            files.remove(MARK)
        links = [name for name in folders if (here / name).is_symlink()]
        for name in files + links:
            if (here / name).relative_to(to).as_posix() not in wanted:
                (here / name).unlink()
    for path in paths:
        source, place = root / path, to / path
        if os.path.lexists(place) and place.is_symlink() == source.is_symlink() and \
                content(place) == content(source):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        shutil.copyfile(source, place, follow_symlinks=False)
        if not source.is_symlink():
            shutil.copymode(source, place)
        written.append(path)
    return written


def check_folder(build, copy):
    """Refuses a build folder whose files git would list, and an existing copy without our
    mark."""
    if build.is_relative_to(ROOT) and subprocess.run(
            ["git", "-C", str(ROOT), "check-ignore", "-q", build], check=False).returncode != 0:
        raise Refused(f"--build: {build} is part of the checkout; remedy: name a folder that "
                      "git ignores, for example build/mutants")
    if copy.exists() and not (copy / MARK).exists():
        raise Refused(f"--build: {copy} is no copy made by {PROGRAM} and would be overwritten; "
                      "remedy: name another folder")


def digest_of(root, paths):
    """Returns a hash of the files that are compiled and of those that the tests read."""
    digest = hashlib.sha256()
    for path in paths:
        if not path.startswith(BUILT) or path.startswith(NOT_BUILT):
            continue
        data = content(root / path)
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def processor_seconds():
    """Returns the processor time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Results:
    """A JSON file of earlier results. A key is the hash of a source and a mutant or test filter."""

    def __init__(self, path, source):
        self.path, self.source = path, source
        try:
            self.known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def key(self, what):
        return hashlib.sha256(json.dumps([self.source, what], sort_keys=True).encode()).hexdigest()

    def get(self, what):
        return self.known.get(self.key(what))

    def put(self, what, result):
        self.known[self.key(what)] = result
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.known, indent=1) + "\n", encoding="utf-8")
        new.replace(self.path)


def outcome_of(code, report):
    """Returns ("fails", "passes" or "runs nothing", description) for a test program, from its exit
    code and GoogleTest's JSON, which a crashed program does not write."""
    if report is None:
        return "fails", f"dies of signal {-code}" if code < 0 else f"exits with {code} in a test"
    tests = [(f"{suite['name']}.{test['name']}", test)
             for suite in report["testsuites"] for test in suite["testsuite"]]
    failed = [name for name, test in tests if test.get("failures")]
    if failed:
        return "fails", failed[0] + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")
    ran = sum(test["status"] == "RUN" and test["result"] == "COMPLETED" for _, test in tests)
    if code != 0:
        return "fails", f"exits with {code}, and no test failed"
    return "passes" if ran else "runs nothing", f"{ran} of {len(tests)} tests pass"


class Bench:
    """The copy and its build folder; builds and runs programs there."""

    def __init__(self, options):
        self.options = options
        self.copy = options.build / ROOT.name
        self.binaries = self.copy / "build" / options.preset
        self.log = options.build / "harness_mutants.log"
        self.paths = files_of(ROOT)
        check_folder(options.build, self.copy)
        options.build.mkdir(parents=True, exist_ok=True)
        self.log.write_text("", encoding="utf-8")

    def configure(self):
        self.copy.mkdir(exist_ok=True)
        (self.copy / MARK).touch()
        changed = copy_files(ROOT, self.copy, self.paths)
        if (self.binaries / "build.ninja").exists() and "CMakePresets.json" not in changed:
            return  # the build itself detects other changes
        command = ["cmake", "--preset", self.options.preset, "-B", str(self.binaries)]
        code, _ = said(command, self.log, folder=self.copy)
        if code != 0:
            raise NotBuilt(f"cmake --preset {self.options.preset} exits with {code}: see "
                           f"{self.log}")

    def build(self, programs):
        """Builds the programs, and prints progress on stderr from time to time."""
        command = ["cmake", "--build", str(self.binaries), "-j", str(self.options.jobs),
                   "--target", *programs]
        told = time.monotonic()
        with open(self.log, "a", encoding="utf-8") as log, \
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace") as running:
            print("$", *command, file=log, flush=True)
            for line in running.stdout:
                log.write(line)
                step = NINJA_STEP.match(line)
                if step and time.monotonic() - told > SECONDS_BETWEEN_LINES:
                    told = time.monotonic()
                    print(f"      building {step[0].strip()}", file=sys.stderr, flush=True)
        if running.returncode != 0:
            raise NotBuilt(f"{', '.join(programs)} did not compile: see {self.log}")

    def program(self, name):
        found = [path for path in (self.binaries / "tests").glob(f"**/{name}") if path.is_file()]
        if len(found) != 1:
            raise NotBuilt(f"{len(found)} programs named {name} below {self.binaries / 'tests'}, "
                           "not one")
        return found[0]

    def run(self, name, tests):
        """Returns outcome_of() for these tests of a program."""
        program = self.program(name)
        report = self.options.build / "tests.json"
        report.unlink(missing_ok=True)
        command = [str(program), f"--gtest_filter={tests}", f"--gtest_output=json:{report}"]
        with open(self.log, "a", encoding="utf-8") as log:
            print("$", *command, file=log, flush=True)
            try:
                code = subprocess.run(command, stdout=log, stderr=log, check=False,
                                      cwd=program.parent, timeout=TEST_SECONDS).returncode
            except subprocess.TimeoutExpired:
                raise NotBuilt(f"{name} --gtest_filter={tests} takes more than {TEST_SECONDS} s") \
                    from None
        return outcome_of(code, json.loads(report.read_text(encoding="utf-8"))
                          if report.exists() else None)


def check_unchanged(bench, mutants, results):
    """Builds the programs of the mutants; raises NotBuilt unless all pass unchanged."""
    pairs = sorted({pair for mutant in mutants for pair in mutant["tests"].items()})
    bench.build(sorted({program for program, _ in pairs}))
    for program, tests in pairs:
        if results.get(["unchanged", program, tests]):
            continue
        outcome, words = bench.run(program, tests)
        if outcome != "passes":
            raise NotBuilt(f"the unchanged {program} --gtest_filter={tests} does not pass: "
                           f"{words}; see {bench.log}")
        results.put(["unchanged", program, tests], {"words": words})


def judge(bench, mutant):
    """Returns (verdict, description): plants the mutant in the copy, tests it and restores the
    file."""
    place = bench.copy / mutant["file"]
    text = text_of(bench.copy, mutant)
    place.write_text(mutate(text, mutant), encoding="utf-8")
    try:
        bench.build(sorted(mutant["tests"]))
        outcomes = [bench.run(program, tests) for program, tests in sorted(mutant["tests"].items())]
    except NotBuilt as error:
        return "not judged", str(error)
    finally:
        place.write_text(text, encoding="utf-8")
    survived = [words for outcome, words in outcomes if outcome != "fails"]
    if survived:
        return "SURVIVED", "; ".join(survived)
    return "killed", "; ".join(words for _, words in outcomes)


def judge_all(bench, mutants, results):
    """Returns the rows of the table of results, and the number of killed mutants."""
    open_mutants = [mutant for mutant in mutants if not results.get(mutant)]
    if open_mutants:
        print(f"{PROGRAM}: configuring and building the unchanged tests in {bench.copy}",
              file=sys.stderr, flush=True)
        bench.configure()
        check_unchanged(bench, open_mutants, results)
    progress, rows, count = Progress(len(open_mutants)), [], 0
    for mutant in mutants:
        known = results.get(mutant)
        if known:
            rows.append((mutant["name"], "killed", "earlier", known["words"]))
            count += 1
            continue
        progress.step(mutant["name"])
        before = processor_seconds()
        verdict, words = judge(bench, mutant)
        rows.append((mutant["name"], verdict, f"{processor_seconds() - before:.0f}", words))
        print(f"      {verdict}: {words}", file=sys.stderr, flush=True)
        if verdict == "killed":
            count += 1
            results.put(mutant, {"name": mutant["name"], "words": words})
    return rows, count


def arguments(given):
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="this mutant alone; repeat for more")
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    parser.add_argument("--preset", default="host", metavar="NAME",
                        help="preset of CMakePresets.json (default: host)")
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR",
                        default=ROOT / "build" / "harness_mutants",
                        help="copy, build and results (default: build/harness_mutants)")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, metavar="FILE",
                        help="mutants (default: tests/ci/harness_mutants.toml)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="compilers at once (default: one per processor)")
    return parser.parse_args(given)


def checked(options):
    """Returns the chosen mutants, which fit the checkout; raises Refused otherwise."""
    mutants = chosen_of(read_table(options.table), options.only)
    options.build = pathlib.Path(os.path.abspath(options.build))
    if options.jobs < 1:
        raise Refused("--jobs: 1 or more")
    if options.build.exists() and not options.build.is_dir():
        raise Refused(f"--build: {options.build} is not a folder")
    check_places(mutants)
    return mutants


def main(given=None):
    options = arguments(given)
    try:
        mutants = checked(options)
        if options.list:
            print(table([("mutant", "file", "tests", "bug")] +
                        [(mutant["name"], mutant["file"], " ".join(sorted(mutant["tests"])),
                          mutant["bug"]) for mutant in mutants]))
            return 0
        bench = Bench(options)
        source = [digest_of(ROOT, bench.paths), options.preset]
        rows, killed = judge_all(bench, mutants, Results(options.build / "results.json", source))
    except (Refused, NotBuilt) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 1 if isinstance(error, (NoPlace, NotBuilt)) else 2
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted; next: the same command resumes", file=sys.stderr)
        return 130
    print(table([("mutant", "verdict", "cpu s", "failing test")] + rows))
    print(f"{killed} of {len(mutants)} mutants killed, "
          f"{processor_seconds():.0f} s of processor time")
    return 0 if killed == len(mutants) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    sys.exit(main())
