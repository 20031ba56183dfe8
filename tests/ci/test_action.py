"""Tests action.yml and ci/gitlab.yml: two nights, a pull request, a planted failure."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import yaml

import jobs

SUITE = """schema = 1
name = "mine"
tier = "smoke"
[[group]]
name = "g"
reason = "a short night"
kernels = ["cpu/flash"]
set = { seq = 40, heads_q = 2 }
product = { dtype = ["fp16", "bf16"] }
"""
PLANTED = "cpu:drop_last_key=1"


@pytest.fixture(scope="session")
def program_folder(tmp_path_factory):
    """An installed plumbline, away from the build, as a user has it."""
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", os.environ["PLUMBLINE_BUILD"], "--prefix", prefix],
                   check=True, stdout=subprocess.DEVNULL)
    return prefix / "bin"


@pytest.fixture
def job(tmp_path, program_folder):
    made = jobs.Job(tmp_path, program_folder)
    (made.work / "suites").mkdir()
    (made.work / "suites" / "mine.toml").write_text(SUITE, encoding="utf-8")
    yield made
    print(made.said)


@pytest.fixture
def hub():
    comments = "/repos/someone/kernels/issues"
    service = jobs.Service(f"{comments}/7/comments", f"{comments}/comments", "PATCH")
    yield service
    service.close()


@pytest.fixture
def lab():
    notes = "/projects/12/merge_requests/3/notes"
    service = jobs.Service(notes, notes, "PUT")
    yield service
    service.close()


def verdicts(job, program_folder, history="plumbline-history.db"):
    """Returns {verdict: count} of a database."""
    said = subprocess.run(
        [program_folder / "plumbline", "query", "SELECT verdict, count(*) FROM v_history GROUP BY "
         "verdict", "--format", "csv", "--db", job.caches / history],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    return {line.split(",")[0]: int(line.split(",")[1]) for line in said.split()[1:]}


def junit_breaches(job):
    rules = jobs.SOURCE / "tests" / "report" / "junit_rules.py"
    return subprocess.run([sys.executable, rules, job.work / "out" / "plumbline" / "junit.xml"],
                          text=True, stdout=subprocess.PIPE, check=False).stdout


INPUTS = {"suites": "suites/mine.toml", "token": jobs.TOKEN}


def test_two_nights_extend_the_history(job, hub, program_folder):
    code, outputs, summary = jobs.github(job, "schedule", INPUTS, hub)
    assert code == 0, job.said
    assert outputs == {"exit-code": "0"}
    assert "begins a new history" in job.said
    assert verdicts(job, program_folder) == {"first_seen": 2}
    assert "plumbline" in summary and "Fine" in summary
    assert {"junit.xml", "summary.md"} <= set(job.artifact)
    job.said = ""
    code, _, _ = jobs.github(job, "schedule", INPUTS, hub)
    assert code == 0, job.said
    assert "begins a new history" not in job.said
    assert verdicts(job, program_folder) == {"first_seen": 2, "pass": 2}
    assert junit_breaches(job) == ""
    assert hub.server.asked == [], "a night is no pull request: nothing to comment on"


def test_a_planted_failure_ends_with_1_and_is_history(job, hub, program_folder):
    assert jobs.github(job, "push", INPUTS, hub)[0] == 0, job.said
    code, outputs, summary = jobs.github(job, "push", {**INPUTS, "providers": PLANTED}, hub)
    assert code == 1 and outputs == {"exit-code": "1"}, job.said
    assert "each sample's last key were not seen" in summary
    assert "::error file=suites/mine.toml,line=7," in job.said
    assert verdicts(job, program_folder) == {"first_seen": 2, "fail": 2}
    assert junit_breaches(job) == ""


def test_a_pull_request_gets_one_comment_and_leaves_the_history(job, hub, program_folder):
    assert jobs.github(job, "schedule", INPUTS, hub)[0] == 0, job.said
    night = (job.caches / "plumbline-history.db").read_bytes()
    code, _, summary = jobs.github(job, "pull_request", {**INPUTS, "providers": PLANTED}, hub)
    assert code == 1, job.said
    assert len(hub.ours()) == 1 and summary.rstrip() in hub.ours()[0]
    assert "each sample's last key were not seen" in hub.ours()[0]
    code, _, _ = jobs.github(job, "pull_request", INPUTS, hub)
    assert code == 0, job.said
    assert len(hub.ours()) == 1 and "last key" not in hub.ours()[0]
    assert [what for what, _ in hub.server.asked] == ["GET", "GET", "POST", "GET", "GET", "POST",
                                                      "PATCH"]
    assert (job.caches / "plumbline-history.db").read_bytes() == night
    # The run was compared with the night's history, so no case is seen for the first time.
    assert 'first seen' not in hub.ours()[0]


def kill_the_run(job, what):
    """From now on `plumbline run` runs the command `what`; other commands are plumbline's."""
    folder = job.temporary / "killed"
    folder.mkdir()
    program = job.path.partition(":")[0] + "/plumbline"
    (folder / "plumbline").write_text(
        f'#!/bin/bash\n[[ "$1" != run ]] || {{ {what}; }}\nexec {program} "$@"\n',
        encoding="utf-8")
    (folder / "plumbline").chmod(0o755)
    job.path = f"{folder}:{job.path}"


