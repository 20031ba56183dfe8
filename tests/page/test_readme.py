#!/usr/bin/env python3
"""README.md shows a night as a picture and as text. Both are of the night that make_night.py makes.

    test_readme.py PLUMBLINE FOLDER    runs the commands marked `night` in FOLDER, and compares"""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "docs"))
from page_commands import missing_line, read_page


def main():
    program, folder = map(pathlib.Path, sys.argv[1:])
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    commands = [part for part in read_page(readme)
                if not isinstance(part, tuple) and "night" in part.marks]
    assert commands and all(command.expected for command in commands), "README shows no night"
    for command in commands:
        done = subprocess.run(["bash", "-c", command.text], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(f"$ {command.text}\n{done.stdout}")
        assert done.returncode == command.exit_code(), f"exit code {done.returncode}"
        missing = missing_line(command.expected, done.stdout)
        assert not missing, f"README.md:{command.line} shows another line: {missing}"


if __name__ == "__main__":
    main()
