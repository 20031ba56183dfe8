#!/usr/bin/env python3
"""Plants bugs in the source of FlashInfer and checks that the judge finds them.

The sources (ci/setup.sh --providers) are only read. A copy with one changed file and links to the
unchanged ones is compiled for the emulator in a build folder of its own. First the unchanged source
has to pass; then each mutant of tests/compiled/source_mutants.toml has to fail.
"""
import argparse
import json
import os
import pathlib
import re
import sys
import time

import mutant_tables
from mutant_tables import NotBuilt, Progress, Refused, chosen_of, replaced_once, said, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "compiled"
PROGRAM = "ci/source_mutants.py"
EXAMPLES = """\
examples:
  ci/source_mutants.py                              all mutants
  ci/source_mutants.py --list
  ci/source_mutants.py --only last_key_dropped --only next_page
  ci/source_mutants.py --plumbline build/host/bin/plumbline --build out/mutants --jobs 2

exit codes: 0 every mutant was caught; 1 one was missed, did not compile or could not be judged, or
the unchanged source fails; 2 wrong command line, table or sources.
The build folder is reused, so later calls compile only what changed.
"""

# The CMake variable with the instances to compile, for each provider.
INSTANCES = {"flashinfer": "PLUMBLINE_FLASHINFER_INSTANCES"}
# Faults of an output besides wrong values.
FAULTS = {"nan": "NaN", "inf": "infinite", "unwritten": "unwritten",
          "out_of_range": "outside V's range", "fence_bytes": "changed guard bytes"}
FIELDS = {"name": str, "bug": str, "provider": str, "instance": str, "file": str, "pattern": str,
          "replacement": str, "cases": list}
OPTIONAL = {"function": str}


def check(mutant, who):
    """Refuses wrong values that the field types do not rule out."""
    if mutant["provider"] not in INSTANCES:
        raise Refused(f"{who}: provider {mutant['provider']} is not one of {', '.join(INSTANCES)}")
    if not mutant["cases"]:
        raise Refused(f"{who}: cases is empty")
    try:
        re.compile(mutant["pattern"])
    except re.error as error:
        raise Refused(f"{who}: pattern: {error}") from None


def read_table(path):
    """Returns the mutants of a table, each complete and with known fields only."""
    return mutant_tables.read_table(pathlib.Path(path), FIELDS, OPTIONAL, check)


def region(text, mutant):
    """Returns the begin and end of the part of the file that is searched for the pattern."""
    function = mutant.get("function")
    if function is None:
        return 0, len(text)
    found = text.count(function)
    if found != 1:
        raise Refused(f"mutant {mutant['name']}: the function \"{function}\" occurs {found} times "
                      f"in {mutant['file']}, not once")
    begin = text.index(function)
    end = re.compile(r"^\}", re.MULTILINE).search(text, begin)
    return begin, end.start() if end else len(text)


def mutate(text, mutant):
    """Returns the text with the mutant's one change."""
    begin, end = region(text, mutant)
    where = f" in \"{mutant['function']}\" of " if "function" in mutant else ""
    changed = replaced_once(text[begin:end], mutant, re.compile(mutant["pattern"]),
                            mutant["replacement"], where)
    return text[:begin] + changed + text[end:]


def mirror(source, to, texts):
    """Mirrors the folder `source` in `to`: writes the files of `texts` (relative path: text) and
    links all others."""
    to.mkdir(parents=True, exist_ok=True)
    inside = {}
    for path, text in texts.items():
        head, _, rest = path.partition("/")
        inside.setdefault(head, {})[rest] = text
    for entry in sorted(source.iterdir()):
        place = to / entry.name
        parts = inside.get(entry.name)
        if parts is None and place.is_dir() and not place.is_symlink():
            parts = {}  # had a changed file in an earlier run
        if parts is None:
            if not place.is_symlink():
                place.unlink(missing_ok=True)
                place.symlink_to(entry.resolve())
            continue
        if place.is_symlink():
            place.unlink()
        if "" not in parts:
            mirror(entry, place, parts)
        elif not place.exists() or place.read_text(encoding="utf-8") != parts[""]:
            place.write_text(parts[""], encoding="utf-8")  # a new time: compiled again


