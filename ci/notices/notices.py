#!/usr/bin/env python3
"""Adds NOTICES.txt and an SBOM to a wheel or to the bundle for GPU machines.

  ci/notices/notices.py check --build DIR TARGET...    lists parts that have no entry
  ci/notices/notices.py wheel FILE --build DIR --prefix CACHE TARGET...
  ci/notices/notices.py bundle FOLDER --build DIR [--carried LIBRARY...] TARGET...

A wheel gets .dist-info/licenses/NOTICES.txt and .dist-info/sboms/plumbline.cdx.json (PEP 639 and
770); a bundle gets NOTICES.txt and plumbline.cdx.json. The linked parts are read from the build:
ninja's commands, and the headers that the objects were compiled with. Exit codes: 0; 1 if a linked
part has no entry or no license text, or the SBOM is invalid; 3 if a tool or a build is missing.
Needs Python 3.11.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import linked  # noqa: E402
import texts  # noqa: E402

NOTICES, SBOM = "NOTICES.txt", "plumbline.cdx.json"


def _stop(code: int, words: str) -> None:
    print(f"ci/notices/notices.py: {words}", file=sys.stderr)
    sys.exit(code)


def _looked_at(options: argparse.Namespace) -> linked.Linked:
    try:
        result = linked.linked(options.build, options.targets, options.carried)
    except (linked.NotBuilt, OSError, subprocess.CalledProcessError) as error:
        _stop(3, f"{error}\n  remedy: build {' '.join(options.targets)} in {options.build} first")
    found = linked.problems(result, "")
    if found:
        _stop(1, "\n".join([*found, "  remedy: add an entry to ci/notices/libraries.toml"]))
    return result


def _version() -> str:
    text = (linked.SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    return text.partition("project(plumbline VERSION ")[2].split()[0].rstrip(")")


def _write(name: str, parts: list, notices: pathlib.Path, sbom_file: pathlib.Path) -> None:
    try:
        import sbom
    except ImportError as error:
        _stop(3, f"{error}\n  remedy: call this with the Python of .venv (ci/setup.sh --python)")
    text = sbom.sbom(name, _version(), parts)
    error = sbom.errors_of(text)
    if error:
        _stop(1, f"the SBOM is not valid: {error}")
    for path, content in ((notices, texts.notices(f"{name} {_version()}", parts)),
                          (sbom_file, text)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def _add_to_wheel(path: pathlib.Path, parts: list) -> None:
    """Unpacks the wheel and packs it again with the package wheel, which writes RECORD."""
    wheel = [sys.executable, "-m", "wheel"]
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([*wheel, "unpack", "--dest", temporary, path], check=True,
                       stdout=subprocess.DEVNULL)
        root, = pathlib.Path(temporary).iterdir()
        info, = root.glob("*.dist-info")
        metadata = info / "METADATA"
        head, blank, body = metadata.read_text(encoding="utf-8").partition("\n\n")
        name = next(line[6:] for line in head.splitlines() if line.startswith("Name: "))
        _write(name, parts, info / "licenses" / NOTICES, info / "sboms" / SBOM)
        lines, line = head.splitlines(), f"License-File: {NOTICES}"
        if line not in lines:
            last = max(i for i, one in enumerate(lines) if one.startswith("License-File: "))
            lines.insert(last + 1, line)
            metadata.write_text("\n".join(lines) + blank + body, encoding="utf-8")
        subprocess.run([*wheel, "pack", "--dest-dir", path.parent, root], check=True,
                       stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, where in (("check", None), ("wheel", "file"), ("bundle", "folder")):
        command = commands.add_parser(name)
        if where:
            command.add_argument("where", metavar=where.upper(), type=pathlib.Path)
        command.add_argument("--build", type=pathlib.Path, required=True)
        command.add_argument("--prefix", type=pathlib.Path, required=name == "wheel")
        command.add_argument("--carried", nargs="*", default=[])
        command.add_argument("targets", metavar="TARGET", nargs="+")
    options = parser.parse_args()
    result = _looked_at(options)
    try:
        parts = texts.components(result, options.prefix)
    except (texts.NoText, OSError) as error:
        _stop(1, str(error))
    if options.command == "wheel":
        _add_to_wheel(options.where.resolve(), parts)
    elif options.command == "bundle":
        _write("plumbline-gpu", parts, options.where / NOTICES, options.where / SBOM)
    print(f"{len(parts)} libraries: " + ", ".join(part.library.name for part in parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
