#!/usr/bin/env python3
"""Checks that newer lists have every test of an old list, if need be under its new name.

  ci/compare_tests.py OLD NEW... [--renamed FILE]
  ci/compare_tests.py /tmp/old.txt build/ci.txt weekly.txt --renamed /tmp/renamed.txt

A list is what `ctest -N` or `ctest --show-only=json-v1` prints. A line of the list of renames is
"OLD NAME -> NEW NAME". There, Suite.Name stands for all instances of a parameterized test, and
lines that begin with # are comments. tests/renamed.txt is this repository's list of renames.
Exit code 1: a test is missing; 2: a file is not in one of these formats.
"""
import argparse
import json
import pathlib
import re
import sys

INSTANCE = re.compile(r"([^/.]+/)?([^/.]+\.[^/]+)(/.*)?")
NUMBERED = re.compile(r"^\s*Test\s+#\d+: (.+?)(?: \(Disabled\))?$")


def read_tests(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if text.lstrip().startswith("{"):
        try:
            names = {test["name"] for test in json.loads(text)["tests"]}
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: no list of `ctest --show-only=json-v1`: {error}") from None
    else:
        names = {match.group(1) for line in text.splitlines() if (match := NUMBERED.match(line))}
    if not names:
        raise ValueError(f"{path}: no test in it; remedy: write it with "
                         "`ctest --test-dir BUILD -N`")
    unbuilt = sorted(name for name in names if name.endswith("_NOT_BUILT"))
    if unbuilt:
        raise ValueError(f"{path}: {unbuilt[0]} and {len(unbuilt) - 1} more were not built, so "
                         "their tests are unknown; remedy: build everything, then list again")
    return names


def read_renames(path):
    renames = {}
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        old, arrow, new = line.partition(" -> ")
        if not arrow or not old.strip() or not new.strip():
            raise ValueError(f'{path}:{number}: not "OLD NAME -> NEW NAME": {line}')
        renames[old.strip()] = new.strip()
    return renames


def rename_instances(names, renames):
    """Returns the renames. Replaces the rename of a parameterized test by renames of its instances
    in `names`: prefix/Suite.Name/value."""
    instances, used = {}, set()
    for name in names:
        match = INSTANCE.fullmatch(name)
        if match and match[2] in renames:
            instances[name] = (match[1] or "") + renames[match[2]] + (match[3] or "")
            used.add(match[2])
    return {old: new for old, new in renames.items() if old not in used} | instances


def compare(old, new, renames):
    """Returns the errors as sentences."""
    errors = [f"missing: {name}" for name in sorted(old - new) if name not in renames]
    for before, after in sorted(renames.items()):
        if before not in old:
            errors.append(f"renamed, but not in the old list: {before}")
        elif after not in new:
            errors.append(f"missing under its new name: {before} -> {after}")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="the older list")
    parser.add_argument("new", nargs="+", help="the newer lists, taken together")
    parser.add_argument("--renamed", help="the list of renames")
    arguments = parser.parse_args()
    try:
        old = read_tests(arguments.old)
        new = set().union(*map(read_tests, arguments.new))
        renames = read_renames(arguments.renamed) if arguments.renamed else {}
        renames = rename_instances(old, renames)
    except (OSError, ValueError) as error:
        print(f"ci/compare_tests.py: {error}", file=sys.stderr)
        return 2
    errors = compare(old, new, renames)
    for error in errors:
        print(error)
    added = new - old - set(renames.values())
    print(f"{len(old)} tests before, {len(new)} now: {len(added)} new, {len(renames)} renamed, "
          f"{len(errors) or 'none'} missing")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