class Bench:
    """A build folder; compiles and judges there."""

    def __init__(self, options, mutants):
        self.options = options
        self.texts = {}
        for mutant in mutants:
            path = options.sources / mutant["file"]
            try:
                self.texts[mutant["file"]] = path.read_text(encoding="utf-8")
            except OSError as error:
                raise Refused(f"mutant {mutant['name']}: {path}: {error.strerror}; remedy: "
                              "ci/setup.sh --providers") from None
        options.build.mkdir(parents=True, exist_ok=True)
        self.log = options.build / "source_mutants.log"
        self.log.write_text("", encoding="utf-8")

    def build(self, provider, instances, texts):
        """Returns the provider's library with these instances, from the source with these texts."""
        build = self.options.build
        mirror(self.options.sources, build / "foreign", {**self.texts, **texts})
        for command in (
                ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja",
                 "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DPLUMBLINE_CUDA=OFF",
                 "-DPLUMBLINE_TESTS=OFF", "-DPLUMBLINE_COMPILED_AHEAD=OFF",
                 f"-DPLUMBLINE_FOREIGN_SOURCES={build / 'foreign'}",
                 f"-D{INSTANCES[provider]}={';'.join(instances)}"],
                ["cmake", "--build", str(build), "-j", str(self.options.jobs), "--target",
                 f"plumbline_compiled_{provider}"]):
            code, _ = said(command, self.log)
            if code != 0:
                raise NotBuilt(f"`{' '.join(command[:2])}` exits with {code}: see {self.log}")
        return build / "lib" / "plumbline" / f"plumbline_compiled_{provider}.so"

    def run(self, provider, library, groups):
        """Returns the exit code and outcomes of these groups of the provider's suite."""
        command = [str(self.options.plumbline), "run",
                   str(TESTS / f"source_mutants_{provider}.toml"), "--no-default-provider",
                   "--provider", str(library), "--no-store", "-q", "--timeout", "600",
                   "--format", "json", "-j", str(self.options.jobs)]
        for group in groups:
            command += ["--match", f"source_mutants/{group}/*"]
        # Few kernels of a library are launched, so each is compiled at its first use.
        cache = {"PLUMBLINE_PTX_CACHE": str(self.options.build / "ptx")}
        code, output = said(command, self.log, os.environ | cache)
        try:
            said_back = json.loads(output)
        except ValueError:
            raise NotBuilt(f"`plumbline run` exits with {code}: see {self.log}") from None
        if said_back["data"] is None:
            why = "; ".join(error["error"] for error in said_back["errors"])
            raise NotBuilt(f"`plumbline run` exits with {code}: {why}")
        return code, said_back["data"]["outcomes"]


def fails(outcomes):
    """Returns the cases that the judge fails, without timeouts, which show no bug."""
    return [case for case in outcomes
            if case["verdict"] == "fail" and case.get("status") != "timeout"]


def of_worst(failed):
    """Returns rule and cause for the case that is furthest beyond its limit."""
    worst = max(failed, key=lambda case: case.get("percent_of_limit") or 0)
    if worst.get("status", "ok") != "ok":
        return worst["status"], (worst.get("reason") or "").split("\n")[0]
    faults = worst.get("faults") or {}
    rules = [worst["nearest_statistic"]] if worst.get("nearest_statistic") else []
    rules += [f"{faults[name]} {said}" for name, said in FAULTS.items() if faults.get(name)]
    if not worst.get("repeat_equal", True):
        rules.append("two runs differ")
    cause = worst.get("cause") or (worst.get("location") or {}).get("description") or ""
    return ", ".join(rules), cause


def judge(bench, mutant):
    """Returns (verdict, rule, cause)."""
    text = mutate(bench.texts[mutant["file"]], mutant)
    try:
        library = bench.build(mutant["provider"], [mutant["instance"]], {mutant["file"]: text})
        code, outcomes = bench.run(mutant["provider"], library, mutant["cases"])
    except NotBuilt as error:
        return "not judged", "", str(error)
    failed = fails(outcomes)
    if code == 1 and failed:
        return f"caught ({len(failed)} of {len(outcomes)})", *of_worst(failed)
    if code != 0:
        return "not judged", "", f"`plumbline run` exits with {code}: see {bench.log}"
    return "MISSED", "", ""


