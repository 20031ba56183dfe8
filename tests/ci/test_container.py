"""Tests the image of ci/container.sh: its labels, and a run in it as its user.

The image has a wheel of the folder PLUMBLINE_WHEELS (dist/), otherwise the files that this build
installs. Buildah runs it with chroot, which needs root and no other rights."""
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
WHEELS = sorted(pathlib.Path(os.environ.get("PLUMBLINE_WHEELS", SOURCE / "dist"))
                .glob("plumbline_attention-*.whl"))


def said(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    return done.returncode, done.stdout

@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    for program in ("buildah", "mmdebstrap"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (ci/setup.sh --container)")
    if os.geteuid() != 0:
        pytest.skip("buildah's isolation by chroot needs root here")
    folder = tmp_path_factory.mktemp("image")
    if WHEELS:
        of = ["--wheel", WHEELS[-1]]
    else:
        assert said("cmake", "--install", os.environ["PLUMBLINE_BUILD"], "--strip", "--prefix",
                    folder / "prefix")[0] == 0
        of = ["--prefix", folder / "prefix"]
    # Reuses the Debian root of an earlier test, because making one takes minutes.
    root = pathlib.Path(os.environ["PLUMBLINE_BUILD"]) / "tests" / "ci" / (
        "wheel_root.tar" if WHEELS else "prefix_root.tar")
    code, text = said(SOURCE / "ci" / "container.sh", *of, "--root", root, "--out",
                      folder / "plumbline.oci.tar")
    if code == 3 and "made no Debian root" in text:
        pytest.skip(text)
    assert code == 0, text
    yield folder / "plumbline.oci.tar"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def run(archive, tmp_path_factory):
    """Runs a program in a container of the image, as the image's user, with /data mounted."""
    storage = tmp_path_factory.mktemp("storage")
    work = tmp_path_factory.mktemp("work")
    work.chmod(0o777)
    # Kept apart from the user's storage and settings.
    buildah = ["buildah", "--root", storage / "root", "--runroot", storage / "run",
               "--storage-driver", "vfs"]
    code, container = said(*buildah, "from", "--quiet", "--pull-never", f"oci-archive:{archive}")
    if code != 0:
        code, container = said(*buildah, "from", "--quiet", f"oci-archive:{archive}")
    assert code == 0, container
    name = container.split()[-1]
    yield lambda *command: said(*buildah, "run", "--isolation", "chroot", "-v", f"{work}:/data",
                                name, "--", *command)
    said(*buildah, "rm", "--all")
    shutil.rmtree(storage)


def test_what_the_image_says_of_itself(archive):
    with tarfile.open(archive) as files:
        def read(digest):
            return json.load(files.extractfile("blobs/" + digest.replace(":", "/")))
        manifest = read(json.load(files.extractfile("index.json"))["manifests"][0]["digest"])
        config = read(manifest["config"]["digest"])["config"]
    assert config["Entrypoint"] == ["plumbline"] and config["Cmd"] == ["--help"]
    assert config["User"] == "1000:1000" and config["WorkingDir"] == "/data"
    labels = {name.removeprefix("org.opencontainers.image."): value
              for name, value in config["Labels"].items()}
    assert labels["title"] == "plumbline" and labels["licenses"] == "Apache-2.0"
    assert f"project(plumbline VERSION {labels['version']}" in (
        SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    assert labels["description"] and labels["base.name"] == "debian:12"
    assert archive.stat().st_size < 200e6, "bytes, compressed"


def test_a_run_in_the_image(run):
    code, text = run("plumbline", "--version")
    assert code == 0 and text.startswith("plumbline 0."), text
    assert run("id", "-u") == (0, "1000\n")
    smoke = ("plumbline", "run", "cases/smoke.toml", "--kernel", "cpu/flash", "--match", "*bf16*",
             "--db", "/data/runs.db")
    code, text = run(*smoke)
    assert code == 0 and "no failure in" in text, text
    code, text = run(*smoke, "--provider", "cpu:drop_last_key=1")
    assert code == 1, text
    if WHEELS:
        code, text = run("python3", "-c", "import numpy, plumbline")
        assert code == 0, text
    assert run("sh", "-c", "echo x > /usr/bin/x")[0] != 0, "the user may write where it must not"
