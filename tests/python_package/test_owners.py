"""Another project's package also has the name plumbline: pip installs it over ours."""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("pip")
PROGRAM = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
BUILD = PROGRAM.parents[1]
SOURCE = pathlib.Path(__file__).resolve().parents[2]


def wheel(folder, name, version, files, entry_points):
    """Makes a tiny wheel for pip."""
    info = f"{name}-{version}.dist-info"
    files = {**files,
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/entry_points.txt": entry_points}
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))
    return path


def ours():
    return {f"{folder}/{path.name}": path.read_text(encoding="utf-8")
            for folder in ("plumbline", "plumbline_command")
            for path in sorted((SOURCE / "python" / folder).glob("*.py"))}


def pip(*words):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                    "--disable-pip-version-check", *map(str, words)], check=True)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    mine = wheel(folder, "plumbline_attention", "0.1.0", ours(),
                 "[console_scripts]\nplumbline = plumbline_command:main\n\n"
                 "[pytest11]\nplumbline = plumbline.pytest_plugin\n")
    other = wheel(folder, "plumbline", "0.0.9", {"plumbline/__init__.py": "def filter(): pass\n"},
                  "[console_scripts]\nplumbline = plumbline:filter\n")
    return mine, other


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """Folders in which pip has installed our package, and the other."""
    folder = tmp_path_factory.mktemp("installed")
    for name, one in zip(("mine", "other"), wheels):
        pip("--target", folder / name, one)
    return folder


@pytest.fixture
def site(tmp_path, installed):
    """A folder in which ours is installed."""
    return shutil.copytree(installed / "mine", tmp_path / "site")


def run(site, *words, **more):
    # With CI set, pytest repeats the whole message of each failure in its summary.
    outside = {name: value for name, value in os.environ.items()
               if name not in ("CI", "BUILD_NUMBER")}
    environment = {**outside, "PYTHONPATH": str(site), "PLUMBLINE_PYTHON": sys.executable,
                   "PLUMBLINE_CHECK_LIBRARY":
                       str(BUILD / "python/plumbline/_native/lib/libplumbline_check.so")}
    return subprocess.run([str(word) for word in words], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **more)


def unpack_over(site, wheel):
    """Copies files as pip does into an environment: it silently overwrites files of other packages.
    With --target it would refuse."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)


def test_ours_alone_is_not_in_the_way(site):
    done = run(site, sys.executable, "-m", "plumbline_command.owners")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_other_package_is_named_with_place_and_remedy(site, wheels):
    unpack_over(site, wheels[1])
    done = run(site, sys.executable, "-m", "plumbline_command.owners")
    assert done.stdout.startswith(
        "plumbline 0.0.9, a package of another project, owns plumbline/__init__.py and the command "
        f"plumbline in {site}"), done.stdout
    assert f"remedy: {sys.executable} -m pip uninstall plumbline; then install " in done.stdout


def test_the_command_alone_is_enough(site, tmp_path):
    unpack_over(site, wheel(tmp_path, "level", "3", {"level.py": ""},
                            "[console_scripts]\nplumbline = level:main\n"))
    done = run(site, sys.executable, "-m", "plumbline_command.owners")
    assert done.stdout.startswith("level 3, a package of another project, owns the command "
                                  "plumbline in "), done.stdout


def test_doctor_finds_it_missing(site, wheels, tmp_path):
    doctor = [PROGRAM, "doctor", "--quick", "--db", tmp_path / "none.db"]
    before = run(site, *doctor)
    assert before.returncode == 0 and "packages" not in before.stdout, before.stdout
    unpack_over(site, wheels[1])
    done = run(site, *doctor)
    assert done.returncode == 3, done.stdout
    line, = (line for line in done.stdout.splitlines() if line.startswith("MISSING"))
    assert line.split()[1:3] == ["packages", "plumbline"] and "owns plumbline/__init__.py" in line
    assert "remedy: " in done.stdout and "pip uninstall plumbline" in done.stdout


TESTS = """
def test_of_the_project():
    pass

def test_that_judges(attention_judge):
    pass
"""


def test_pytest_fails_what_judges_and_runs_the_rest(site, wheels, tmp_path):
    """The other package was installed after ours: `import plumbline` is theirs."""
    unpack_over(site, wheels[1])
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")
    done = run(site, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_mine.py",
               cwd=tmp_path)
    assert "1 passed, 1 error" in done.stdout, done.stdout
    assert "plumbline cannot judge: plumbline 0.0.9, a package of another project" in done.stdout
    assert done.stdout.count("pip uninstall plumbline") == 2, "the header and the test"


def test_pytest_warns_where_ours_came_later(installed, wheels, tmp_path):
    """`import plumbline` is ours, and uninstalling theirs would remove it."""
    site = shutil.copytree(installed / "other", tmp_path / "site")
    unpack_over(site, wheels[0])
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")
    done = run(site, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_mine.py",
               cwd=tmp_path)
    assert "2 passed" in done.stdout, done.stdout
    assert "plumbline: plumbline 0.0.9, a package of another project, owns" in done.stdout


def test_the_command_is_there_under_its_module_too(site, tmp_path):
    done = run(site, sys.executable, "-m", "plumbline_command", "--version", cwd=tmp_path)
    assert done.returncode == 0 and "0.1.0" in done.stdout, done.stdout