def unchanged(bench, provider, mutants):
    """Judges the unchanged source in all instances that the mutants need; all cases have to
    pass."""
    instances = sorted({mutant["instance"] for mutant in mutants})
    groups = sorted({group for mutant in mutants for group in mutant["cases"]})
    library = bench.build(provider, instances, {})
    code, outcomes = bench.run(provider, library, groups)
    of_group = {case["group"] for case in outcomes if case.get("status") == "ok"}
    lacking = [group for group in groups if group not in of_group]
    if code != 0 or lacking:
        what = "; ".join(f"{case['case']}: {case['verdict']}" for case in outcomes
                         if case["verdict"] == "fail" or case.get("status") != "ok")
        raise NotBuilt(f"the unchanged source of {provider} does not pass (`plumbline run` exits "
                       f"with {code}): {what or 'no case ran in group ' + ', '.join(lacking)}; see "
                       f"{bench.log}")
    return len(outcomes)


def arguments(given):
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="this mutant alone; repeat for more")
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    parser.add_argument("--plumbline", type=pathlib.Path, metavar="PATH",
                        default=ROOT / "build" / "dev" / "bin" / "plumbline",
                        help="the program that judges (default: build/dev/bin/plumbline)")
    parser.add_argument("--sources", type=pathlib.Path, default=ROOT / ".providers", metavar="DIR",
                        help="sources of ci/setup.sh --providers (default: .providers)")
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR",
                        default=ROOT / "build" / "source_mutants",
                        help="build folder (default: build/source_mutants)")
    parser.add_argument("--table", type=pathlib.Path, default=TESTS / "source_mutants.toml",
                        metavar="FILE", help="mutants (default: tests/compiled/"
                        "source_mutants.toml)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="compilers and cases at once (default: one per processor)")
    return parser.parse_args(given)


def checked(options):
    """Makes paths absolute. Returns the mutants and, without --list, the bench. Raises Refused if
    an option is wrong, or if a mutant does not fit the sources."""
    mutants = chosen_of(read_table(options.table), options.only)
    for name in ("build", "sources", "plumbline"):
        setattr(options, name, pathlib.Path(os.path.abspath(getattr(options, name))))
    if options.jobs < 1:
        raise Refused("--jobs: 1 or more")
    if options.list:
        return mutants, None
    if not os.access(options.plumbline, os.X_OK) or options.plumbline.is_dir():
        raise Refused(f"--plumbline: {options.plumbline} is not a program; remedy: build it, or "
                      "name another")
    if options.build.exists() and not options.build.is_dir():
        raise Refused(f"--build: {options.build} is not a folder")
    bench = Bench(options, mutants)
    for mutant in mutants:  # before the first of them is compiled
        mutate(bench.texts[mutant["file"]], mutant)
    return mutants, bench


def main(given=None):
    options = arguments(given)
    try:
        mutants, bench = checked(options)
    except Refused as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    if bench is None:
        print(table([("mutant", "provider", "instance", "bug")] +
                    [(mutant["name"], mutant["provider"], mutant["instance"], mutant["bug"])
                     for mutant in mutants]))
        return 0
    providers = list(dict.fromkeys(mutant["provider"] for mutant in mutants))
    progress, rows, caught = Progress(len(mutants) + len(providers)), [], 0
    for provider in providers:
        of_provider = [mutant for mutant in mutants if mutant["provider"] == provider]
        progress.step(f"{provider}, unchanged")
        begin = time.monotonic()
        try:
            cases = unchanged(bench, provider, of_provider)
        except NotBuilt as error:
            print(f"{PROGRAM}: {error}", file=sys.stderr)
            return 1
        rows.append((f"({provider}, unchanged)", f"passes ({cases} of {cases})", "",
                     f"{time.monotonic() - begin:.0f}", ""))
        for mutant in of_provider:
            progress.step(mutant["name"])
            begin = time.monotonic()
            verdict, rule, cause = judge(bench, mutant)
            caught += verdict.startswith("caught")
            rows.append((mutant["name"], verdict, rule, f"{time.monotonic() - begin:.0f}", cause))
            print("      " + "; ".join(filter(None, rows[-1][1:3])), file=sys.stderr, flush=True)
    print(table([("mutant", "verdict", "rule", "seconds", "cause named")] + rows))
    print(f"{caught} of {len(mutants)} mutants caught")
    return 0 if caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
