#!/usr/bin/env python3
"""Fetches public recordings of real tensor cores, for `ctest -R Recordings`.

They are dot products that V100, A2, A100, RTX-1000 Ada, L40S, H100, H200 and B200 computed: 5,000
rows for each format, from github.com/north-numerical-computing/MATLAB-tensor-core (Khattak and
Mikaitis, BSD-2-Clause). The commit and the SHA-256 of every file are pinned in
ci/recordings.sha256. Each set becomes GPU-FORMAT.csv.gz: columns a0.., b0.., c, d_fp32 and d_fp16,
each the hexadecimal bits of an fp32; d_fp16 or d_fp32 is empty if it was not recorded.

Nothing in the target folder changes unless every file has its pinned hash, before and after
conversion.
"""
import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import signal
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PINS = ROOT / "ci" / "recordings.sha256"
OUT = ROOT / ".recordings"
PROJECT = "north-numerical-computing/MATLAB-tensor-core"
LICENCE = "LICENCE"
LARGEST_ARCHIVE = 256 << 20  # bytes; the real one has about 10 MB
TIMEOUT = 60  # seconds without a byte from the server

EPILOG = """\
examples:
  ci/recordings.sh                                fetches into .recordings/ (about 10 MB)
  ci/recordings.sh --check                        verifies what is there; needs no network
  ci/recordings.sh --from file:///mnt/mirror/MATLAB-tensor-core.tar.gz
  ci/recordings.sh --out "$PLUMBLINE_DATA/tensor-core-recordings"

a mirror is the archive of the pinned commit; a clone makes one:
  git archive --format=tar.gz --prefix=MATLAB-tensor-core/ COMMIT >MATLAB-tensor-core.tar.gz

to pin another commit: --write-hashes ci/recordings.sha256 --commit COMMIT, then review the diff.

exit codes: 0 the recordings are there; 1 a file is not what is pinned; 2 usage;
3 the recordings cannot be fetched or written"""

SOURCE_FILE = re.compile(r"model_validation/(\w+)/(\w+)/([abcd])_\1_(\w+)\.txt")


class Problem(Exception):
    """Ends the script with a sentence for the reader and an exit code."""

    def __init__(self, sentence, code=1):
        super().__init__(sentence)
        self.code = code


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Pins:
    """The pinned commit, the files to read from it and the texts to make: name -> SHA-256."""

    def __init__(self, path):
        self.path, self.sources, self.made = path, {}, {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}", 2) from error
        match = re.fullmatch(r"# commit ([0-9a-f]{40})", lines[0] if lines else "")
        if not match:
            raise Problem(f"{path}:1: expected '# commit' and 40 hexadecimal digits", 2)
        self.commit = match.group(1)
        for number, line in enumerate(lines[1:], 2):
            if line.startswith("#") or not line.strip():
                continue
            match = re.fullmatch(r"([0-9a-f]{64})  (\S+)", line)
            if not match:
                raise Problem(f"{path}:{number}: expected a SHA-256, two spaces and a file", 2)
            digest, name = match.groups()
            (self.made if name.endswith(".csv") else self.sources)[name] = digest
        if LICENCE not in self.sources or not self.made:
            raise Problem(f"{path}: it pins no {LICENCE}, or no recording", 2)


def fetch(url):
    """Returns the bytes at the URL."""
    request = urllib.request.Request(url, headers={"User-Agent": "plumbline-recordings"})
    remedy = "give the archive of a mirror with --from URL (file:// works, too)"
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            data = answer.read(LARGEST_ARCHIVE + 1)
            length = answer.headers.get("Content-Length")
    except (OSError, ValueError) as error:  # URLError and HTTPError are OSError
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise Problem(f"cannot fetch {url}: {reason}; {remedy}", 3) from error
    if len(data) > LARGEST_ARCHIVE:
        raise Problem(f"{url} has more than {LARGEST_ARCHIVE >> 20} MiB: it is the wrong archive")
    if length is not None and length.isdigit() and int(length) != len(data):
        raise Problem(f"cannot fetch {url}: the connection ended after {len(data)} of {length} "
                      f"bytes; run it again, or {remedy}", 3)
    return data


def unpack(data, url, wanted):
    """Returns the files of the archive for which wanted(name) is true, by name within the
    repository."""
    files = {}
    try:
        # Decompresses the whole stream first: gzip's checksum is at its end, which tarfile may not
        # read.
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data)), mode="r:") as archive:
            for member in archive:
                name = member.name.partition("/")[2]
                if member.isfile() and wanted(name):
                    files[name] = archive.extractfile(member).read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise Problem(f"{url} is not a .tar.gz archive, or ends early ({error}); fetch it again, "
                      "or name another mirror with --from") from error
    return files


