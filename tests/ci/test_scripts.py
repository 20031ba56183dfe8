"""Tests that every script of ci/ refuses wrong options, with exit code 2 and before it does
anything."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

CI = pathlib.Path(__file__).resolve().parents[2] / "ci"
SCRIPTS = sorted(str(path.relative_to(CI)) for path in CI.rglob("*.sh")
                 if os.access(path, os.X_OK) and not path.is_symlink() and path.name != "zig.sh")
# These pass every option to another program, which refuses unknown ones.
PASS_ON = {"bench.sh", "quickstart.sh", "stories.sh"}
# Only ci/wheel.sh calls this one, with one folder.
INTERNAL = {"wheel/dependencies.sh"}
TAKE_OPTIONS = [script for script in SCRIPTS if script not in PASS_ON | INTERNAL]
# WORK lists the programs with which a script starts its work.
MISSPELT = "rec" "ieved"  # in two parts for ci/lint.sh
WORK = ("cmake", "ctest", "apt-get", "npm", "pip", "gh", "sbatch", "squeue", "scancel", "kubectl",
        "plumbline", "clang-format", "buildah", "mmdebstrap")


class Sandbox:
    """A copy of ci/ in which the programs of WORK only log their arguments."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "log"
        self.programs = folder / "programs"
        self.programs.mkdir()
        shutil.copytree(CI, folder / "ci", symlinks=True)
        shutil.copy(CI.parent / "CMakeLists.txt", folder)
        for name in WORK:
            self.stand_in(name)

    def stand_in(self, name, does="exit 99"):
        file = self.programs / name
        file.write_text(f'#!/bin/bash\nprintf "%s\\n" "{name}" "$@" >>{self.log}\n{does}\n',
                        encoding="utf-8")
        file.chmod(0o755)

    def run(self, script, *words, **environment):
        return subprocess.run(
            [self.folder / "ci" / script, *words], cwd=self.folder, text=True,
            env={"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.folder), **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60, check=False)

    def refuses(self, script, *words, says, code=2, **environment):
        done = self.run(script, *words, **environment)
        assert done.returncode == code, done.stdout
        assert f"ci/{script}: " in done.stdout, done.stdout
        for part in says:
            assert part in done.stdout
        assert not re.search(r"\.sh: line \d+: ", done.stdout), "bash's own message"
        assert not self.log.exists(), f"it has begun: {self.log.read_text(encoding='utf-8')}"
        return done.stdout

    def called(self):
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


@pytest.fixture(name="sandbox")
def make_sandbox(tmp_path):
    return Sandbox(tmp_path)


def test_there_are_scripts():
    assert len(SCRIPTS) >= 20 and PASS_ON | INTERNAL < set(SCRIPTS)


@pytest.mark.parametrize("message, says", [
    ("judge: open every time\n\nA suspect night is open anyway.\n", ""),
    ("measure, ci: keep one rule\n# a comment\n", ""),
    ("Merge branch 'main'\n", ""),
    ("Open every time\n", 'the subject is not "scope: verb ..."'),
    ("judge: Open every time\n", 'the subject is not "scope: verb ..."'),
    ("judge: " + "x" * 66 + "\n", "the subject has 73 columns, more than 72"),
    ("judge: open every time\nbody\n", "the second line is not empty")])
def test_the_subject_of_a_commit(sandbox, tmp_path, message, says):
    (tmp_path / "message").write_text(message, encoding="utf-8")
    done = sandbox.run("commit_message.sh", tmp_path / "message")
    assert done.returncode == (1 if says else 0) and says in done.stdout, done.stdout


@pytest.mark.parametrize("name, text, finding", [
    ("a.py", "import os\n", "F401"), ("a.sh", "#!/bin/bash\na=(1 2)\necho $a\n", "SC2128"),
    ("a.md", f"It was {MISSPELT}.\n", f"{MISSPELT} ==> received")])
def test_lint_finds_what_is_planted(tmp_path, name, text, finding):
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run([CI / "lint.sh", "--", tmp_path / name], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 5:
        pytest.skip(done.stdout)
    assert done.returncode == 1 and finding in done.stdout, done.stdout


def test_lint_without_its_tools_is_open(sandbox):
    (sandbox.folder / "a.md").write_text(f"It was {MISSPELT}.\n", encoding="utf-8")
    for name in ("codespell", "dirname", "basename", "realpath"):
        real = shutil.which(name)
        if real and name != "codespell":
            (sandbox.programs / name).symlink_to(real)
    done = subprocess.run(["/bin/bash", sandbox.folder / "ci/lint.sh", "--", "a.md"], text=True,
                          cwd=sandbox.folder, env={"PATH": str(sandbox.programs)}, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 5, done.stdout
    assert "ci/lint.sh: codespell is missing; remedy: ci/setup.sh --python" in done.stdout


@pytest.mark.parametrize("script", TAKE_OPTIONS)
def test_an_unknown_option(sandbox, script):
    sandbox.refuses(script, "--no-such-option", says=["--no-such-option"])


def options_with_a_value(script):
    """Returns the options in the script's header that are followed by a word in capitals."""
    header = re.match(r"(#.*\n)+", (CI / script).read_text(encoding="utf-8")).group()
    found = re.findall(r"(?:^#   |\[|ci/\S+ )(--[a-z-]+) [A-Z]+\b", header, re.MULTILINE)
    return sorted(set(found))


@pytest.mark.parametrize("script, option", [(script, option) for script in TAKE_OPTIONS
                                            for option in options_with_a_value(script)])
def test_an_option_without_its_value(sandbox, script, option):
    sandbox.refuses(script, option, says=[f"{option} needs "])


def test_options_with_a_value_are_found():
    assert sum(len(options_with_a_value(script)) for script in TAKE_OPTIONS) >= 20


def test_options_that_are_passed_on_stay_words():
    for script in PASS_ON:
        assert '"$@"' in (CI / script).read_text(encoding="utf-8"), script


@pytest.mark.parametrize("words", [
    "action.sh install surplus", "action.sh run surplus", "check.sh --full surplus",
    "check.sh surplus", "coverage.sh surplus", "docs.sh --check surplus",
    "docs.sh --out folder surplus", "fleet/kubernetes.sh night mine.yaml surplus",
    "fleet/kubernetes.sh night --namespace surplus",
    "fleet/night.sh --directory d --history h --first-night merge surplus",
    "fleet/night.sh --directory d --history h --first-night confirm surplus",
    "fleet/night.sh --directory d --history h --first-night settle surplus",
    "fleet/night.sh --directory d --history h --first-night wait 3 surplus",
    "nightly.sh --history h surplus", "restore_history.sh history.db surplus",
    "setup.sh --check surplus", "test.sh --all surplus", "thirdparty.sh --check surplus",
    "wheel.sh -o folder surplus"])
def test_a_surplus_argument(sandbox, words):
    script, *arguments = words.split()
    sandbox.refuses(script, *arguments,
                    says=["--namespace" if "--namespace" in words else "surplus"])


@pytest.mark.parametrize("words, says", [
    ("shard", "shard needs I N"), ("shard 1 x s.toml", "shard needs I N"),
    ("shard 3 2 s.toml", "from 1 to N"), ("shard 1 2", "shard needs a suite"),
    ("wait", "wait needs N"), ("wait x", "wait needs N"), ("sleep", "unknown step sleep")])
def test_steps_of_a_night(sandbox, words, says):
    sandbox.refuses("fleet/night.sh", "--directory", "d", "--history", "h", "--first-night",
                    *words.split(), says=[says])


def test_lists_do_not_hide_the_status_of_the_command_that_makes_them():
    """bash drops the exit status of a <(command). A script reads it with `wait "$!"`, or ignores it
    with `|| true`."""
    found = []
    for path in CI.rglob("*.sh"):
        text = path.read_text(encoding="utf-8")
        for at in (match.start() for match in re.finditer(r"mapfile .*< <\(", text)):
            rest = text[at:]
            end = re.search(r"\)\n(?=\s*wait \"\$!\")|\|\| true\)\n|\n\n", rest)
            if end is None or end.group() == "\n\n":
                found.append(f"{path.name}:{text[:at].count(chr(10)) + 1}")
    assert not found


# --- options in one text

QUOTES = ['--match "*fp32*', "--match '*fp32*", "--match \\"]


@pytest.mark.parametrize("text", QUOTES)
def test_action_refuses_options_that_it_cannot_split(sandbox, text):
    said = sandbox.refuses(
        "action.sh", "run", says=["PLUMBLINE_OPTIONS cannot be split into words", text, "remedy: "],
        PLUMBLINE_SUITES="mine.toml", PLUMBLINE_OPTIONS=text)
    assert "Traceback" not in said


@pytest.mark.parametrize("text", QUOTES)
def test_slurm_refuses_options_that_it_cannot_split(sandbox, text):
    sandbox.refuses("fleet/slurm.sh", "--shard-options", text,
                    says=["--shard-options cannot be split into words", text])


def test_options_are_split_as_by_a_shell_and_not_executed(sandbox):
    sandbox.stand_in("plumbline", "exit 0")
    options = "--match '*a b*' --note \"it's $(touch made) `touch made` *\"\n'' -- --x\\ y"
    done = sandbox.run("action.sh", "run", PLUMBLINE_SUITES="mine.toml", PLUMBLINE_OPTIONS=options)
    assert done.returncode == 0, done.stdout
    called = sandbox.called()
    first = called.index("--match")
    assert called[first:first + 7] == [
        "--match", "*a b*", "--note", "it's $(touch made) `touch made` *", "", "--", "--x y"]
    assert not (sandbox.folder / "made").exists()


def test_lists_of_options_that_are_empty(sandbox):
    sandbox.stand_in("plumbline", "exit 0")
    for options in ("", "  \n "):
        done = sandbox.run("action.sh", "run", PLUMBLINE_SUITES="mine.toml",
                           PLUMBLINE_OPTIONS=options)
        assert done.returncode == 0, done.stdout
    assert sandbox.called()[:3] == ["plumbline", "run", str(sandbox.folder / "mine.toml")]
    assert "" not in sandbox.called()


# --- job queues

NIGHT = ["--shards", "2", "--directory", "night", "--history", "h.db", "s.toml"]


def test_slurm_gets_the_options_word_by_word(sandbox):
    sandbox.stand_in("sbatch", "cat >/dev/null; echo 7")
    done = sandbox.run("fleet/slurm.sh", "--shard-options", "--constraint='a b' --gres=gpu:1",
                       *NIGHT)
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert {"--constraint=a b", "--gres=gpu:1"} < set(sandbox.called())
    assert sandbox.called().count("sbatch") == 4


@pytest.mark.parametrize("words", [["--shards", "x"], ["--shards", "0"], NIGHT[:-1], NIGHT[2:],
                                   [*NIGHT[:-1], "--", "--jobs", "2"],
                                   [*NIGHT[:2], *NIGHT[4:]], [*NIGHT[:4], "s.toml"]])
def test_slurm_needs_shards_directory_history_and_a_suite(sandbox, words):
    sandbox.refuses("fleet/slurm.sh", *words, says=["--shards", "need"])


def test_a_job_that_sbatch_refuses_takes_the_others_with_it(sandbox):
    sandbox.stand_in("sbatch", f"""cat >/dev/null
        count=$(grep -c '^sbatch$' {sandbox.log})
        ((count < 3)) || {{ echo 'sbatch: error: no GPU' >&2; exit 1; }}
        echo $count""")
    sandbox.stand_in("scancel", "exit 0")
    done = sandbox.run("fleet/slurm.sh", "--shard-options", "--gres=gpu:x", *NIGHT)
    assert done.returncode == 3, done.stdout
    assert "sbatch: error: no GPU\nci/fleet/slurm.sh: sbatch refused the job plumbline-confirm" in (
        done.stdout)
    assert "remedy: correct --shard-options" in done.stdout and "--gres=gpu:x" in done.stdout
    assert sandbox.called()[-3:] == ["scancel", "1", "2"]


def test_without_the_programs_of_a_queue(sandbox):
    for name in ("sbatch", "kubectl"):
        (sandbox.programs / name).unlink()
    if shutil.which("sbatch", path="/usr/bin:/bin") is None:
        sandbox.refuses("fleet/slurm.sh", *NIGHT, code=3,
                        says=["there is no sbatch on the PATH", "remedy: "])
    if shutil.which("kubectl", path="/usr/bin:/bin") is None:
        sandbox.refuses("fleet/kubernetes.sh", "night", code=3,
                        says=["there is no kubectl on the PATH", "remedy: "])


def test_a_cluster_that_does_not_answer(sandbox):
    sandbox.stand_in("kubectl", "echo 'The connection was refused' >&2; exit 1")
    done = sandbox.run("fleet/kubernetes.sh", "night", "--", "--namespace", "n")
    assert done.returncode == 3, done.stdout
    assert "refused\nci/fleet/kubernetes.sh: kubectl delete job failed, for the" in done.stdout
    assert "remedy: check that the cluster answers (kubectl --namespace n cluster" in done.stdout
    assert sandbox.called().count("kubectl") == 1


def test_a_cluster_that_stops_to_answer_ends_the_wait(sandbox):
    sandbox.stand_in("kubectl", '[[ "$*" != *get* ]] || exit 1; [[ "$*" != *apply* ]] || cat')
    done = sandbox.run("fleet/kubernetes.sh", "night", PLUMBLINE_FLEET_POLL="0")
    assert done.returncode == 3, done.stdout
    assert sandbox.called().count("get") == 6


def test_a_file_that_is_not_there(sandbox):
    sandbox.refuses("fleet/kubernetes.sh", "night", "gone.yaml", says=["gone.yaml is not a file"])
