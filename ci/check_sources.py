#!/usr/bin/env python3
"""Checks that need no compiler: include directions, line lengths, file sizes, opening lines.

Also TODO marks, duplicate type names, SQL, JSON keys, missing includes, README lengths and prose.
With a built directory: sources that no target or two targets compile, and test programs that
CTest does not run.

  ci/check_sources.py                     the sources alone
  ci/check_sources.py --build build/dev   also this build directory; build everything first
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "ci"))
import check_prose as prose  # noqa: E402
import named_headers  # noqa: E402

# The header of the table of folders in CONTRIBUTING.md, whose first row is the lowest layer.
FOLDER_TABLE = "| folder | its trade |"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
NAMESPACE = re.compile(r"^namespace ?(\S*) \{|^\}  // namespace")
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: final)?(?: : [^;]*)? \{")
SOURCES = {".cc", ".h", ".hpp", ".cu", ".cuh", ".c"}
PROSE = {".md"}
TEXT = {".py", ".sh", ".toml", ".cmake", ".sql", ".in"}  # and CMakeLists.txt
LINE_LIMIT = 100
# Columns of a page's table row; a row of the repository's README fits a screen.
TABLE_LIMIT = 140
README_TABLE_LIMIT = 100
# A line that is a link, or a table row of resources that the program writes.
NOT_WRAPPED = re.compile(r"https?://\S+( \\)?$|^sm_\w+ += \{")
NO_LINE_LIMIT = [
    re.compile(r"tests/provider/first_release/"),  # the header of a release, unchanged
    re.compile(r"tests/.*\.(md|toml|sql)$"),  # golden output and recorded inputs
    re.compile(r"baselines/gpu/"),  # figures as ci/gpu.sh wrote them
    re.compile(r"baselines/hardening\.toml$"),  # rows as ci/hardening.py added them
]
FILE_LIMIT = {"harness": 500, "kernels": 500, "tests": 600}
README_WORDS = 900  # as `wc -w` counts them
FOLDER_README_WORDS = 200
FOLDER_LINES = 9500
FOLDERS_WITHOUT_HEADERS = ("emulator", "kernels", "kernels/foreign", "python", "page", "evidence")
# JSON keys written as literals next to a value. At commit aab46ab there were 998 of them. The limit
# may only shrink.
JSON_KEY = re.compile(r'\{"[a-z_0-9]+",(?: [^"]|$)|\["[a-z_0-9]+"\]', re.MULTILINE)
JSON_KEYS = 332
SHOWN_SQL = re.compile(r"plumbline query|duckdb|FROM v_history WHERE status")
# A filter of tests in a page or script. Words with $, { or ... are templates.
TEST_FILTER = re.compile(r"ctest[^`\n|]*? (?:-R|--tests-regex) ('[^'\n$]+'|[^\s'`$,;]+)|"
                         r"--gtest_filter=('[^'\n$]+'|[\w*./:]+)(?!\.\.\.)")
FILTER_FILES = {".md", ".sh", ".py", ".yml", ".toml"}
INSTANTIATION = re.compile(r"INSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)")
LARGEST = 256 * 1024  # bytes, for any file: a larger one was built or downloaded

# Sources that only some builds compile, and a predicate on CMakeCache.txt that is true if the build
# does not compile them. Every other .cc, .cu and .c has to be an input of a target, because a list
# of sources that was set two times lost nine tests.
NOT_IN_EVERY_BUILD = [
    # a project of its own, which a test builds
    (re.compile(r"tests/sample_provider/"), lambda cache: True),
    # ci/wheel.sh compiles it with another compiler
    (re.compile(r"ci/wheel/cpu_model\.c"), lambda cache: True),
    # configuring compiles it
    (re.compile(r"ci/cmake/measure_seconds\.c"), lambda cache: True),
    (re.compile(r"kernels/compiled/flash_attention/|"
                r"tests/compiled/(scalar|test)_flash_attention\.cc"),
     lambda cache: not cache.get("PLUMBLINE_FLASH_ATTENTION_FILES")),
    # nvcc's report on it is stored next to it
    (re.compile(r"tests/resources/tile\.cu"), lambda cache: True),
    (re.compile(r"harness/resources/occupancy\.cc"),
     lambda cache: "NOTFOUND" in cache.get("PLUMBLINE_CUDA_OCCUPANCY_DIR", "")),
    (re.compile(r"harness/resources/occupancy_unknown\.cc"),
     lambda cache: "NOTFOUND" not in cache.get("PLUMBLINE_CUDA_OCCUPANCY_DIR", "")),
    (re.compile(r"tests/fuzz/entry\.cc"),
     lambda cache: "fuzzer" not in cache.get("PLUMBLINE_SANITIZE", "")),
    (re.compile(r"tests/tsan/planted_race\.cc"),
     lambda cache: cache.get("PLUMBLINE_SANITIZE") != "thread"),
    (re.compile(r"python/"), lambda cache: not cache.get("PLUMBLINE_PYTHON_EXECUTABLE")),
    (re.compile(r"tests/"), lambda cache: cache.get("PLUMBLINE_TESTS") == "OFF"),
    (re.compile(r"kernels/attention/(launch_facts|(device|machine|memory)_cuda)\.cc|"
                r"kernels/compiled/machine_cuda\.cc|kernels/reference_gpu/cuda\.cu|"
                r"tests/(gpu|kernels|reference_gpu)/|tests/ptx/(test_)?own_kernel(_packed)?\.|"
                r"tests/cudart/program_of_nvcc\.cu"),
     lambda cache: cache.get("PLUMBLINE_CUDA", "OFF") == "OFF"),
    # third-party kernels, whose sources ci/setup.sh --providers downloads
    (re.compile(r"kernels/compiled/|tests/compiled/"),
     lambda cache: cache.get("PLUMBLINE_FOREIGN_BUILT", "OFF") == "OFF"),
]

# Sources that several targets compile on purpose: with other options or definitions, or into
# providers and test programs that must not share a library.
COMPILED_TWICE = [
    re.compile(r"kernels/cpu/sequences\.cc"),  # mutants compile it with -fno-math-errno
    # the fake CUDA driver runs the emulated kernels through CUDA's interface
    re.compile(r"kernels/attention/(emulated_launch|kernels|options|provider)\.cc"),
    re.compile(r"kernels/attention/\w+\.(cc|cu)"),  # g++ for the emulator, nvcc for GPUs
    re.compile(r"kernels/compiled/"),  # for the emulator and for GPUs
    re.compile(r"harness/(base/json|provider/(protocol|child/\w+))\.cc"),  # without sanitizers
    # a test program for each provider that it loads
    re.compile(r"tests/kernels/test_gpu_(features|kernels)\.cc|tests/gpu/test_memory_table\.cc"),
    re.compile(r"tests/gpu/stand_in/device\.cc|tests/provider/test_provider_library\.cc"),
    re.compile(r"tests/reference_gpu/test_reference_library\.cc|tests/timing/simulation\.cc"),
    re.compile(r"tests/provider/plain_attention\.cc"),  # also against the headers of a release
]


def folders_in_order():
    """Returns the folders in the order of CONTRIBUTING.md: each may include itself and those above
    it."""
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    if FOLDER_TABLE not in lines:
        sys.exit(f'CONTRIBUTING.md lacks the table "{FOLDER_TABLE}", which orders the folders')
    folders = []
    for line in lines[lines.index(FOLDER_TABLE) + 2:]:
        match = re.match(r"\| `([\w/]+)/` \|", line)
        if not match:
            break
        folders.append(match.group(1))
    return folders


ORDER = folders_in_order()
# Top-level folders that a top-level folder may include, besides the C interface of providers.
SEEN_FROM = {"harness": {"harness"}, "emulator": {"emulator"}, "kernels": {"emulator", "kernels"},
             "python": {"harness", "python"}}
C_INTERFACE = {"harness/provider/plumbline_provider.h", "harness/provider/plumbline_provider.hpp"}


# The table of GPU architectures, which CMake generates from emulator/architectures.csv; any source
# may include it.
ARCHITECTURES = "emulator/architectures.h"


def folder_of(path):
    """Returns the folder of the table that a path belongs to (the longest match), or None."""
    held = [folder for folder in ORDER if path.startswith(folder + "/")]
    return max(held, key=len, default=None)


def include_error(path, target):
    """Returns why a source may not include a header that is named from the root; None if it may."""
    top, other_top = path.parts[0], target.split("/")[0]
    if top not in SEEN_FROM or other_top not in {*SEEN_FROM, "tests"}:
        return None
    if target == ARCHITECTURES:
        return None
    allowed = set(C_INTERFACE if top == "kernels" else ())
    if path.parts[1] == "reference_gpu":  # not a kernel under test, but part of the reference
        allowed.add("harness/reference/plumbline_reference.h")
    if target in allowed:
        return None
    if other_top not in SEEN_FROM[top]:
        exception = " but the C interface of providers" if allowed else ""
        return f"{top}/ includes no header of {other_top}/{exception}"
    own, other = folder_of(str(path)), folder_of(target)
    if own is None or other is None:
        return f"CONTRIBUTING.md's table of folders lacks {target if own else path}"
    if ORDER.index(other) > ORDER.index(own):
        return f"{other} is not above {own} in CONTRIBUTING.md's table"
    return None


def check(path):
    """Yields (line, error) for a C++, C or CUDA source or header."""
    errors = []
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    limit = FILE_LIMIT.get(path.parts[0], 500)
    if len(lines) > limit:
        errors.append((len(lines), f"{len(lines)} lines, more than {limit}: split the file"))
    if not lines or not lines[0].startswith(("// ", "/* ")):
        errors.append((1, "the first line must be a comment that describes the file"))
    golden = None  # the end of the current raw string, whose lines may have any length
    for number, line in enumerate(lines, 1):
        begins = None if golden else re.search(r'R"(\w*)\((?!.*\)\1")', line)
        within = golden or 'R"' in line
        if begins:
            golden = f'){begins.group(1)}"'
        elif golden and golden in line:
            golden = None
        if len(line) > LINE_LIMIT and not within and has_line_limit(path):
            errors.append((number, f"{len(line)} columns, more than {LINE_LIMIT}"))
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            errors.append((number, "an open task: track it in an issue"))
        match = INCLUDE.match(line)
        if match and (error := include_error(path, match.group(1))):
            errors.append((number, f'"{match.group(1)}": {error}'))
    return errors


def has_line_limit(path):
    return not any(pattern.match(str(path)) for pattern in NO_LINE_LIMIT)


def check_text(path):
    """Yields the lines of scripts, suites and build files that are too long."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [(number, f"{len(line)} columns, more than {LINE_LIMIT}")
            for number, line in enumerate(lines, 1)
            if len(line) > LINE_LIMIT and not NOT_WRAPPED.search(line) and has_line_limit(path)]