def verify(files, pins, url):
    """Raises unless every pinned source is there and has its hash; names up to five that differ."""
    wrong = []
    for name, digest in pins.sources.items():
        if name not in files:
            wrong.append(f"{name} is missing")
        elif sha256(files[name]) != digest:
            wrong.append(f"{name} ({len(files[name])} bytes) has SHA-256 {sha256(files[name])}, "
                         f"not {digest}")
    if wrong:
        more = f"\n  and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise Problem(f"{url} is not {PROJECT} at commit {pins.commit}:\n  "
                      + "\n  ".join(wrong[:5]) + more
                      + "\n  fetch it again, or name another mirror with --from")


def rows(files, name, digits, base):
    """Returns the rows of a text: lists of fp32 bits as 8 hexadecimal digits, from numbers with
    `digits` digits in `base`."""
    alphabet = "[01]" if base == 2 else "[0-9a-f]"
    pattern = re.compile(f"{alphabet}{{{digits}}}(?: {alphabet}{{{digits}}})*")
    found = []
    for number, line in enumerate(files[name].decode("ascii", "replace").splitlines(), 1):
        line = line.strip()
        if not pattern.fullmatch(line):
            raise Problem(f"{name}:{number}: expected numbers of {digits} digits in base {base}")
        found.append([f"{int(field, base):08x}" for field in line.split()])
    return found


def sets_of(names):
    """Groups source files into recordings: {"a100-bf16.csv": {"a": name, "d_fp32": name}}."""
    sets = {}
    for name in names:
        match = SOURCE_FILE.fullmatch(name)
        if match:
            gpu, form, matrix, kind = match.groups()
            key = f"{matrix}_{kind}" if matrix == "d" else matrix
            sets.setdefault(f"{gpu}-{form}.csv".lower(), {})[key] = name
    return dict(sorted(sets.items()))


def convert(files, parts, title):
    """Returns the text of one recording."""
    missing = {"a", "b", "c"} - parts.keys()
    if missing or not {"d_fp32", "d_fp16"} & parts.keys():
        raise Problem(f"{title}: the archive has no file for {', '.join(sorted(missing)) or 'd'}")
    columns = {}
    for key, name in parts.items():
        columns[key] = rows(files, name, 8, 16) if key in "ab" else rows(files, name, 32, 2)
        if len(columns[key]) != len(columns["a"]):
            raise Problem(f"{name}: {len(columns[key])} rows, but {parts['a']} has "
                          f"{len(columns['a'])}")
        widths = {len(row) for row in columns[key]}
        if len(widths) != 1 or (key not in "ab" and widths != {1}):
            raise Problem(f"{name}: its rows have {sorted(widths)} numbers; expected one length, "
                          "and 1 in c and d")
    k = len(columns["a"][0])
    if len(columns["b"][0]) != k:
        raise Problem(f"{parts['b']}: {len(columns['b'][0])} numbers a row, not {k} as in a")
    empty = [[""]] * len(columns["a"])
    lines = [[f"a{i}" for i in range(k)] + [f"b{i}" for i in range(k)] + ["c", "d_fp32", "d_fp16"]]
    for a, b, c, d_fp32, d_fp16 in zip(columns["a"], columns["b"], columns["c"],
                                       columns.get("d_fp32", empty), columns.get("d_fp16", empty)):
        lines.append(a + b + c + d_fp32 + d_fp16)
    return "".join(",".join(line) + "\n" for line in lines).encode("ascii")


def differences(folder, pins):
    """Returns how the folder differs from the pinned recordings, one sentence per difference."""
    wrong = []
    for name, digest in pins.made.items():
        path = folder / f"{name}.gz"
        try:
            if sha256(gzip.decompress(path.read_bytes())) != digest:
                wrong.append(f"{path.name} is not the pinned recording")
        except FileNotFoundError:
            wrong.append(f"{path.name} is missing")
        except (OSError, EOFError, zlib.error) as error:
            wrong.append(f"{path.name} cannot be read whole: {error}")
    licence = folder / LICENCE
    if not licence.is_file() or sha256(licence.read_bytes()) != pins.sources[LICENCE]:
        wrong.append(f"{LICENCE} is missing or changed")
    for path in sorted(folder.glob("*.csv.gz")):
        if path.name.removesuffix(".gz") not in pins.made:
            wrong.append(f"{path.name} is not in {pins.path.name}, but tests read it")
    return wrong


