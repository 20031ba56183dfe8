"""Tests the record of attacks (ci/hardening.py) and the scripts that attack. A few kills and
requests show that the scripts work, and planted faults show that they find faults."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CI = SOURCE / "ci"
sys.path.insert(0, str(CI))
import hardening  # noqa: E402
import hostile_requests  # noqa: E402
import kills  # noqa: E402

PLUMBLINE = pathlib.Path(os.environ["PLUMBLINE_BUILD"]) / "bin" / "plumbline"
KILLS = ["seed=7", "seconds=60", "kills=80", "amid=70", "lost=0", "leftovers=1", "orphans=0",
         "commands={run = 40, merge = 40}", 'findings=["merge: left \\"a\\""]']


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def run_it(self, *words, code=0):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout


class Record(InFolder):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "hardening.toml"

    def append(self, *values, code=0):
        return self.run_it(CI / "hardening.py", "--file", self.file, "append", "kills", *values,
                           code=code)

    def test_rows_are_added_and_older_ones_stay_as_they_are(self):
        self.append(*KILLS)
        first = self.file.read_text(encoding="utf-8")
        self.append("seed=8", *KILLS[1:])
        both = self.file.read_text(encoding="utf-8")
        self.assertTrue(both.startswith(first))
        rows = tomllib.loads(both)["kills"]
        self.assertEqual([row["seed"] for row in rows], [7, 8])
        self.assertEqual(rows[0]["findings"], ['merge: left "a"'])
        self.assertEqual(rows[0]["commands"], {"run": 40, "merge": 40})
        self.assertRegex(rows[0]["commit"], "^([0-9a-f]{12}(-with-changes)?|unknown)$")

    def test_a_row_that_is_wrong_is_refused(self):
        self.assertIn("wrong: seed", self.append(*KILLS[1:], code=2))
        self.assertIn("seed of [[kills]] is 'x', no int",
                      self.append('seed="x"', *KILLS[1:], code=2))
        self.assertIn("wrong: more", self.append("more=1", *KILLS, code=2))
        self.assertIn("seed=seven", self.append("seed=seven", *KILLS[1:], code=2))
        self.assertFalse(self.file.exists())

    def test_a_damaged_file_is_refused_and_stays_as_it_is(self):
        for text in ("[[kills]]\nseed = 1\n", "nonsense", "[[others]]\n", "[[kills]]\nseed",
                     'kills = 1\n'):
            self.file.write_text(text, encoding="utf-8")
            self.assertIn("hardening.toml", self.append(*KILLS, code=2))
            self.assertEqual(self.file.read_text(encoding="utf-8"), text)

    def test_the_page_shows_the_file(self):
        self.run_it(CI / "hardening.py", "page", "--check")
        self.append(*KILLS)
        self.assertIn("next: ci/hardening.py page", self.run_it(
            CI / "hardening.py", "--file", self.file, "page", "--check", code=1))

    def test_findings_stand_on_the_page_as_they_are(self):
        self.append(*KILLS)
        page = hardening.tables(hardening.read(self.file))
        self.assertRegex(page, r'```text\n\d{4}-\d\d-\d\d: merge: left "a"\n```')

    def test_the_committed_file_has_rows_of_each_kind(self):
        rows = hardening.read(hardening.FILE)
        self.assertEqual(set(rows), set(hardening.KINDS))
        for kind in rows:
            dates = [row["date"] for row in rows[kind]]
            self.assertEqual(dates, sorted(dates))


class Kills(InFolder):
    def test_a_few_kills_lose_nothing_and_leave_nothing(self):
        said = self.run_it(CI / "kills.py", "--plumbline", PLUMBLINE, "--count", "2", "--only",
                           "run", "merge", "close", "--seed", "1")
        self.assertRegex(said, r"seed 1: 6 kills, \d amid the work, 0 lost, 0 left files, 0 left "
                               r"processes")

    def test_what_is_left_behind_is_found(self):
        program = self.folder / "plumbline"
        program.write_text(f"#!/bin/sh\nsetsid sleep 60 >$TMPDIR/copy 2>&1 &\n"
                           f"exec {PLUMBLINE} \"$@\"\n", encoding="utf-8")
        program.chmod(0o755)
        said = self.run_it(CI / "kills.py", "--plumbline", program, "--count", "1", "--only",
                           "run", "--seed", "1", code=1)
        self.assertRegex(said, r"seed 1, run, kill 1: processes \[[\d, ]+\] were "
                               r"still alive 5 s after the kill")
        self.assertIn("seed 1, run, kill 1: left TMPDIR/copy", said)

    def test_shared_memory_of_living_processes_is_their_own(self):
        own = pathlib.Path(f"/dev/shm/plumbline_test_{os.getpid()}")
        left = own.with_name("plumbline_test_left")
        for path in (own, left):
            path.touch()
            self.addCleanup(path.unlink)
        self.assertIn(left.name, kills.shared_memory())
        self.assertNotIn(own.name, kills.shared_memory())

    def test_a_difference_is_told_by_its_table(self):
        self.assertEqual(kills.difference({"run": ["a"]}, {"run": ["a"]}), "")
        self.assertEqual(kills.difference({"run": ["a"]}, {"run": ["a", "b"]}),
                         "run: 1 rows instead of 2; differing row: b")

    def test_options_are_checked(self):
        self.assertIn("is not a program", self.run_it(CI / "kills.py", "--plumbline", "x", code=2))
        self.assertIn("above 0", self.run_it(CI / "kills.py", "--count", "0", code=2))
        self.assertIn("invalid choice", self.run_it(CI / "kills.py", "--only", "x", code=2))
        broken = self.folder / "broken"
        broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
        broken.chmod(0o755)
        self.assertIn("ends with 3", self.run_it(CI / "kills.py", "--plumbline", broken, code=3))


class HostileRequests(InFolder):
    def test_fifty_requests_get_no_wrong_answer(self):
        # Ignores SIGINT as in a background job; the server inherits this.
        said = self.run_it("bash", "-c", "trap '' INT; exec \"$@\"", "background",
                           CI / "hostile_requests.py", "--plumbline", PLUMBLINE, "--count", "50",
                           "--seed", "1")
        self.assertIn("seed 1: 50 requests, 0 wrong answers", said)

    def test_wrong_answers_are_recognised(self):
        wrong = hostile_requests.wrong_with
        safe = b"X-Content-Type-Options: nosniff\r\nContent-Security-Policy: " \
               b"frame-ancestors 'none'\r\n\r\n"
        self.assertEqual(wrong("path", b""), "")
        self.assertEqual(wrong("path", b"HTTP/1.1 404 Not Found\r\n\r\nno"), "")
        self.assertEqual(wrong("mutated", b"HTTP/1.1 200 OK\r\n" + safe), "")
        self.assertEqual(wrong("path", b"HTTP/1.1 200 OK\r\n" + safe), "answered with 200")
        self.assertIn("without nosniff", wrong("mutated", b"HTTP/1.1 200 OK\r\n\r\n"))
        self.assertIn("repeats", wrong("path", b"HTTP/1.1 404 No\r\n\r\nno hostile-mark here"))
        self.assertIn("repeats", wrong("path", b"HTTP/1.1 404 No\r\n\r\nroot:x:0:0"))
        self.assertIn("no HTTP", wrong("tls", b"\x15\x03"))
        self.assertIn("no answer", wrong("path", None))

    def test_a_server_that_cannot_start_is_an_error(self):
        self.assertIn("ends with 1", self.run_it(CI / "hostile_requests.py", "--plumbline",
                                                 "/bin/false", code=3))


class Fuzz(InFolder):
    def test_the_total_is_split_over_the_targets(self):
        targets = len(self.run_it(CI / "fuzz.sh", "--list").split())
        said = self.run_it(CI / "fuzz.sh", "--total", targets - 1, code=2)
        self.assertIn(f"less than a second for each of {targets} targets", said)
        self.assertIn("--total needs a whole number", self.run_it(CI / "fuzz.sh", "--total", "x",
                                                                  code=2))


class WeeklyJob(unittest.TestCase):
    def test_each_kind_of_row_is_an_item(self):
        script = (CI / "weekly.sh").read_text(encoding="utf-8")
        for kind in hardening.KINDS:
            self.assertTrue(re.search(rf"^{kind} .* --record\"?$", script, re.MULTILINE), kind)

    def test_the_commit_ignores_results_and_notices_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def git(*words):
                return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                                      cwd=root, capture_output=True, text=True, check=True).stdout

            git("init", "--quiet")
            for name in ("code", *hardening.RESULTS):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text("1", encoding="utf-8")
                git("add", name)
                git("commit", "--quiet", "--message", name)
            commit = git("log", "-1", "--format=%h", "--abbrev=12", "--", "code").strip()
            with unittest.mock.patch.object(hardening, "ROOT", root):
                self.assertEqual(hardening.tested_commit(), commit)
                (root / hardening.RESULTS[0]).write_text("2", encoding="utf-8")
                self.assertEqual(hardening.tested_commit(), commit)
                (root / "code").write_text("2", encoding="utf-8")
                self.assertEqual(hardening.tested_commit(), f"{commit}-with-changes")


if __name__ == "__main__":
    unittest.main()