def check_prose(path):
    """Yields the lines of a page that are too long; code and output are exempt."""
    table = README_TABLE_LIMIT if path == pathlib.Path("README.md") else TABLE_LIMIT
    errors = []
    code = False
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            code = not code
        limit = table if line.startswith("|") else LINE_LIMIT
        text = re.sub(r"\]\([^)]*\)|https?://\S+", "", line)  # without link targets
        if not code and len(text) > limit:
            errors.append((number, f"{len(text)} columns, more than {limit}"))
    return errors


def check_readme():
    """Checks the number of words of README.md."""
    words = len((ROOT / "README.md").read_text(encoding="utf-8").split())
    if words > README_WORDS:
        yield (pathlib.Path("README.md"), 1,
               f"{words} words, more than {README_WORDS}: move details to docs/")


def check_folders(paths):
    """Checks that every folder of the table, and of FOLDERS_WITHOUT_HEADERS, has a short README.
    Also checks that no folder of the table has too much code."""
    lines = dict.fromkeys(ORDER, 0)
    for path in paths:
        if folder := folder_of(str(path)):
            lines[folder] += len((ROOT / path).read_text(encoding="utf-8").splitlines())
    for folder, count in lines.items():
        if count > FOLDER_LINES:
            yield pathlib.Path(folder), 1, f"{count} lines, more than {FOLDER_LINES}: split it"
    for folder in filter(lambda name: (ROOT / name).is_dir(),
                         [*ORDER, *FOLDERS_WITHOUT_HEADERS]):
        readme = pathlib.Path(folder) / "README.md"
        if folder == "python/src":  # its row is in python/README.md
            continue
        if not (ROOT / readme).is_file():
            yield readme, 1, "the folder has none: state input, output and private parts"
        elif folder != "page":  # whose README also describes how to work on it
            words = len((ROOT / readme).read_text(encoding="utf-8").split())
            if words > FOLDER_README_WORDS:
                yield readme, 1, f"{words} words, more than {FOLDER_README_WORDS}"


