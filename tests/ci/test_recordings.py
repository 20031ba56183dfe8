"""Tests ci/recordings.sh with mirrors in the layout of MATLAB-tensor-core, complete and broken."""
import contextlib
import gzip
import hashlib
import http.server
import io
import os
import pathlib
import resource
import subprocess
import sys
import tarfile
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "ci"))
import recordings  # noqa: E402

COMMIT = "0123456789abcdef0123456789abcdef01234567"

# (a, b, c, d_fp32, d_fp16) of each row, as hexadecimal bits of an fp32.
A100_TF32 = [("3f7aa000 3f87c000", "3f194000 bf26a000", "3efe7b25", "3f36f7de", None),
             ("be87e000 3e40c000", "3f852000 3f36a000", "00000000", "80000000", None)]
V100_FP16 = [("3f800000 33800000", "c0000000 00000000", "3f8ccccd", "bf666666", "bf666000")]
L40S_E4M3 = [("3f700000 3f800000", "3f100000 bf200000", "3f214fbd", None, "3f212000")]
EXPECTED = {
    "a100-tf32": "a0,a1,b0,b1,c,d_fp32,d_fp16\n"
                 "3f7aa000,3f87c000,3f194000,bf26a000,3efe7b25,3f36f7de,\n"
                 "be87e000,3e40c000,3f852000,3f36a000,00000000,80000000,\n",
    "l40s-e4m3": "a0,a1,b0,b1,c,d_fp32,d_fp16\n"
                 "3f700000,3f800000,3f100000,bf200000,3f214fbd,,3f212000\n",
    "v100-fp16": "a0,a1,b0,b1,c,d_fp32,d_fp16\n"
                 "3f800000,33800000,c0000000,00000000,3f8ccccd,bf666666,bf666000\n",
}


def original(gpu, form, rows):
    """Returns the text files of one set: operands in hexadecimal, c and d in binary."""
    folder = f"model_validation/{gpu}/{form}"
    texts = {f"{folder}/{x}_{gpu}_{form}.txt": "".join(f"{row[i]} \n" for row in rows)
             for i, x in enumerate("ab")}
    for i, name in ((2, "c_{}_fp32"), (3, "d_{}_fp32"), (4, "d_{}_fp16")):
        if rows[0][i] is not None:
            texts[f"{folder}/{name.format(gpu)}.txt"] = "".join(
                f"{int(row[i], 16):032b}\n" for row in rows)
    return {name: text.encode() for name, text in texts.items()}


@pytest.fixture(name="files")
def repository():
    """The files of the repository, including some that the script does not need."""
    return {"LICENCE": b"a licence\n", "README.md": b"a page\n", "models/A100TC.m": b"% a model\n",
            **original("A100", "tf32", A100_TF32), **original("V100", "fp16", V100_FP16),
            **original("L40S", "E4M3", L40S_E4M3)}


def archive_of(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"MATLAB-tensor-core-{COMMIT}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


class Mirror:
    """A folder with an archive, the pins of its files, and a target."""

    def __init__(self, folder, files):
        self.folder, self.out = folder, folder / "target" / "recordings"
        self.url = f"file://{folder}/mirror.tar.gz"
        self.put(files)
        self.pin(files)

    def put(self, files):
        self.put_bytes(archive_of(files))

    def put_bytes(self, data):
        (self.folder / "mirror.tar.gz").write_bytes(data)

    def pin(self, files, made=None):
        made = EXPECTED if made is None else made
        lines = [f"# commit {COMMIT}"]
        lines += [f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in files.items()
                  if name == "LICENCE" or name.startswith("model_validation")]
        lines += [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}.csv"
                  for name, text in made.items()]
        (self.folder / "pins").write_text("\n".join(lines) + "\n")

    def call(self, *options, url=None, how=None):
        if "--check" not in options:
            options += ("--from", url or self.url)
        return (how or in_process)("--out", self.out, "--hashes", self.folder / "pins", *options)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def assert_nothing_left_over(self):
        """Checks that there is no .part- folder next to the target."""
        parent = self.out.parent
        assert not parent.exists() or {path.name for path in parent.iterdir()} <= {"recordings"}


def in_process(*options):
    """Like script(), without starting an interpreter."""
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        try:
            code = recordings.run([str(option) for option in options])
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(options, code, said.getvalue(), complained.getvalue())


def script(*options, **how):
    return subprocess.run([ROOT / "ci" / "recordings.sh", *options], capture_output=True, text=True,
                          check=False, timeout=120, **how)


@pytest.fixture(name="mirror")
def mirror_of(tmp_path, files):
    return Mirror(tmp_path, files)


