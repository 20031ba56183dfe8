"""Executes docs/capture.md exactly as written.

A ```python or ```toml block is the file that the text before it names last in backquotes. In
```console blocks a line "$ command" is run and must succeed. Its output must have the lines after
it, in that order, each at the beginning of a line.
"""
import re

from conftest import SOURCE

BLOCK = re.compile(r"^```(python|toml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_does_what_it_says(shell, tmp_path):
    page = (SOURCE / "docs" / "capture.md").read_text(encoding="utf-8")
    ran = 0
    for block in BLOCK.finditer(page):
        language, text = block.groups()
        if language != "console":
            name = re.findall(rf"`([\w.]+\.{language[:2]}\w*)`", page[:block.start()])[-1]
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, *expected = part.splitlines()
            done = shell(command)
            assert done.returncode == 0, f"$ {command}\n{done.stdout}"
            rest = done.stdout.splitlines()
            for line in expected:
                found = [i for i, printed in enumerate(rest) if printed.startswith(line)]
                assert found, (
                    f"$ {command}\nexpected a line that begins with {line!r} in\n{done.stdout}")
                rest = rest[found[0] + 1:]
            ran += 1
    assert ran == 5
