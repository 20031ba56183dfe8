#!/usr/bin/env python3
"""Makes a virtual environment with plumbline installed, for run_installed.py.

    install_package.py BUILD VENV

Without PLUMBLINE_WHEELS it holds what BUILD installs, placed as the wheels place it, and the other
packages of the interpreter that runs this script. If PLUMBLINE_WHEELS names a folder with wheels
(ci/wheel.sh -o FOLDER), pip installs the newest of each package. Exit code 77: the interpreter
lacks a package that pages use."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def python_of(venv, *arguments):
    return subprocess.run([venv / "bin" / "python", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def newest_wheels(folder):
    """Returns the newest file of each package."""
    wheels = {}
    for file in sorted(folder.glob("plumbline_attention*.whl"), key=lambda f: f.stat().st_mtime):
        wheels[file.name.split("-")[0]] = file
    if not wheels:
        sys.exit(f"PLUMBLINE_WHEELS: {folder} has no wheel; remedy: ci/wheel.sh -o {folder}")
    return list(wheels.values())


def install_wheels(wheels, venv):
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python_of(venv, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels)


def install_build(build, venv):
    sys.path.insert(0, str(SOURCE / "tests" / "python_package"))
    from conftest import write_entry_points

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    site = pathlib.Path(python_of(venv, "-c", "import sysconfig; "
                                  "print(sysconfig.get_paths()['purelib'])"))
    for package in ("plumbline", "plumbline_command"):
        shutil.copytree(SOURCE / "python" / package, site / package,
                        ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SOURCE / "python" / "plumbline_provider.py", site)
    subprocess.run(["cmake", "--install", build, "--prefix", site / "plumbline" / "_native"],
                   check=True, stdout=subprocess.DEVNULL)
    write_entry_points(site)
    program = venv / "bin" / "plumbline"
    program.write_text(f"#!{venv}/bin/python\nimport plumbline_command\nplumbline_command.main()\n",
                       encoding="utf-8")
    program.chmod(0o755)
    # Adds this interpreter's packages: NumPy, pytest and ml_dtypes.
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")


def main():
    build, venv = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(venv, ignore_errors=True)
    wheels = os.environ.get("PLUMBLINE_WHEELS")
    lacking = [name for name in ("numpy", "ml_dtypes", "pytest")
               if importlib.util.find_spec(name) is None]
    if lacking and not wheels:
        print(f"SKIPPED: {sys.executable} lacks {', '.join(lacking)}; remedy: ci/setup.sh --python")
        sys.exit(77)
    if wheels:
        install_wheels(newest_wheels(pathlib.Path(wheels)), venv)
    else:
        install_build(build, venv.absolute())
    print(subprocess.run([venv / "bin" / "plumbline", "--version"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.strip())


if __name__ == "__main__":
    main()