def test_converts_every_set(mirror):
    done = mirror.call(how=script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].endswith(
        "3 recordings, 4 rows, of north-numerical-computing/MATLAB-tensor-core at 0123456789ab")
    contents = mirror.contents()
    assert contents.keys() == {f"{name}.csv.gz" for name in EXPECTED} | {"LICENCE", "SOURCE.txt"}
    for name, text in EXPECTED.items():
        assert gzip.decompress(contents[f"{name}.csv.gz"]).decode() == text
    assert contents["LICENCE"] == b"a licence\n"
    assert COMMIT in contents["SOURCE.txt"].decode()
    mirror.assert_nothing_left_over()
    checked = mirror.call("--check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "3 recordings, as pinned" in checked.stdout


def test_fetches_nothing_where_all_is_there(mirror):
    assert mirror.call().returncode == 0
    (mirror.folder / "mirror.tar.gz").unlink()
    again = mirror.call()
    assert again.returncode == 0
    assert "nothing was fetched" in again.stdout


def test_mends_a_folder_and_leaves_other_files(mirror):
    assert mirror.call().returncode == 0
    whole = mirror.contents()
    half = mirror.out / "a100-tf32.csv.gz"
    half.write_bytes(half.read_bytes()[:40])
    (mirror.out / "v100-fp16.csv.gz").unlink()
    (mirror.out / "LICENCE").unlink()
    (mirror.out / "notes.txt").write_text("mine")
    checked = mirror.call("--check")
    assert checked.returncode == 1
    assert "a100-tf32.csv.gz cannot be read whole" in checked.stderr
    assert "v100-fp16.csv.gz is missing" in checked.stderr
    assert "LICENCE is missing or changed" in checked.stderr
    assert mirror.call().returncode == 0
    assert mirror.contents() == {**whole, "notes.txt": b"mine"}
    mirror.assert_nothing_left_over()


def test_check_names_what_no_pin_covers(mirror):
    assert mirror.call("--check").returncode == 1
    assert mirror.call().returncode == 0
    (mirror.out / "a100-fp16.csv.gz").write_bytes(gzip.compress(b"a0,b0,c,d_fp32,d_fp16\n"))
    (mirror.out / "a100-tf32.csv.gz").write_bytes(gzip.compress(b"another text\n"))
    checked = mirror.call("--check")
    assert checked.returncode == 1
    assert "a100-fp16.csv.gz is not in pins, but tests read it" in checked.stderr
    assert "a100-tf32.csv.gz is not the pinned recording" in checked.stderr


def damaged(name, change):
    return lambda files: archive_of({**files, name: change(files[name])})


D = "model_validation/A100/tf32/d_A100_fp32.txt"
BROKEN = {
    "another bit": (damaged(D, lambda text: text.replace(b"1", b"0", 1)), 1,
                    f"{D} (66 bytes) has SHA-256 "),
    "half a text": (damaged(D, lambda text: text[:40]), 1, f"{D} (40 bytes) has SHA-256 "),
    "another licence": (damaged("LICENCE", lambda _: b"pay"), 1, "LICENCE (3 bytes) has SHA-256 "),
    "a missing text": (lambda files: archive_of({n: x for n, x in files.items() if n != D}), 1,
                       f"{D} is missing"),
    "half an archive": (lambda files: archive_of(files)[:300], 1, "ends early"),
    "a damaged archive": (lambda files: archive_of(files)[:200] + b"\0" * 99, 1,
                          "is not a .tar.gz archive, or ends early"),
    "no archive": (lambda files: b"<html>moved</html>", 1, "is not a .tar.gz archive"),
    "nothing": (lambda files: b"", 1, "is not a .tar.gz archive"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("was_there", [False, True])
def test_leaves_what_was_there_where_the_mirror_is_broken(mirror, files, case, was_there):
    before = {}
    if was_there:
        before = {"v100-fp16.csv.gz": b"old", "notes.txt": b"mine"}
        mirror.out.mkdir(parents=True)
        for name, data in before.items():
            (mirror.out / name).write_bytes(data)
    make, code, sentence = BROKEN[case]
    mirror.put_bytes(make(files))
    failed = mirror.call()
    assert failed.returncode == code
    assert sentence in failed.stderr
    assert "--from" in failed.stderr, "it names no remedy"
    assert "Traceback" not in failed.stderr
    assert (mirror.contents() if mirror.out.exists() else {}) == before
    mirror.assert_nothing_left_over()


# Pins that match the mirror, but texts that are not a recording.
NO_RECORDING = {
    "a digit that is none": ({D: b"2" * 32 + b"\n" + b"0" * 32 + b"\n"},
                             f"{D}:1: expected numbers"),
    "fewer rows": ({D: b"0" * 32 + b"\n"}, f"{D}: 1 rows, but "),
    "rows of two lengths": ({D.replace("d_A100_fp32", "a_A100_tf32"):
                             b"3f7aa000 3f87c000\nbe87e000\n"}, "its rows have [1, 2] numbers"),
    "fewer columns": ({D.replace("d_A100_fp32", "b_A100_tf32"): b"3f7aa000\nbe87e000\n"},
                      "1 numbers a row, not 2 as in a"),
    "other numbers": ({D: (b"0" * 32 + b"\n") * 2}, "its conversion has another hash than pinned"),
}


@pytest.mark.parametrize("case", NO_RECORDING)
def test_refuses_texts_that_make_no_recording(mirror, files, case):
    change, sentence = NO_RECORDING[case]
    mirror.put({**files, **change})
    mirror.pin({**files, **change})
    failed = mirror.call()
    assert failed.returncode == 1
    assert sentence in failed.stderr
    assert not mirror.out.exists()


@pytest.mark.parametrize("url", ["file:///nowhere/mirror.tar.gz", "http://127.0.0.1:9/x.tar.gz",
                                 "https://plumbline.invalid/x.tar.gz"])
def test_says_that_it_cannot_fetch(mirror, url, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    failed = mirror.call(url=url)
    assert failed.returncode == 3
    assert f"ci/recordings.sh: cannot fetch {url}: " in failed.stderr
    assert "--from URL" in failed.stderr
    assert not mirror.out.exists()
    mirror.assert_nothing_left_over()


def test_says_that_a_connection_ended_early(mirror, files, monkeypatch):
    data = archive_of(files)

    class HalfAnAnswer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:200])

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), HalfAnAnswer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        monkeypatch.setenv("no_proxy", "*")
        failed = mirror.call(url=f"http://127.0.0.1:{server.server_port}/x.tar.gz")
        thread.join()
    assert failed.returncode == 3
    assert f"the connection ended after 200 of {len(data)} bytes" in failed.stderr
    assert not mirror.out.exists()


def test_a_limit_of_file_size_leaves_what_was_there(mirror):
    """Simulates a full disk without special rights: every write past 64 bytes fails."""
    assert mirror.call().returncode == 0
    (mirror.out / "v100-fp16.csv.gz").write_bytes(b"old")
    before = mirror.contents()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    failed = mirror.call(how=lambda *options: script(*options, preexec_fn=limit))
    assert failed.returncode == 3
    assert "cannot write" in failed.stderr
    assert "nothing of the recordings was changed" in failed.stderr
    assert mirror.contents() == before
    mirror.assert_nothing_left_over()


def test_a_full_disk_leaves_what_was_there(mirror):
    target = mirror.out.parent
    target.mkdir()
    command = (f'mount -t tmpfs -o size=8k plumbline "{target}" || exit 77\n'
               f'mkdir "{mirror.out}" && echo old >"{mirror.out}/v100-fp16.csv.gz"\n'
               f'"{ROOT}/ci/recordings.sh" --out "{mirror.out}" --hashes "{mirror.folder}/pins" '
               f'--from "{mirror.url}"\n'
               f'echo "exit code $?"; cat "{mirror.out}"/*; ls "{target}" "{mirror.out}"\n')
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "bash", "-c", command],
                          capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
    assert "exit code 3\nold\n" in done.stdout, done.stderr
    assert "No space left on device; nothing of the recordings was changed" in done.stderr
    assert "part" not in done.stdout.replace("recordings", "")


