#!/usr/bin/env python3
"""Runs CTest with a test preset and summarizes the result in the last 30 lines.

  ci/run_tests.py --preset ci                      what CI runs
  ci/run_tests.py --preset ci --label weekly       one label, also one that the presets leave out
  ci/run_tests.py --preset tsan --at-most 5        without tests of more seconds in ci/seconds.csv
  ci/run_tests.py --preset host -- -R Limits       more options of ctest

The presets leave out the label `gpu`. This script runs its tests if there is an NVIDIA device, and
otherwise counts them. With PLUMBLINE_REQUIRE_GPU=1 they always run, and fail without a device.
Skipped tests are grouped by reason; all their names are in skipped.txt of the build directory. If
the build measured processor seconds, a run of all tests compares them with ci/seconds.csv. The last
lines are CTest's own. Exit code: ctest's; if that is 0, 1 if a step or test takes too long, or if a
test without the label gpu was skipped for lack of a GPU.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import seconds  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
END = re.compile(r"^\d+% tests passed, ")
REASONS_SHOWN = 7
COLUMNS = 100


def has_gpu():
    """Returns true if there is a GPU, as ci/gpu.sh and
    harness/provider/client/default_providers.cc do, but without nvidia-smi."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    if hidden == "" or hidden.startswith("-"):
        return False
    return os.path.exists("/dev/dxg") or (os.path.exists("/dev/nvidiactl")
                                          and bool(glob.glob("/dev/nvidia[0-9]*")))


