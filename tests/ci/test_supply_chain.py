"""Tests that inputs of a build are pinned: actions by commit, Python packages by hash."""
import pathlib
import re
import subprocess

import pytest
import yaml

tomllib = pytest.importorskip("tomllib")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((SOURCE / ".github" / "workflows").glob("*.yml"))
LOCKED = sorted(path for path in (SOURCE / "ci").rglob("*requirements.txt"))
USES = re.compile(r"^\s*(?:- )?uses:\s*(\S+)(.*)$", re.M)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
OPEN = "OWNER/plumbline@COMMIT"  # on a page, for the reader to fill in
PACKAGE = re.compile(r"^([a-z][\w.-]*)(?:\[[^\]]*\])?==(\S+)( \\(?:\n +--hash=sha256:[0-9a-f]{64}"
                     r"(?: \\)?)+)?$", re.M)


def workflows_of_pages():
    """Yields the YAML blocks of pages that have GitHub jobs."""
    for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]:
        for block in re.findall(r"^```ya?ml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
            if re.search(r"^jobs:|^\s*(- )?uses:", block, re.M):
                yield page.relative_to(SOURCE), block


ALL = [(path.relative_to(SOURCE), path.read_text("utf-8"))
       for path in [*WORKFLOWS, SOURCE / "action.yml"]] + list(workflows_of_pages())


def unpinned(text):
    """Returns the lines with an action that no commit pins, or without a comment with its
    version."""
    return [f"{action}{rest}" for action, rest in USES.findall(text)
            if action != OPEN and not action.startswith("./") and not (
                PINNED.fullmatch(action) and re.fullmatch(r"  # v\d+\.\d+\.\d+", rest))]


@pytest.mark.parametrize("place, text", ALL, ids=[str(place) for place, _ in ALL])
def test_every_action_is_pinned_by_commit(place, text):
    assert USES.search(text) or place.name == "ci.yml", "the pattern finds no action any more"
    assert unpinned(text) == []


def test_an_action_has_one_commit_everywhere():
    commits = {}
    for _, text in ALL:
        for action, rest in USES.findall(text):
            if action != OPEN:
                path, _, commit = action.partition("@")
                commits.setdefault("/".join(path.split("/")[:2]), set()).add((commit, rest.strip()))
    assert {action: found for action, found in commits.items() if len(found) > 1} == {}
    assert "actions/checkout" in commits


def test_a_tag_and_a_missing_version_are_seen():
    commit = "11d5960a326750d5838078e36cf38b85af677262"
    assert unpinned("  - uses: actions/checkout@v4\n") == ["actions/checkout@v4"]
    assert unpinned(f"  - uses: actions/checkout@{commit[:12]}  # v4.4.0\n")
    assert unpinned(f"  - uses: actions/checkout@{commit}\n")
    assert not unpinned(f"  - uses: actions/checkout@{commit}  # v4.4.0\n")


@pytest.mark.parametrize("place, text", [(p, t) for p, t in ALL if p.name != "action.yml"],
                         ids=[str(p) for p, _ in ALL if p.name != "action.yml"])
def test_every_workflow_states_permissions(place, text):
    workflow = yaml.safe_load(text)
    permissions = [workflow.get("permissions")] if "permissions" in workflow else [
        job.get("permissions") for job in workflow["jobs"].values()]
    for stated in permissions:
        assert isinstance(stated, dict) and stated, f"{place}: not stated, or write-all"
        assert {name for name, right in stated.items() if right == "write"} <= {"pull-requests"}
    assert "pull_request_target" not in workflow[True], "PyYAML reads the key `on` as true"


def test_every_package_has_a_version_and_hashes():
    assert len(LOCKED) == 5
    for path in LOCKED:
        text = "".join(line for line in path.read_text("utf-8").splitlines(keepends=True)
                       if not line.lstrip().startswith("#"))
        packages = PACKAGE.findall(text)
        assert packages and not [name for name, _, hashes in packages if not hashes], path
        assert PACKAGE.sub("", text).split() == [], f"{path}: what is neither package nor hash"


def name_of(requirement):
    return re.split(r"[\[=]", requirement)[0].lower().replace("_", "-")


def test_locked_files_have_what_their_sources_name():
    """ci/lock.sh must run after a version is changed by hand."""
    sources = sorted((SOURCE / "ci").rglob("*requirements.in"))
    assert {p.with_suffix(".txt") for p in sources} == set(LOCKED) - {
        SOURCE / "ci/torch_requirements.txt"}
    for source in sources:
        asked = dict(re.findall(r"^([A-Za-z][\w.-]*)(?:\[[^\]]*\])?==(\S+)",
                                source.read_text("utf-8"), re.M))
        locked = {name: version for name, version, _ in
                  PACKAGE.findall(source.with_suffix(".txt").read_text("utf-8"))}
        assert asked and {name_of(name): version for name, version in asked.items()} == {
            name_of(name): locked.get(name_of(name)) for name in asked}, source


def logical_lines(text):
    return re.sub(r"\\\n\s*", "", text).splitlines()


def test_scripts_install_requirements_with_hashes_only():
    found = []
    for path in sorted((SOURCE / "ci").rglob("*.sh")):
        for line in logical_lines(path.read_text("utf-8")):
            if re.search(r"pip install.*(--requirement|-r) ", line) and not line.startswith("#"):
                found.append(path.name)
                assert "--require-hashes" in line, f"{path}: {line.strip()}"
    assert sorted(found) == ["dependencies.sh", "options.sh"]  # options.sh also for docs.sh
    setup = (SOURCE / "ci/setup.sh").read_text("utf-8")
    arrays = re.findall(r"^ *install=\((.*?)\)$", setup, re.M | re.S)
    assert len(arrays) == 1 and "-m pip install" in arrays[0] and "--require-hashes" in arrays[0]
    assert len(re.findall(r"-m pip install", setup)) == 1


PROJECTS = {"plumbline-attention": "pyproject.toml",
            "plumbline-attention-harness": "python/harness/pyproject.toml"}


@pytest.mark.parametrize("name", PROJECTS)
def test_packages_say_what_they_are(name):
    file = tomllib.loads((SOURCE / PROJECTS[name]).read_text("utf-8"))
    project = file["project"]
    assert project["name"] == name
    assert project["license"] == "Apache-2.0", "an SPDX expression (PEP 639), no table"
    assert project["license-files"] == ["LICENSE"], "ci/notices adds NOTICES.txt to a wheel"
    assert "license-files" not in file["tool"]["scikit-build"].get("wheel", {})
    assert not [line for line in project["classifiers"] if line.startswith("License ::")]
    assert "Operating System :: POSIX :: Linux" in project["classifiers"]
    assert len(project["keywords"]) >= 5
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Security"} == set(project["urls"])
    home = project["urls"]["Homepage"]
    assert all(url.startswith(home) for url in project["urls"].values())
    for url in project["urls"].values():
        for path in re.findall(r"/(?:blob|tree)/main/(\S+)$", url):
            assert (SOURCE / path).exists(), url


def test_both_packages_have_the_same_addresses():
    first, second = (tomllib.loads((SOURCE / path).read_text("utf-8"))["project"]
                     for path in PROJECTS.values())
    assert first["urls"] == second["urls"]


def test_the_security_page_warns_of_what_runs_kernels_of_others():
    text = (SOURCE / "SECURITY.md").read_text("utf-8")
    for word in ("Report a vulnerability", "pull_request_target", "permissions:", "--pass-env",
                 "not a sandbox", "dumps", "plumbline-attention"):
        assert word in text, word


def test_numpy_alone_is_locked_with_hashes(tmp_path):
    """ci/setup.sh --numpy gives pip two packages, both with hashes."""
    setup = (SOURCE / "ci/setup.sh").read_text("utf-8")
    function = re.search(r"^wanted_requirements\(\) \{\n.*?^\}$", setup, re.M | re.S).group()
    done = subprocess.run(["bash", "-c", f"ci={SOURCE}/ci python=0\n{function}\n"
                           "wanted_requirements"], check=True, text=True, stdout=subprocess.PIPE)
    packages = PACKAGE.findall(done.stdout)
    assert sorted(name for name, _, hashes in packages if hashes) == ["ml-dtypes", "numpy"]
    assert PACKAGE.sub("", done.stdout).split() == []
