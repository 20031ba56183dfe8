"""Shared by ci/source_mutants.py and ci/harness_mutants.py: tables of mutants, the rule that a
pattern matches exactly once, commands with a log, progress, and results as text."""
import subprocess
import sys
import time
import tomllib


class Refused(Exception):
    """The table, the sources or the command line are wrong: exit code 2."""


class NoPlace(Refused):
    """A mutant's pattern does not match the source exactly once, or its file cannot be read."""


class NotBuilt(Exception):
    """CMake, a compiler or the run itself failed: the mutant was not judged."""


def read_table(path, fields, optional, check):
    """Returns the [[mutant]] tables of a TOML file. Each has every field of `fields` (name: type),
    may have those of `optional`, and has no others; `check(mutant, who)` refuses other errors."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{path}: {error}") from None
    if table.get("schema") != 1:
        raise Refused(f"{path}: schema = 1 is expected")
    mutants, names = table.get("mutant", []), set()
    for number, mutant in enumerate(mutants, 1):
        who = f"{path}: mutant {mutant.get('name', number)}"
        for field, kind in fields.items():
            if not isinstance(mutant.get(field), kind):
                raise Refused(f"{who}: {field} is missing or not of type {kind.__name__}")
        for field in mutant.keys() - fields.keys():
            if not isinstance(mutant[field], optional.get(field, ())):
                raise Refused(f"{who}: {field} is unknown or of a wrong type")
        if mutant["name"] in names:
            raise Refused(f"{who}: the name is there twice")
        names.add(mutant["name"])
        check(mutant, who)
    if not mutants:
        raise Refused(f"{path}: no [[mutant]]")
    return mutants


def replaced_once(text, mutant, pattern, replacement, where=""):
    """Returns `text` with the one match of the compiled `pattern` replaced. `where` precedes the
    file's name in the error message, for example ' in "merge" of '."""
    found = len(pattern.findall(text))
    if found != 1:
        raise NoPlace(f"mutant {mutant['name']}: the pattern matches {found} times{where or ' in '}"
                      f"{mutant['file']}, and once is expected; remedy: see what this version of "
                      "the source has there, and change the table")
    changed = pattern.sub(replacement, text)
    if changed == text:
        raise Refused(f"mutant {mutant['name']}: the replacement changes nothing")
    return changed


def chosen_of(mutants, only):
    """Returns the mutants named by --only, by default all of them."""
    unknown = sorted(set(only) - {mutant["name"] for mutant in mutants})
    if unknown:
        raise Refused(f"--only: no mutant {', '.join(unknown)} (see --list)")
    return [mutant for mutant in mutants if not only or mutant["name"] in only]


def said(command, log, environment=None, folder=None):
    """Runs a command; returns its exit code and standard output. Both streams go to the log."""
    with open(log, "a", encoding="utf-8") as file:
        print("$", *command, file=file, flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=file, text=True, check=False,
                              env=environment, cwd=folder)
        file.write(done.stdout)
    return done.returncode, done.stdout


def table(rows):
    """Formats rows as text in columns; the last column is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return "\n".join("  ".join([cell.ljust(width) for cell, width in zip(row, widths)] +
                               [row[-1]]).rstrip() for row in rows)


class Progress:
    """Prints a line on stderr before each step, with an estimate of the remaining time."""

    def __init__(self, steps):
        self.steps, self.done, self.begin = steps, 0, time.monotonic()

    def step(self, what):
        spent = time.monotonic() - self.begin
        rest = ""
        if self.done:
            minutes = spent / self.done * (self.steps - self.done) / 60
            rest = f", about {minutes:.0f} min left"
        self.done += 1
        print(f"[{self.done}/{self.steps}] {what}{rest}", file=sys.stderr, flush=True)