def read_preset(name):
    """Returns the build directory of a test preset, and the labels that it leaves out (a regex)."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    by_name = {preset["name"]: preset for preset in presets["testPresets"]}
    if name not in by_name:
        sys.exit(f"ci/run_tests.py: CMakePresets.json has no test preset {name}: it has "
                 f"{', '.join(n for n, p in by_name.items() if not p.get('hidden'))}")
    preset, excluded, configured = by_name[name], None, None
    while preset:
        excluded = excluded or preset.get("filter", {}).get("exclude", {}).get("label")
        configured = configured or preset.get("configurePreset")
        preset = by_name.get(preset.get("inherits"))
    return ROOT / "build" / configured, excluded


def left_out_here(excluded):
    """Returns the labels that a preset leaves out, as a regex ^(one|other)$, without `gpu` if there
    is a GPU or one is required. CTest leaves out only tests that match both the preset's filter
    and -LE."""
    if not has_gpu() and os.environ.get("PLUMBLINE_REQUIRE_GPU") != "1":
        return excluded
    labels = excluded.removeprefix("^(").removesuffix(")$").split("|")
    return f"^({'|'.join(label for label in labels if label != 'gpu')})$"


def listed_tests(*options):
    """Returns {name: {property: value}} of the tests that ctest would run."""
    shown = subprocess.run(["ctest", *options, "--show-only=json-v1"], cwd=ROOT,
                           capture_output=True, text=True, check=False).stdout
    tests = json.loads(shown)["tests"] if shown.startswith("{") else []
    return {test["name"]: {p["name"]: p["value"] for p in test.get("properties", [])}
            for test in tests}


def tests_above(limit, tests):
    """Returns a regex of CMake for the tests with more processor seconds in ci/seconds.csv, and for
    the tests whose fixture one of these sets up, because CTest runs no set-up that -E names."""
    names = {name for (kind, name), figure in seconds.read_table(seconds.COMMITTED).items()
             if kind == "test" and figure > limit}
    lost = {fixture for name in names
            for fixture in tests.get(name, {}).get("FIXTURES_SETUP", [])}
    names |= {name for name, properties in tests.items()
              if not lost.isdisjoint(properties.get("FIXTURES_REQUIRED", []))}
    return f"^({'|'.join(re.escape(name) for name in sorted(names))})$" if names else "^$"


def count_tests(*options):
    shown = subprocess.run(["ctest", *options, "-N"], cwd=ROOT, capture_output=True, text=True,
                           check=False).stdout
    match = re.search(r"^Total Tests: (\d+)$", shown, re.MULTILINE)
    return int(match.group(1)) if match else 0


def reason_of(output):
    """Returns why a test was skipped, as one line of its output."""
    for pattern in (r": Skipped\n\s*(\S.*)", r"(?mi)^skipped:? +(\S.*)"):
        if match := re.search(pattern, output):
            return match.group(1).strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it does not say why"


def skipped_tests(junit):
    """Returns {reason: [names]} from a file of `ctest --output-junit`."""
    groups = {}
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        skipped = case.find("skipped")
        disabled = case.get("status") == "disabled"
        if not disabled and (skipped is None or skipped.get("message", "").startswith("Unable")):
            continue
        reason = "disabled" if disabled else reason_of(case.findtext("system-out") or "")
        groups.setdefault(reason, []).append(case.get("name"))
    return groups


def cut(line):
    return line if len(line) <= COLUMNS else line[:COLUMNS - 2] + " …"


def describe_skipped(groups, file):
    """Returns the lines about skipped tests: two per reason, most tests first."""
    count = sum(map(len, groups.values()))
    if not count:
        return ["no test was skipped"]
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"{count} tests skipped, for {len(ranked)} reasons (all names: {file}):"]
    for reason, names in ranked[:REASONS_SHOWN]:
        lines.append(cut(f"{len(names):5}: {reason}"))
        lines.append(cut("       " + ", ".join(names)))
    if len(ranked) > REASONS_SHOWN:
        rest = ranked[REASONS_SHOWN:]
        lines.append(f"{sum(len(names) for _, names in rest):5}: for {len(rest)} more reasons")
    return lines


def needing_a_gpu(groups):
    """Returns the tests that tests/need_gpu.h skipped, recognized by its message."""
    return [name for reason, names in groups.items() if reason.startswith("no GPU: ")
            for name in names]


def write_skipped(groups, path):
    with path.open("w", encoding="utf-8") as file:
        for reason, names in sorted(groups.items()):
            file.write(f"{len(names)}: {reason}\n")
            file.writelines(f"  {name}\n" for name in sorted(names))


def without_list_of_skipped(lines):
    """Returns CTest's last lines without the names of tests that did not run."""
    kept, within = [], False
    for line in lines:
        if line.startswith("The following tests did not run:"):
            within = True
        elif within and not line.startswith("\t"):
            within = False
            if not line.strip():
                continue
        if not within:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def run_ctest(command):
    """Prints CTest's output up to its summary; returns the exit code and the lines of the
    summary."""
    end = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            if end or END.match(line):
                end.append(line.rstrip("\n"))
            else:
                print(line, end="", flush=True)
    return process.returncode, end


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", required=True, help="a test preset of CMakePresets.json")
    parser.add_argument("--label", help="run the tests of this label alone")
    parser.add_argument("--at-most", type=float, metavar="SECONDS",
                        help="leave out tests with more processor seconds in ci/seconds.csv")
    parser.add_argument("options", nargs="*", metavar="-- OPTION", help="more options of ctest")
    arguments = parser.parse_args()
    build, excluded = read_preset(arguments.preset)
    if not (build / "build.ninja").is_file():
        print(f"ci/run_tests.py: {build} is not configured; remedy: cmake --preset "
              f"{build.name} && cmake --build --preset {build.name}", file=sys.stderr)
        return 2

    preset = ["--preset", arguments.preset]
    left_out = left_out_here(excluded)
    without_gpu = left_out == excluded
    gpu_tests = 0
    if arguments.label:  # runs even if the preset leaves it out; "^$" excludes none
        preset += ["-L", f"^{re.escape(arguments.label)}$"]
        left_out = "^gpu$" if without_gpu else "^$"
    elif without_gpu and not arguments.options:
        gpu_tests = count_tests(*preset, "-L", "^gpu$", "-LE", "^$")
    chosen = list(arguments.options)
    slow_tests = 0
    if arguments.at_most is not None:
        slow = tests_above(arguments.at_most, listed_tests(*preset, "-LE", left_out))
        slow_tests = count_tests(*preset, "-LE", left_out, "-R", slow)
        chosen += ["-E", slow]
    junit = build / "tests.xml"
    junit.unlink(missing_ok=True)
    code, end = run_ctest(["ctest", *preset, "-LE", left_out, *chosen,
                           "--no-label-summary", "--output-junit", str(junit)])

    print()
    unlabelled = []
    if junit.is_file():
        groups = skipped_tests(junit)
        if without_gpu:
            unlabelled = needing_a_gpu(groups)
        file = build / "skipped.txt"
        write_skipped(groups, file)
        print("\n".join(describe_skipped(groups, os.path.relpath(file, ROOT))))
    if slow_tests:
        print(f"{slow_tests} tests left out: more than {arguments.at_most:g} s in ci/seconds.csv")
    if gpu_tests:
        print(f"{gpu_tests} GPU tests not run: no NVIDIA device here; ci/gpu.sh runs them")
    if unlabelled:
        print("tests that were skipped without a GPU but lack the label gpu; remedy: add it in "
              f"CMakeLists.txt:\n  {cut(', '.join(unlabelled))}")
    too_slow = False
    is_whole_run = not arguments.label and not chosen
    if is_whole_run and (build / "seconds.log").is_file():
        try:
            lines, too_slow = seconds.report(seconds.measure(build),
                                             seconds.read_table(seconds.COMMITTED),
                                             os.path.relpath(build, ROOT))
        except (seconds.SecondsError, OSError) as error:
            lines, too_slow = [f"processor seconds: {error}"], True
        print("\n".join(lines))
    print()
    print("\n".join(without_list_of_skipped(end)), flush=True)
    return code or (1 if too_slow or unlabelled else 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
