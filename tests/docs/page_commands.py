"""Reads the commands, files and expected output of a Markdown page. Standard library only, because
tests/wheel runs it on other systems.

Commands are every line of a fenced ```sh block; "$ ..." lines of a ```console block or of a fence
without a language; and lines indented by four blanks that begin with "plumbline". A fenced block
after a line that ends in `name`: is that file. An HTML comment before a block marks it:

    <!-- commands: long -->          parsed (bash -n) and listed, not run; the same holds for gpu,
                                     root, nvcc, python (needs .venv), providers (.providers)
    <!-- commands: install -->       what the reader installs; see run_installed.py
    <!-- commands: exit 1 -->        the exit code of a block whose lines do not show one
    <!-- commands: needs a.py -->    a file of the reader's, made by tests/docs/fixtures.py

A mark that ends in "page" (<!-- commands: long page -->) applies to the rest of the page."""
import re

NOT_RUN = ("long", "gpu", "root", "nvcc", "python", "providers")
MARK = re.compile(r"^<!-- commands: (.*?) -->$")
NAMED_FILE = re.compile(r"`([A-Za-z0-9_./-]+)`:$")
ANYTHING = "…"


class Command:
    def __init__(self, line, text, marks):
        self.line, self.text, self.marks, self.code = line, text, marks, None
        self.expected = []

    def exit_code(self):
        stated = [int(m.split()[1]) for m in self.marks if m.startswith("exit ")]
        return self.code if self.code is not None else stated[0] if stated else 0


def joined(lines):
    """Returns (number, text) of each command; a backslash at the end joins a line with the next."""
    number, text = 0, ""
    for n, line in lines:
        number = number or n
        text += line
        if text.endswith("\\"):
            text += "\n"
            continue
        if text.strip() and not text.lstrip().startswith("#"):
            yield number, text
        number, text = 0, ""


def commands_of_block(language, block, marks):
    """Returns the commands of one fenced block; `block` has (number, line)."""
    if language in ("sh", "bash"):
        return [Command(n, text, marks) for n, text in joined(block)]
    found = []
    if language not in ("", "console"):
        return found
    continued = False
    for number, line in block:
        if line.startswith("$ "):
            found.append(Command(number, line[2:], marks))
        elif continued:
            found[-1].text += "\n" + line
        elif found and line.strip():
            found[-1].expected.append(line)
            code = re.search(r"exit code (\d+)", line)
            if code and "$?" not in found[-1].text:  # `echo $?` prints the code of another command
                found[-1].code = int(code.group(1))
        continued = bool(found) and line.endswith("\\") and (continued or line.startswith("$ "))
    return found


def read_page(text):
    """Returns commands and files in the order of the page: Command or (name, text)."""
    lines = text.splitlines()
    marks, page_marks, name, parts, i = [], [], "", [], 0
    while i < len(lines):
        line = lines[i]
        if mark := MARK.match(line.strip()):
            words = mark.group(1)
            if words.endswith(" page"):
                page_marks.append(words[:-len(" page")])
            else:
                marks.append(words)
        elif line.startswith("```"):
            block = []
            i += 1
            while i < len(lines) and lines[i] != "```":
                block.append((i + 1, lines[i]))
                i += 1
            found = commands_of_block(line[3:].strip(), block, marks + page_marks)
            if name and not found:
                parts.append((name, "".join(text + "\n" for _, text in block)))
            parts += found
            marks, name = [], ""
        elif line.startswith("    plumbline "):
            block = [(i + 1, line.strip())]
            while block[-1][1].endswith("\\"):
                i += 1
                block.append((i + 1, lines[i].strip()))
            parts += [Command(n, text, marks + page_marks) for n, text in joined(block)]
        elif line.strip():
            named = NAMED_FILE.search(line)
            name = named.group(1) if named else ""
            if not line.startswith("<!--"):
                marks = []
        i += 1
    return parts


def matches(pattern, line):
    """Returns true if the parts of `pattern` between "…" are in `line` in this order; a pattern
    without "…" is the whole line. Runs of blanks are equal."""
    pattern, line = (" ".join(text.split()) for text in (pattern, line))
    parts = [re.escape(part.strip()) for part in pattern.split(ANYTHING)]
    return re.fullmatch(r"\s*" + ".*".join(parts) + r"\s*", line) is not None


def missing_line(expected, output):
    """Returns the first expected line that the output lacks, in the order of the page; "" if
    none."""
    lines = iter(output.splitlines())
    for pattern in expected:
        if pattern.strip() == ANYTHING:
            continue
        if not any(matches(pattern, line) for line in lines):
            return pattern
    return ""
