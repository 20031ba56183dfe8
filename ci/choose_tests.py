#!/usr/bin/env python3
"""Builds and runs the tests that check a change within minutes; ci/check.sh calls it.

These are the tests with label `quick` (they start no program and take less than a second each), and
all tests of the touched folders (those with files that differ from HEAD).

  ci/choose_tests.py --preset host               builds their programs, runs them, counts the others
  ci/choose_tests.py --preset host --since main  touched: files that differ from main
  ci/choose_tests.py --preset host --list        prints the choice; builds and runs nothing
"""
import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_tests  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"harness/(\w+)/', re.MULTILINE)
SOURCES = {".cc", ".h", ".hpp"}
# Labels for a test's kind or needs, the rarest first. A test counts under the first that it has.
KINDS = ("gpu", "wheel", "weekly", "times", "thirdparty", "slow", "suite", "docs", "python", "cli",
         "unit")
# Folders whose folder in tests/ has another name; the longest matching folder counts.
TESTS_OF = {"kernels/attention": "kernels", "kernels/cpu": "kernels", "emulator": "emulator",
            "emulator/ptx": "ptx", "emulator/cudart": "cudart", "python": "python_package",
            "python/worker": "python_worker", "page": "page"}


def lines_of(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ci/choose_tests.py: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def changed_files(since):
    """Returns the paths that differ from a commit, and untracked ones."""
    return sorted(set(lines_of("git", "diff", "--name-only", since, "--")
                      + lines_of("git", "ls-files", "--others", "--exclude-standard")))


def includers(harness):
    """Returns {folder of harness/: the folders that include it}."""
    graph = collections.defaultdict(set)
    for path in harness.glob("*/**/*"):
        own = path.relative_to(harness).parts[0]
        if path.suffix in SOURCES and path.is_file():
            for folder in INCLUDE.findall(path.read_text(encoding="utf-8")):
                if folder != own:
                    graph[folder].add(own)
    return graph


def touched_folders(paths, with_tests):
    """Returns the folders of tests/ whose tests all run, the touched folders of harness/, and the
    paths that belong to no folder with tests of its own."""
    own, harness, elsewhere = set(), set(), []
    for path in paths:
        parts = pathlib.PurePosixPath(path).parts
        folder = parts[1] if len(parts) > 2 else None
        if parts[0] == "harness" and folder:
            harness.add(folder)
        held = [prefix for prefix in TESTS_OF if path.startswith(prefix + "/")]
        if held:
            folder = TESTS_OF[max(held, key=len)]
        if (held or parts[0] in ("harness", "kernels", "tests")) and folder in with_tests:
            own.add(folder)
        else:
            elsewhere.append(path)
    return own, harness, elsewhere


def read_programs(build):
    """Returns the rows of test_programs.csv, which CMake writes."""
    with (build / "test_programs.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def chosen_programs(programs, own):
    return [row for row in programs if row["quick"] == "YES" or row["folder"] in own]


def ctest_list(build):
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)["tests"]
    except (json.JSONDecodeError, KeyError):
        sys.exit(f"ci/choose_tests.py: CTest cannot list the tests of {build}: {done.stderr}"
                 f"remedy: cmake --build {build}")


def properties_of(test):
    return {entry["name"]: entry["value"] for entry in test["properties"]}


def folder_of(test, build):
    """Returns the folder of tests/ that declares a test."""
    folder = pathlib.Path(properties_of(test).get("WORKING_DIRECTORY", ""))
    if folder.is_relative_to(build / "tests"):
        parts = folder.relative_to(build / "tests").parts
        return parts[0] if parts else None
    return None


def chosen_tests(tests, build, own, left_out):
    """Returns (numbers of the tests to run, the other tests). Tests with a label that matches
    `left_out` are among the others."""
    chosen, others = [], []
    for number, test in enumerate(tests, 1):
        labels = properties_of(test).get("LABELS", [])
        is_left_out = any(re.search(left_out, label) for label in labels)
        wanted = "quick" in labels or folder_of(test, build) in own
        is_built = bool(test.get("command")) and not test["name"].endswith("_NOT_BUILT")
        if wanted and is_built and not is_left_out:
            chosen.append(number)
        else:
            others.append(test)
    return chosen, others


def describe_others(others):
    """Returns how many tests did not run, by kind, and how many programs are not built."""
    counts = collections.Counter()
    unbuilt = 0
    for test in others:
        if test["name"].endswith("_NOT_BUILT"):
            unbuilt += 1
        else:
            labels = properties_of(test).get("LABELS", [])
            counts[next((kind for kind in KINDS if kind in labels), "other")] += 1
    parts = [f"{count} {label}" for label, count in counts.most_common()]
    if unbuilt:
        parts.append(f"those of {unbuilt} program{'s' * (unbuilt > 1)} not built")
    return ", ".join(parts) or "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", required=True, help="preset whose build is used")
    parser.add_argument("--since", default="HEAD",
                        help="commit to compare the files with (default: HEAD)")
    parser.add_argument("--list", action="store_true", help="print the choice alone")
    arguments = parser.parse_args()
    build = ROOT / "build" / arguments.preset
    if not (build / "test_programs.csv").is_file():
        print(f"ci/choose_tests.py: {build}/test_programs.csv is missing; remedy: cmake --preset "
              f"{arguments.preset}", file=sys.stderr)
        return 2
    programs = read_programs(build)
    with_tests = {path.parent.name for path in (ROOT / "tests").glob("*/CMakeLists.txt")}
    own, harness, elsewhere = touched_folders(changed_files(arguments.since), with_tests)
    graph = includers(ROOT / "harness")
    includes_them = set().union(*(graph[folder] for folder in harness)) - harness
    chosen = chosen_programs(programs, own)
    print(f"touched: {', '.join(sorted(own)) or 'no folder with tests'}")
    print(f"included by: {', '.join(sorted(includes_them)) or 'no folder of harness/'}")
    if elsewhere:
        more = f" and {len(elsewhere) - 3} more" if len(elsewhere) > 3 else ""
        print(f"no tests of their own here: {', '.join(elsewhere[:3])}{more}")
    print(f"programs ({len(chosen)} of {len(programs)}): "
          f"{' '.join(row['program'] for row in chosen)}", flush=True)
    if arguments.list:
        return 0

    targets = [row["program"] for row in chosen]
    build_them = ["cmake", "--build", "--preset", arguments.preset, "--target", *targets]
    code = subprocess.run(build_them, cwd=ROOT, check=False).returncode
    if code:
        return code
    left_out = run_tests.left_out_here(run_tests.read_preset(arguments.preset)[1])
    tests = ctest_list(build)
    numbers, others = chosen_tests(tests, build, own, left_out)
    if not numbers:
        print("ci/choose_tests.py: no test to run: no test of this build has the label quick",
              file=sys.stderr)
        return 1
    # CTest 3.25 accepts names only as one regex of limited length, so a file of numbers is passed.
    # CTest numbers the tests that the label options leave: with -LE "^$", all (run_tests.py).
    file = build / "chosen_tests.txt"
    file.write_text("0,0,0," + ",".join(map(str, numbers)) + "\n", encoding="utf-8")
    run_them = ["ctest", "--preset", arguments.preset, "-LE", "^$", "-I", file, "--progress",
                "--no-label-summary"]
    code = subprocess.run(run_them, cwd=ROOT, check=False).returncode
    print(f"\nnot run: {describe_others(others)}")
    print("next: ci/check.sh --tests runs all tests; "
          f"ctest --preset {arguments.preset} -L LABEL runs those of one label")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