def selects_outside_the_store(path):
    """Yields lines of harness/, except its folder store, that contain SQL. Help texts and scripts
    may show SQL of `plumbline query`."""
    if path.parts[0] != "harness" or path.parts[1] == "store":
        return
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        if re.search(r"\bSELECT\b.*\bFROM\b", line) and not SHOWN_SQL.search(line):
            yield path, number, "SQL: move the query to harness/store/queries"


def typed_json_keys(paths):
    """Reports an error if the sources of harness/ have more JSON keys than the limit."""
    texts = ((ROOT / path).read_text(encoding="utf-8") for path in paths
             if path.parts[0] == "harness")
    count = sum(len(JSON_KEY.findall(text)) for text in texts
                if re.search(r"\bJson\b|nlohmann", text))
    if count > JSON_KEYS:
        yield (pathlib.Path("harness"), 1, f"{count} JSON keys are literals, more than "
               f"{JSON_KEYS}: take them from the names of members (harness/base/json_fields.h)")


def types_seen_by_the_linker(path):
    """Yields (namespace, type), line for each type at namespace scope outside unnamed
    namespaces."""
    scopes = []
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        if match := NAMESPACE.match(line):
            scopes.append(match.group(1)) if match.group(1) is not None else scopes.pop()
        elif (match := TYPE.match(line)) and "" not in scopes:
            yield ("::".join(scopes), match.group(1)), number


