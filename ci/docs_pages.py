#!/usr/bin/env python3
"""Collects the sources of the site of ci/docs.sh: the pages and every file that they link to.

    ci/docs_pages.py DIRECTORY

Each file keeps its path in the repository, so that links stay valid. The README of a folder that a
page links to is also a page; a folder without one becomes a page that lists its files. A link to a
missing file is an error."""
import pathlib
import posixpath
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
         "baselines/README.md", "baselines/grafana/README.md",
         *sorted(str(p.relative_to(ROOT)) for folder in ("docs", "evidence")
                 for p in (ROOT / folder).rglob("*.md"))]
# [text](target) and [name]: target, but no addresses with a scheme and no anchors of the same page
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)[^)\s]+(?=\))|(?<=^\[)([^\]]+\]: )(?![a-z]+:)\S+",
                  re.MULTILINE)


def without_code(text):
    """Returns the text with code blanked out, because a "link" in code is not a link."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())

    return re.sub(r"`[^`\n]*`", blank, re.sub(r"^```.*?^```$", blank, text,
                                              flags=re.MULTILINE | re.DOTALL))


def links_of(text):
    """Returns (begin, end, target) of each relative link."""
    for found in LINK.finditer(without_code(text)):
        begin = found.start() + len(found.group(1) or "")
        yield begin, found.end(), text[begin:found.end()]


def list_of(folder):
    names = sorted(p.name for p in (ROOT / folder).iterdir() if p.is_file())
    return "\n".join([f"# {folder}", "", "The files of this folder of the repository.", "",
                      *(f"- [{name}]({name})" for name in names), ""])


def main():
    to, errors = pathlib.Path(sys.argv[1]), []

    def copy(file):
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, to / file)

    pages = list(PAGES)
    for page in pages:  # the loop body appends to it
        text = (ROOT / page).read_text(encoding="utf-8")
        for begin, end, target in reversed(list(links_of(text))):
            path, _, place = target.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
            if (ROOT / file / "README.md").is_file():
                if f"{file}/README.md" not in pages:
                    pages.append(f"{file}/README.md")
                text = text[:begin] + path.rstrip("/") + "/README.md" + text[end:]
            elif (ROOT / file).is_dir():
                if not (to / file / "index.md").exists():
                    (to / file).mkdir(parents=True, exist_ok=True)
                    (to / file / "index.md").write_text(list_of(file), encoding="utf-8")
                    for entry in filter(pathlib.Path.is_file, (ROOT / file).iterdir()):
                        copy(entry.relative_to(ROOT))
                text = text[:begin] + path.rstrip("/") + "/index.md" + text[end:]
            elif file in pages:
                continue
            elif file.startswith("..") or not (ROOT / file).is_file():
                errors.append(f"{page}: {target} is no file of the repository")
            else:
                copy(file)
        (to / page).parent.mkdir(parents=True, exist_ok=True)
        (to / page).write_text(text, encoding="utf-8")
    for error in errors:
        print(f"ci/docs_pages.py: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