def install(made, files, pins, out):
    """Replaces each file of `out` by a rename, so none is ever incomplete. A new folder appears
    with all its files."""
    out.parent.mkdir(parents=True, exist_ok=True)
    part = pathlib.Path(tempfile.mkdtemp(prefix=f"{out.name}.part-", dir=out.parent))
    try:
        part.chmod(0o755)
        for name, text in made.items():
            (part / f"{name}.gz").write_bytes(gzip.compress(text, 6, mtime=0))
        (part / LICENCE).write_bytes(files[LICENCE])
        (part / "SOURCE.txt").write_text(
            f"Converted by plumbline's ci/recordings.sh from github.com/{PROJECT}\n"
            f"at commit {pins.commit}; BSD-2-Clause, see {LICENCE}.\n", encoding="utf-8")
        if out.is_dir():
            for path in sorted(part.iterdir()):
                os.replace(path, out / path.name)
        else:
            part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_hashes(path, commit, url):
    """Pins the files of the archive; a reviewer then compares them with the repository."""
    files = unpack(fetch(url), url, lambda name: name == LICENCE or SOURCE_FILE.fullmatch(name))
    if LICENCE not in files:
        raise Problem(f"{url} has no {LICENCE}")
    made = {title: convert(files, parts, title) for title, parts in sets_of(files).items()}
    lines = [f"# commit {commit}", f"# of github.com/{PROJECT}: files that ci/recordings.sh reads,",
             "# then texts that it makes of them"]
    lines += [f"{sha256(data)}  {name}" for name, data in sorted(files.items())]
    lines += [f"{sha256(text)}  {name}" for name, text in made.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {len(files)} files and {len(made)} recordings of {url}")


def get_recordings(url, out, pins):
    if out.exists() and not out.is_dir():
        raise Problem(f"{out} is not a folder: give another one with --out", 2)
    if out.is_dir() and not differences(out, pins):
        print(f"{out}: {len(pins.made)} recordings are there, as pinned; nothing was fetched")
        return
    print(f"fetching {url}", flush=True)
    files = unpack(fetch(url), url, pins.sources.__contains__)
    verify(files, pins, url)
    sets = sets_of(files)
    made = {}
    for title, digest in pins.made.items():
        made[title] = convert(files, sets.get(title, {}), title)
        if sha256(made[title]) != digest:
            raise Problem(f"{title}: its conversion has another hash than pinned in {pins.path}")
    install(made, files, pins, out)
    count = sum(text.count(b"\n") - 1 for text in made.values())
    print(f"{out}: {len(made)} recordings, {count} rows, of {PROJECT} at {pins.commit[:12]}")


def check(out, pins):
    if not out.is_dir():
        raise Problem(f"{out} is missing: ci/recordings.sh fetches it")
    wrong = differences(out, pins)
    if wrong:
        raise Problem(f"{out} is not what {pins.path} pins:\n  " + "\n  ".join(wrong)
                      + "\n  ci/recordings.sh without --check replaces what differs")
    print(f"{out}: {len(pins.made)} recordings, as pinned at commit {pins.commit[:12]}")


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="ci/recordings.sh", description=__doc__, epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="url", metavar="URL",
                        help="the archive (.tar.gz) of the pinned commit; file:// works "
                             "(default: GitHub's)")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, metavar="DIR",
                        help="the folder for the recordings (default: .recordings/ of the "
                             "checkout, which git ignores and tests find)")
    parser.add_argument("--check", action="store_true",
                        help="only verify the folder; list missing and changed files, and exit "
                             "with 1 if there are any")
    parser.add_argument("--hashes", type=pathlib.Path, default=PINS, metavar="FILE",
                        help="the file of pins (default: ci/recordings.sha256)")
    parser.add_argument("--write-hashes", type=pathlib.Path, metavar="FILE",
                        help="write the pins of an archive, unverified, for a review")
    parser.add_argument("--commit", metavar="COMMIT",
                        help="the commit that --write-hashes pins: 40 hexadecimal digits")
    given = parser.parse_args(words)
    if (given.write_hashes is None) != (given.commit is None):
        parser.error("--write-hashes and --commit go together")
    if given.commit is not None and not re.fullmatch("[0-9a-f]{40}", given.commit):
        parser.error(f"--commit {given.commit}: expected 40 hexadecimal digits")
    if given.check and (given.url or given.commit):
        parser.error("--check reads the folder alone: leave out --from and --write-hashes")
    if given.url and urllib.parse.urlsplit(given.url).scheme not in ("https", "http", "file"):
        parser.error(f"--from {given.url}: expected a URL that begins with https://, http:// or "
                     "file://")
    return given


def main(words):
    given = arguments(words)
    out = given.out.absolute()
    pins = None if given.write_hashes else Pins(given.hashes)
    commit = given.commit or pins.commit
    url = given.url or f"https://codeload.github.com/{PROJECT}/tar.gz/{commit}"
    if given.write_hashes:
        write_hashes(given.write_hashes, commit, url)
    elif given.check:
        check(out, pins)
    else:
        get_recordings(url, out, pins)


def run(words=None):
    """Returns the exit code; prints errors on stderr."""
    try:
        main(words)
    except Problem as problem:
        print(f"ci/recordings.sh: {problem}", file=sys.stderr)
        return problem.code
    except OSError as error:
        print(f"ci/recordings.sh: cannot write {error.filename or 'the folder'}: {error.strerror};"
              " nothing of the recordings was changed", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))  # removes the part folder
    sys.exit(run())