def taken_names(paths):
    """Yields types with the same name in one namespace: the linker silently keeps the functions of
    one type."""
    first = {}
    for path in paths:
        for name, number in types_seen_by_the_linker(path):
            if name in first:
                yield path, number, f"{'::'.join(name)} is the name of a type in {first[name]}, too"
            first.setdefault(name, path)


def cmake_cache(build):
    text = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    entries = re.findall(r"^(\w+):\w+=(.*)$", text, re.MULTILINE)
    return dict(entries)


def compiled_sources(build):
    """Returns {absolute path: the targets that compile it}, from build.ninja. A unity source counts
    as the sources that it includes."""
    targets = {}
    for line in (build / "build.ninja").read_text(encoding="utf-8").splitlines():
        # "build OBJECT: RULE SOURCE | …": every rule names a source by its absolute path.
        if not line.startswith("build "):
            continue
        outputs, _, inputs = line[len("build "):].replace("$ ", "\0").partition(": ")
        match = re.search(r"CMakeFiles/([^/]+)\.dir/", outputs)
        target = match.group(1) if match else outputs
        for word in inputs.split(" || ")[0].split(" | ")[0].split()[1:]:
            for source in unity_members(build / word) or [word]:
                targets.setdefault(source, []).append(target)
    return targets


def unity_members(path):
    """Returns the sources that a unity source of CMake includes; none for any other path."""
    if path.parent.name != "Unity" or path.suffix == ".o" or not path.is_file():
        return []
    return re.findall(r'^#include "(/[^"]+)"$', path.read_text(encoding="utf-8"), re.MULTILINE)


def unbuilt_sources(build, paths):
    """Yields the sources that no target of the build compiles."""
    cache = cmake_cache(build)
    targets = compiled_sources(build)
    for path in paths:
        if path.suffix not in {".cc", ".cu", ".c"} or str(ROOT / path) in targets:
            continue
        if not any(pattern.match(str(path)) and is_left_out(cache)
                   for pattern, is_left_out in NOT_IN_EVERY_BUILD):
            yield path, 1, f"no target of {build} compiles it: list it in a CMakeLists.txt, once"


def sources_built_twice(build, paths):
    """Yields the sources of the harness and the kernels that two targets compile without a
    reason."""
    targets = compiled_sources(build)
    for path in paths:
        names = targets.get(str(ROOT / path), [])
        if len(names) < 2 or any(pattern.match(str(path)) for pattern in COMPILED_TWICE):
            continue
        yield path, 1, (f"{len(names)} targets of {build} compile it ({', '.join(sorted(names))}): "
                        "compile it once, into a library that both link")


def program_of(test):
    """Returns the path of a test's program: the first word of its command after the launcher of
    ci/cmake/Seconds.cmake (LAUNCHER FILE gtest -- PROGRAM…, LAUNCHER FILE test NAME --
    PROGRAM…)."""
    command = test["command"]
    if pathlib.Path(command[0]).name == "measure_seconds":
        command = command[command.index("--") + 1:]
    return pathlib.Path(command[0])


def missing_label(test, build):
    """Returns the label of the folder of tests/ in which a test's program was built, if the test
    lacks this label."""
    program = program_of(test)
    if not program.is_relative_to(build / "tests"):
        return None
    folder = program.relative_to(build / "tests").parts[0]
    label = "gpu_folder" if folder == "gpu" else folder  # `gpu`: the test needs a GPU
    labels = {entry["name"]: entry["value"] for entry in test["properties"]}.get("LABELS", [])
    return None if label in labels else label