@pytest.mark.parametrize("what, words", [
    ("kill -9 $$", "Incomplete: the run ended with exit code 137, no case was reported"),
    # The job is cancelled: ci/action.sh itself is killed at once.
    ("kill -9 $PPID $$", "Incomplete: the run did not come to its end, no case was reported")])
def test_a_killed_run_replaces_the_comment_of_an_earlier_push(job, hub, what, words):
    assert jobs.github(job, "pull_request", INPUTS, hub)[0] == 0, job.said
    assert "Fine" in hub.ours()[0]
    kill_the_run(job, what)
    code, outputs, summary = jobs.github(job, "pull_request", INPUTS, hub)
    assert len(hub.ours()) == 1 and "Fine" not in hub.ours()[0], job.said
    assert f"## plumbline: {words}\n" in hub.ours()[0] and "Next: " in hub.ours()[0]
    if "PPID" not in what:
        assert code == 3 and outputs == {"exit-code": "3"}
        assert summary.rstrip() in hub.ours()[0]


def test_a_killed_run_replaces_the_note_on_gitlab(job, lab):
    given = {"PLUMBLINE_SUITES": "suites/mine.toml", "PLUMBLINE_TOKEN": jobs.TOKEN,
             "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "3"}
    assert jobs.gitlab(job, jobs.SOURCE, given, lab) == 0, job.said
    assert "Fine" in lab.ours()[0]
    kill_the_run(job, "kill -9 $$")
    assert jobs.gitlab(job, jobs.SOURCE, given, lab) == 3, job.said
    assert len(lab.ours()) == 1 and "Incomplete: the run ended with" in lab.ours()[0]


def test_a_killed_night_says_so(job, hub):
    kill_the_run(job, "kill -9 $$")
    code, outputs, summary = jobs.github(job, "schedule", INPUTS, hub)
    assert code == 3 and outputs == {"exit-code": "3"}, job.said
    assert summary.startswith("## plumbline: Incomplete: night ")
    assert "The suites ended with exit code 137." in summary


def test_a_token_without_the_permission_changes_no_verdict(job, hub):
    code, _, _ = jobs.github(job, "pull_request", {**INPUTS, "token": "of a fork"}, hub)
    assert code == 0
    assert "HTTP Error 403" in job.said and "pull-requests: write" in job.said
    assert "::warning title=plumbline::the summary could not be written" in job.said
    assert hub.ours() == []


MARK = "<!-- plumbline -->"
# A kernel that writes what it can read of its own environment and its parent processes'.
LOOKING = """import os
import numpy
from plumbline.kernels import Spec, kernel

def above():
    process = os.getpid()
    while process > 1:
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                yield file.read().replace(b"\\0", b"\\n").decode(errors="replace")
        except PermissionError:
            pass
        with open(f"/proc/{process}/stat") as file:
            process = int(file.read().rpartition(")")[2].split()[1])

@kernel(dtypes=("fp16", "bf16"), layouts=("padded_bshd", "ragged"))
def look(case):
    with open(os.environ["SEEN"], "a") as file:
        file.write("\\n".join(f"{name}={value}" for name, value in os.environ.items()))
        if "ABOVE" in os.environ:
            file.writelines(above())
    return lambda: case.new_out()
"""


def seen_by_a_kernel(job, **variables):
    (job.work / "looking.py").write_text(LOOKING, encoding="utf-8")
    job.variables = {"PLUMBLINE_PYTHON": sys.executable, "SEEN": str(job.temporary / "seen"),
                     "GITLAB_SECRET_KEY": "a secret", "ACTIONS_RUNTIME_URL": "a service",
                     "DB_PASSWORD": "a password", **variables}
    return job.temporary / "seen"


def test_kernels_do_not_see_the_token(job, hub):
    file = seen_by_a_kernel(job, ABOVE="1")
    inputs = {**INPUTS, "providers": "looking.py", "kernels": "looking/look"}
    assert jobs.github(job, "pull_request", inputs, hub)[0] == 1, job.said
    seen = file.read_text(encoding="utf-8")
    assert "SEEN=" in seen and "GITHUB_ACTIONS=true" in seen
    assert jobs.TOKEN not in seen
    assert len(hub.ours()) == 1, "and the comment is written"


def test_kernels_do_not_see_secrets_unless_they_are_passed(job, lab):
    file = seen_by_a_kernel(job)
    given = {"PLUMBLINE_SUITES": "suites/mine.toml", "PLUMBLINE_PROVIDERS": "looking.py",
             "PLUMBLINE_KERNELS": "looking/look", "PLUMBLINE_TOKEN": jobs.TOKEN,
             "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "3"}
    assert jobs.gitlab(job, jobs.SOURCE, given, lab) == 1, job.said
    seen = file.read_text(encoding="utf-8")
    for secret in (jobs.TOKEN, "a secret", "a service", "a password"):
        assert secret not in seen
    given["PLUMBLINE_OPTIONS"] = "--pass-env DB_PASSWORD"
    assert jobs.gitlab(job, jobs.SOURCE, given, lab) == 1, job.said
    seen = file.read_text(encoding="utf-8")
    assert "a password" in seen and "a secret" not in seen


def test_a_comment_of_a_stranger_is_left_alone(job, hub, lab):
    """Any user can copy the line that marks the comment."""
    for service in (hub, lab):
        service.server.comments[3] = [4, MARK + "\nfine", jobs.STRANGER]
    for _ in range(2):
        assert jobs.github(job, "pull_request", INPUTS, hub)[0] == 0, job.said
        given = {"PLUMBLINE_SUITES": "suites/mine.toml", "PLUMBLINE_TOKEN": jobs.TOKEN,
                 "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "3"}
        assert jobs.gitlab(job, jobs.SOURCE, given, lab) == 0, job.said
    for service in (hub, lab):
        assert service.server.comments[3] == [4, MARK + "\nfine", jobs.STRANGER]
        assert len(service.ours()) == 1


def test_inputs_reach_plumbline(job, hub):
    (job.work / "sub").mkdir()
    (job.work / "suites").rename(job.work / "sub" / "suites")
    inputs = {**INPUTS, "working-directory": "sub", "history": "", "kernels": "cpu/naive",
              "options": "--match '*fp16*' --format json", "out": "reports"}
    code, _, summary = jobs.github(job, "push", inputs, hub)
    assert code == 0, job.said
    assert "cpu/naive/fp16/b1-h2x1-s40-d64" in job.said
    assert "cpu/flash" not in job.said and "/bf16/" not in job.said
    assert "junit.xml" in job.artifact and list(job.caches.iterdir()) == []


@pytest.mark.parametrize("inputs, code, words", [
    ({"first-night": "no"}, 3, ["plumbline-history.db is missing", "remedy"]),
    ({"first-night": "never"}, 2, ["PLUMBLINE_FIRST_NIGHT is never", "auto, yes or no"]),
    ({"suites": ""}, 2, ["no suite is named", "remedy"]),
    ({"wheel": "dist/none-*.whl"}, 2, ["dist/none-*.whl is not a file", "ci/wheel.sh"]),
    ({"suites": "absent.toml"}, 2, ["absent.toml"])])
def test_wrong_inputs_are_named(job, hub, inputs, code, words):
    assert jobs.github(job, "schedule", {**INPUTS, **inputs}, hub)[0] == code, job.said
    for word in words:
        assert word in job.said


def test_gitlab(job, lab, program_folder):
    suite = {"PLUMBLINE_SUITES": "suites/mine.toml", "PLUMBLINE_TOKEN": jobs.TOKEN}
    night = {**suite, "CI_PIPELINE_SOURCE": "schedule"}
    assert jobs.gitlab(job, jobs.SOURCE, night, lab) == 0, job.said
    assert jobs.gitlab(job, jobs.SOURCE, night, lab) == 0, job.said
    assert verdicts(job, program_folder) == {"first_seen": 2, "pass": 2}
    report = job.work / job.template["artifacts"]["reports"]["junit"]
    assert report.exists() and junit_breaches(job) == ""
    request = {**suite, "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "3"}
    planted = {**request, "PLUMBLINE_PROVIDERS": PLANTED}
    assert jobs.gitlab(job, jobs.SOURCE, planted, lab) == 1, job.said
    assert "each sample's last key were not seen" in lab.ours()[0]
    assert jobs.gitlab(job, jobs.SOURCE, request, lab) == 0, job.said
    assert len(lab.ours()) == 1 and "last key" not in lab.ours()[0]
    assert verdicts(job, program_folder) == {"first_seen": 2, "pass": 2}


def test_the_template_uses_words_of_gitlab_only():
    template = yaml.safe_load((jobs.SOURCE / "ci" / "gitlab.yml").read_text(encoding="utf-8"))
    assert list(template) == [".plumbline"]
    known = {"image", "variables", "script", "resource_group", "cache", "artifacts", "rules"}
    assert set(template[".plumbline"]) == known
    documented = (jobs.SOURCE / "ci" / "action.sh").read_text(encoding="utf-8")
    for name in template[".plumbline"]["variables"]:
        assert name == "PLUMBLINE_SOURCE" or f"#   {name} " in documented


@pytest.fixture
def page():
    return (jobs.SOURCE / "docs" / "start" / "ci.md").read_text(encoding="utf-8")


def yaml_blocks(page):
    return re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)


def test_the_page_names_inputs_that_there_are(page):
    github, gitlab = map(yaml.safe_load, yaml_blocks(page))
    action = yaml.safe_load((jobs.SOURCE / "action.yml").read_text(encoding="utf-8"))
    step = github["jobs"]["attention"]["steps"][-1]
    assert step["uses"] == "OWNER/plumbline@COMMIT"
    assert set(step["with"]) <= set(action["inputs"])
    table = set(re.findall(r"^\| `([\w-]+)` \|", page, re.M))
    assert table == set(action["inputs"])
    template = yaml.safe_load((jobs.SOURCE / "ci" / "gitlab.yml").read_text(encoding="utf-8"))
    assert gitlab["include"] == [{"local": "plumbline/ci/gitlab.yml"}]
    assert gitlab["attention"]["extends"] in template
    ours = {name for name in gitlab["attention"]["variables"] if name.startswith("PLUMBLINE_")}
    assert len(ours) == 2 and ours <= set(template[".plumbline"]["variables"])


def test_the_page_leaves_open_only_what_it_marks(page):
    """A placeholder is a word in capitals."""
    open_lines = []
    for block in yaml_blocks(page):
        for line in block.splitlines():
            is_open = re.search(r"\b[A-Z]{2,}\b|<[\w ]+>|\.\.\.|…", line.split("  # ")[0])
            assert bool(is_open) == ("# <- fill in" in line), line
            open_lines += [line.strip()] if is_open else []
    assert len(open_lines) == 1 and open_lines[0].startswith("- uses: OWNER/plumbline@COMMIT ")


@pytest.mark.parametrize("event", ["schedule", "pull_request"])
def test_the_workflow_of_the_page_runs_as_pasted(job, hub, program_folder, page, event):
    """Runs in a repository with only the files that the page's first command makes."""
    assert "plumbline init start && cd start" in page
    (job.work / "suites" / "mine.toml").unlink()
    subprocess.run([program_folder / "plumbline", "init", job.work], check=True,
                   stdout=subprocess.DEVNULL)
    workflow = yaml.safe_load(yaml_blocks(page)[0])
    assert event in workflow[True], "PyYAML reads the key `on` as true"
    steps = workflow["jobs"]["attention"]["steps"]
    assert [step["uses"].partition("@")[0] for step in steps] == ["actions/checkout",
                                                                  "OWNER/plumbline"]
    inputs = {name: str(value).replace("${{ github.token }}", jobs.TOKEN)
              for name, value in steps[1]["with"].items()}
    job.variables = {"PLUMBLINE_PYTHON": sys.executable}
    code, _, _ = jobs.github(job, event, inputs, hub)
    assert code == 0, job.said
    assert "mine/softmax     14" in job.said
    assert len(hub.ours()) == (event == "pull_request")


def test_the_gitlab_job_of_the_page_runs_as_pasted(job, lab, program_folder, page):
    (job.work / "suites" / "mine.toml").unlink()
    subprocess.run([program_folder / "plumbline", "init", job.work], check=True,
                   stdout=subprocess.DEVNULL)
    variables = yaml.safe_load(yaml_blocks(page)[1])["attention"]["variables"]
    job.variables = {"PLUMBLINE_PYTHON": sys.executable}
    given = {**variables, "PLUMBLINE_TOKEN": jobs.TOKEN, "CI_PIPELINE_SOURCE": "schedule"}
    assert jobs.gitlab(job, jobs.SOURCE, given, lab) == 0, job.said
    assert "mine/softmax     14" in job.said


def test_the_development_container_calls_what_there_is():
    text = (jobs.SOURCE / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    container = json.loads(text)
    presets = json.loads((jobs.SOURCE / "CMakePresets.json").read_text(encoding="utf-8"))
    configured = {preset["name"] for preset in presets["configurePresets"]}
    called = " && ".join(container[step] for step in (
        "onCreateCommand", "updateContentCommand", "postCreateCommand")).split(" && ")
    assert len(called) == 7
    for command in called:
        program, *arguments = shlex.split(command)
        if program.startswith("ci/"):
            # Missing files may be listed, but an unknown option ends with 2.
            said = subprocess.run([jobs.SOURCE / program, "--check", *arguments], text=True,
                                  stdout=subprocess.DEVNULL, check=False)
            assert said.returncode in (0, 1), command
        elif program == "cmake":
            assert arguments[arguments.index("--preset") + 1] in configured, command
        else:
            assert program == "apt-get"


def test_a_long_summary_is_cut_where_its_blocks_are_closed(tmp_path):
    sys.path.insert(0, str(jobs.SOURCE / "ci"))
    import comment
    text = "<details><summary>x</summary>\n\n```text\n" + "a line\n" * 20000 + "```\n</details>\n"
    short = comment.shortened(text)
    assert len(short) < 65536 and short.count("```") == 2
    assert short.count("<details>") == short.count("</details>") == 1
    assert comment.shortened("whole") == "whole"


@pytest.mark.parametrize("name, words", [
    ("plumbline_attention-0.1.0-py3-none-any.whl",
     ["only judges dumps", "plumbline_attention_harness-0.1.0-", "both files of ci/wheel.sh"]),
    ("plumbline_attention_harness-0.1.0-py3-none-any.whl", ["is not the judge's wheel", "remedy"])])
def test_one_wheel_alone_is_refused(job, hub, name, words):
    (job.work / "dist").mkdir()
    (job.work / "dist" / name).touch()
    inputs = {**INPUTS, "wheel": "dist/plumbline_*.whl"}
    assert jobs.github(job, "schedule", inputs, hub)[0] == 2, job.said
    for word in words:
        assert word in job.said


def test_a_wheel_is_installed(tmp_path, hub):
    wheels = sorted(pathlib.Path(os.environ.get("PLUMBLINE_WHEELS", jobs.SOURCE / "dist"))
                    .glob("plumbline_attention-*.whl"))
    if not wheels:
        pytest.skip("there is no wheel in dist/ (ci/wheel.sh)")
    job = jobs.Job(tmp_path, None)
    (job.work / "mine.toml").write_text(SUITE, encoding="utf-8")
    pattern = str(wheels[-1].parent / "plumbline_attention-*.whl")
    inputs = {**INPUTS, "suites": "mine.toml", "wheel": pattern}
    assert jobs.github(job, "schedule", inputs, hub)[0] == 0, job.said
    assert f"{job.temporary}/plumbline-venv/bin/plumbline: plumbline 0." in job.said


def test_two_nights_in_the_root_of_another_machine(tmp_path, hub):
    """Installs the wheel in a Debian without a compiler and without any part of plumbline."""
    wheels = sorted(pathlib.Path(os.environ.get("PLUMBLINE_WHEELS", jobs.SOURCE / "dist"))
                    .glob("plumbline_attention-*.whl"))
    if not wheels:
        pytest.skip("there is no wheel (ci/wheel.sh)")
    roots = pathlib.Path(os.environ["PLUMBLINE_BUILD"]) / "tests" / "wheel" / "roots"
    made = subprocess.run([jobs.SOURCE / "tests" / "wheel" / "make_root.sh", "bookworm", roots],
                          text=True, stdout=subprocess.PIPE, check=False)
    if made.returncode == 77:
        pytest.skip(made.stdout)
    assert made.returncode == 0, made.stdout
    job = jobs.Job(tmp_path, None, root=made.stdout.splitlines()[-1], seen=[wheels[-1].parent])
    (job.work / "mine.toml").write_text(SUITE, encoding="utf-8")
    inputs = {**INPUTS, "suites": "mine.toml", "wheel": str(wheels[-1])}
    assert jobs.github(job, "schedule", inputs, hub)[0] == 0, job.said
    assert "begins a new history" in job.said
    job.said = ""
    code, outputs, summary = jobs.github(job, "schedule", {**inputs, "providers": PLANTED}, hub)
    assert code == 1 and outputs == {"exit-code": "1"}, job.said
    assert "begins a new history" not in job.said
    assert "each sample's last key were not seen" in summary
    code = jobs.github(job, "pull_request", {**inputs, "providers": PLANTED}, hub)[0]
    assert code == 1 and len(hub.ours()) == 1, job.said
