"""The files of plumbline-attention and plumbline-attention-harness, as in their wheels."""
import os
import pathlib
import subprocess

import pytest

tomllib = pytest.importorskip("tomllib")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["PLUMBLINE_BIN"]).parent
PROJECTS = {"plumbline-attention": SOURCE, "plumbline-attention-harness": SOURCE / "python/harness"}


def described(package):
    return tomllib.loads((PROJECTS[package] / "pyproject.toml").read_text(encoding="utf-8"))


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def installed(place, *components):
    """Returns the files that `cmake --install` writes for these components."""
    for component in components:
        subprocess.run(["cmake", "--install", BUILD, "--prefix", place, "--component", component],
                       check=True, stdout=subprocess.DEVNULL)
    return files_below(place)


def files_of(package, place):
    """Returns a package's files as scikit-build-core combines them, without the metadata, and
    those of them that CMake installs."""
    settings = described(package)["tool"]["scikit-build"]
    native = installed(place, *settings["install"]["components"])
    files = {f"{settings['wheel']['install-dir']}/{file}" for file in native}
    for folder in settings["wheel"]["packages"]:
        root = PROJECTS[package] / folder
        files |= {f"{root.name}/{file}" for file in files_below(root) if "__pycache__" not in file}
    return files, native


def test_no_file_is_in_both_and_none_in_neither(tmp_path):
    judge, of_judge = files_of("plumbline-attention", tmp_path / "judge")
    harness, of_harness = files_of("plumbline-attention-harness", tmp_path / "harness")
    assert judge & harness == set()
    assert {"plumbline/__init__.py", "plumbline/pytest_plugin.py", "plumbline_command/__init__.py",
            "plumbline/_native/lib/libplumbline_check.so"} <= judge
    assert not any("bin/" in file or "share/" in file for file in judge)
    assert {f"plumbline/_native/{file}" for file in (
        "bin/plumbline", "bin/plumbline-ptx", "libexec/plumbline/plumbline-worker",
        "share/plumbline/cases/smoke.toml", "share/plumbline/baselines/contracts.toml",
        "lib/plumbline/plumbline_cpu.so")} <= harness
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path / "all"], check=True,
                   stdout=subprocess.DEVNULL)
    assert files_below(tmp_path / "all") == of_judge | of_harness


def test_their_names_and_requirements():
    judge, harness = (described(package)["project"] for package in PROJECTS)
    assert [judge["name"], harness["name"]] == list(PROJECTS)
    assert judge["optional-dependencies"]["run"] == [harness["name"]]
    metadata = described(harness["name"])["tool"]["scikit-build"]["metadata"]
    assert metadata["dependencies"]["result"] == [judge["name"] + "=={project[version]}"]
    assert judge["scripts"].keys() & harness["scripts"].keys() == set()
    for script in (*judge["scripts"].values(), *harness["scripts"].values()):
        module, function = script.split(":")
        text = (SOURCE / "python" / module / "__init__.py").read_text(encoding="utf-8")
        assert f"def {function}()" in text


def test_both_take_their_version_from_one_place():
    judge, harness = (described(package)["tool"]["scikit-build"]["metadata"]["version"]
                      for package in PROJECTS)
    assert harness["regex"] == judge["regex"]
    assert (PROJECTS["plumbline-attention-harness"] / harness["input"]).resolve() == (
        SOURCE / judge["input"]).resolve()


def test_python_and_the_program_name_the_other_package_alike():
    from plumbline import _library
    header = (SOURCE / "harness/cli/harness_package.h").read_text(encoding="utf-8")
    words = "".join(line.strip().strip(";")[1:-1] for line in header.splitlines()
                    if line.startswith('    "'))
    assert words == _library.HARNESS_REMEDY