def test_refuses_wrong_usage(mirror):
    for options in (["--nonsense"], ["--from", "/a/path"], ["--from", "ftp://host/x"],
                    ["--check", "--from", mirror.url], ["--write-hashes", "x"],
                    ["--commit", COMMIT], ["--write-hashes", "x", "--commit", "main"],
                    ["--hashes", "/nowhere"], ["--hashes", ROOT / "LICENSE"],
                    ["--out", ROOT / "LICENSE", "--from", mirror.url]):
        refused = in_process(*options)
        assert refused.returncode == 2, options
        assert refused.stderr and "Traceback" not in refused.stderr


def test_help_has_examples():
    shown = script("--help")
    assert shown.returncode == 0
    for text in ("examples:", "ci/recordings.sh --check", "--from file:///", "BSD-2-Clause",
                 "exit codes: 0"):
        assert text in shown.stdout


def test_writes_the_pins_of_an_archive(mirror):
    pins = mirror.folder / "new"
    done = in_process("--write-hashes", pins, "--commit", COMMIT, "--from", mirror.url)
    assert done.returncode == 0, done.stderr
    kept = (mirror.folder / "pins").read_text().splitlines()
    assert sorted(line for line in pins.read_text().splitlines() if line[0] != "#") == \
        sorted(kept[1:])
    assert pins.read_text().startswith(f"# commit {COMMIT}\n")
    assert mirror.call("--hashes", pins).returncode == 0


def test_pins_of_the_repository_are_whole():
    """Checks that every pinned recording has pinned sources, and that they come from GitHub."""
    lines = (ROOT / "ci" / "recordings.sha256").read_text().splitlines()
    names = [line.split("  ")[1] for line in lines if line[0] != "#"]
    made = {name for name in names if name.endswith(".csv")}
    sets = {f"{gpu}-{form}.csv".lower() for _, gpu, form, _ in
            (name.split("/") for name in names if name.startswith("model_validation/"))}
    assert made == sets and len(made) == 32 and len(names) == len(set(names))
    refused = script("--out", "/dev/null/x",
                     env={**os.environ, "https_proxy": "http://127.0.0.1:9"})
    assert refused.returncode == 3
    assert f"https://codeload.github.com/north-numerical-computing/MATLAB-tensor-core/tar.gz/" \
           f"{lines[0].split()[-1]}" in refused.stdout