def unreachable_tests(build):
    """Yields GoogleTest programs of which CTest runs no test, and tests that CTest cannot run or
    select by folder."""
    programs = set()
    program = None
    for line in (build / "build.ninja").read_text(encoding="utf-8").splitlines():
        if line.startswith("build "):
            match = re.match(r"build (\S+): CXX_EXECUTABLE_LINKER", line)
            program = match and match.group(1)
        elif program and line.lstrip().startswith("LINK_LIBRARIES") and "gtest_main" in line:
            programs.add(str(build / program))
            program = None
    # Exit code 8: a program is not built yet, so its tests have no command.
    command = ["ctest", "--test-dir", build, "--show-only=json-v1"]
    shown = subprocess.run(command, capture_output=True, text=True).stdout
    try:
        tests = json.loads(shown)["tests"]
    except json.JSONDecodeError:  # a list of tests that a build step writes is missing
        yield build, 1, "CTest cannot list the tests of this build: build everything first"
        return
    for test in tests:
        if not test.get("command"):
            yield (pathlib.Path(test["name"]), 1,
                   "CTest has no command for the test: build everything first")
        elif folder := missing_label(test, build):
            yield (pathlib.Path(test["name"]), 1,
                   f"CTest cannot find the test by its folder: it has no label {folder}")
    run = {str(program_of(test).resolve()) for test in tests if test.get("command")}
    for name in sorted(programs):
        if str(pathlib.Path(name).resolve()) not in run:
            yield (pathlib.Path(name), 1, "a test program of which CTest runs no test: "
                   "call plumbline_discover_tests, or add a test")


def names_of_tests(paths):
    """Returns the names of GoogleTest's tests, with instantiations and without parameters."""
    prefixes, names = {}, set()
    texts = [(ROOT / path).read_text(encoding="utf-8", errors="replace") for path in paths
             if path.parts[0] == "tests"]
    for text in texts:
        for prefix, suite in INSTANTIATION.findall(text):
            prefixes.setdefault(suite, []).append(prefix + "/")
    for text in texts:
        for suite, name in prose.TEST_NAME.findall(text):
            names |= {f"{prefix}{suite}.{name}" for prefix in ["", *prefixes.get(suite, [])]}
    return names


def stale_filters(paths, existing):
    """Yields the filters (`ctest -R`, --gtest_filter) in pages and scripts that match no test."""
    names = names_of_tests(paths)
    lists = "\n".join((ROOT / path).read_text(encoding="utf-8") for path in existing
                      if path.name == "CMakeLists.txt" and path.parts[0] == "tests")
    for path in existing if names else ():
        if path.suffix not in FILTER_FILES or path.parts[0] == "tests":
            continue
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for match in TEST_FILTER.finditer(text):
            word = next(filter(None, match.groups()))
            is_glob = match[0].lstrip("-").startswith("gtest")
            for one in re.split(r"\|(?![^(]*\))|:" if is_glob else r"\|", word.strip("'\"")):
                name = re.sub(r"^([^/]+\.[^/]+|[^/]+/[^/]+\.[^/]+)/.*", r"\1", one)
                pattern = re.escape(name).replace(r"\*", ".*") + "$" if is_glob else name
                found = re.match if is_glob else re.search
                if any(found(pattern, test) for test in names) or \
                        name.strip("^$").split(".")[-1] in lists:
                    continue
                yield (path, text.count("\n", 0, match.start()) + 1,
                       f"the filter {one} matches no test: follow tests/renamed.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a configured and built build directory")
    build = parser.parse_args().build
    if build and not (build / "build.ninja").is_file():
        parser.error(f"{build} has no build.ninja: run cmake --preset host, for example")
    existing = [pathlib.Path(name) for name in prose.files_of(ROOT)]
    paths = [path for path in existing if path.suffix in SOURCES]
    errors = [(path, 1, f"more than {LARGEST // 1024} KiB: left over from a build or a download?")
              for path in existing if (ROOT / path).stat().st_size > LARGEST]
    errors += [(path, line, error) for path in paths for line, error in check(path)]
    for path in filter(has_line_limit, existing):
        if path.suffix in PROSE:
            errors += [(path, line, error) for line, error in check_prose(path)]
        elif path.suffix in TEXT or path.name == "CMakeLists.txt":
            errors += [(path, line, error) for line, error in check_text(path)]
    errors += check_readme()
    errors += check_folders(paths)
    errors += [error for path in paths for error in selects_outside_the_store(path)]
    errors += taken_names([path for path in paths if path.parts[0] == "harness"])
    errors += typed_json_keys(paths)
    errors += named_headers.missing_headers(ROOT, paths)
    errors += prose.errors(ROOT)
    errors += stale_filters(paths, existing)
    if build:
        errors += unbuilt_sources(build.resolve(), paths)
        errors += sources_built_twice(build.resolve(), paths)
        errors += unreachable_tests(build.resolve())
    found = len(errors)
    for path, line, error in errors:
        print(f"{path}:{line}: {error}")
    print(f"{len(paths)} files, {found} errors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
