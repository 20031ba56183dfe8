"""Tests NOTICES.txt and the SBOM against the libraries that this build links."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "ci" / "notices"))
linked = pytest.importorskip("linked", reason="tomllib came with Python 3.11")
import texts  # noqa: E402

BUILD = pathlib.Path(os.environ["PLUMBLINE_BUILD"])
JUDGE = "python/plumbline/_native/lib/libplumbline_check.so"
HARNESS = "programs"
# System libraries, including GCC's run-time libraries.
SYSTEM = re.compile(r"/(ld-linux|lib(c|m|mvec|pthread|dl|rt|resolv|gcc_s|stdc\+\+)\.so)")


def cached(name):
    text = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    match = re.search(rf"^{name}:\w+=(.*)$", text, re.M)
    return match[1] if match else ""


def carried():
    """Returns the libraries that a bundle contains, from ldd."""
    said = subprocess.run(["ldd", BUILD / "bin/plumbline"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return [path for path in re.findall(r"=> (/\S+)", said)
            if not SYSTEM.search(path) and "/lib/plumbline/" not in path]


def targets():
    """Returns the targets of both wheels and of a bundle that this build has."""
    names = [HARNESS]
    if (BUILD / JUDGE).exists():
        names.append(JUDGE)
    names += [name for name in ("lib/plumbline/plumbline_cuda.so",
                                "lib/plumbline/plumbline_reference_cuda.so")
              if (BUILD / name).exists()]
    for listed in ("gpu_tests.txt", "compiled_providers.txt"):
        if (BUILD / listed).exists():
            names += [name for name in (BUILD / listed).read_text("utf-8").split()
                      if (BUILD / name).exists()]
    return names


@pytest.fixture(scope="module")
def evidence():
    if "sanitize" in cached("CMAKE_CXX_FLAGS") or cached("PLUMBLINE_SANITIZE"):
        pytest.skip("a build with sanitizers is not handed on")
    try:
        return linked.evidence(BUILD, targets(), carried())
    except linked.NotBuilt as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def everything(evidence):
    return linked.claimed(evidence)


def test_every_linked_library_has_an_entry_and_every_entry_is_linked(everything):
    with_cuda = (BUILD / "lib/plumbline/plumbline_cuda.so").exists()
    assert linked.problems(everything, "bundle", with_cuda) == []


def test_the_judge_alone_has_fewer(everything):
    if not (BUILD / JUDGE).exists():
        pytest.skip("the Python package is not part of this build")
    judge = linked.linked(BUILD, [JUDGE])
    assert linked.problems(judge, "") == []
    assert {"OpenBLAS", "SLEEF", "fmt"} <= set(judge.found) < set(everything.found)
    assert not {"SQLite", "cpp-httplib"} & set(judge.found)


def without(name):
    return tuple(library for library in linked.libraries() if library.name != name)


@pytest.mark.parametrize("name", ["OpenBLAS", "SQLiteCpp", "CLI11", "tl::expected", "OpenSSL"])
def test_a_library_without_an_entry_is_named(evidence, monkeypatch, name):
    shorter = without(name)
    monkeypatch.setattr(linked, "libraries", lambda: shorter)
    result = linked.claimed(evidence)
    assert result.unclaimed and name not in result.found
    assert any("is in no entry" in line for line in linked.problems(result, "bundle"))


def test_an_entry_that_nothing_links_is_named(everything, monkeypatch):
    longer = linked.libraries() + (linked.Library("Arrow", "Apache-2.0", links=("arrow",)),)
    monkeypatch.setattr(linked, "libraries", lambda: longer)
    assert linked.problems(everything, "bundle") == ["Arrow is linked by nothing"]


@pytest.fixture(scope="module")
def parts(everything):
    return texts.components(everything)


def test_the_notices_have_the_text_of_each(parts):
    text = texts.notices("plumbline 0", parts)
    for part in parts:
        assert part.version and len(part.text) > 200, part.library.name
        assert f"  {part.library.name} {part.version}: {part.library.licence}\n" in text
        assert part.text.strip() in text
    assert "Redistributions in binary form must reproduce" in text, "OpenBLAS asks for it"
    assert text.count("\n  ") < 60_000, "the licences of a build, and no archive"


def test_an_entry_with_the_source_of_another_is_refused(everything):
    fmt = next(library for library in linked.libraries() if library.name == "fmt")
    wrong = linked.dataclasses.replace(fmt, source="spdlog")
    with pytest.raises(texts.NoText, match="is of Debian's source fmtlib, and the entry fmt says"):
        texts.component(wrong, everything.found["fmt"], None)


def test_the_sbom_passes_its_own_validator(parts):
    pytest.importorskip("cyclonedx", reason="ci/setup.sh --python")
    import sbom
    text = sbom.sbom("plumbline-gpu", "0.1.0", parts)
    assert sbom.errors_of(text) is None
    found = json.loads(text)
    assert found["bomFormat"] == "CycloneDX" and found["specVersion"] == "1.6"
    assert [one["name"] for one in found["components"]] == sorted(
        (part.library.name for part in parts))
    assert all(one["version"] and one["purl"] and one["licenses"] for one in found["components"])
    again = json.loads(sbom.sbom("plumbline-gpu", "0.1.0", parts))
    assert again["serialNumber"] == found["serialNumber"]


def test_the_validator_refuses_what_is_no_sbom(parts):
    pytest.importorskip("cyclonedx", reason="ci/setup.sh --python")
    import sbom
    broken = json.loads(sbom.sbom("plumbline-gpu", "0.1.0", parts))
    broken["components"][0]["type"] = "a library"
    assert "a library" in sbom.errors_of(json.dumps(broken))


def run(*words):
    return subprocess.run([sys.executable, SOURCE / "ci/notices/notices.py", *map(str, words)],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def test_a_wheel_gets_both_and_stays_whole(tmp_path, everything):
    """Uses the libraries of this machine instead of those of ci/wheel/dependencies.sh."""
    for module in ("cyclonedx", "wheel"):
        pytest.importorskip(module, reason="ci/setup.sh --python")
    root = tmp_path / "demo-1.0"
    info = root / "demo-1.0.dist-info"
    info.mkdir(parents=True)
    (root / "demo.py").write_text("print('here')\n", encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n"
                                   "License-File: LICENSE\nKeywords: a\n\nLong: text\n\n"
                                   "Second\n",
                                   encoding="utf-8")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                                "Tag: py3-none-any\n", encoding="utf-8")
    (info / "RECORD").write_text("", encoding="utf-8")
    prefix = tmp_path / "prefix"
    for library in linked.libraries():
        if library.source:
            place = prefix / "share/notices" / library.source
            place.mkdir(parents=True, exist_ok=True)
            (place / "copyright").write_text(f"terms of {library.name}\n", encoding="utf-8")
            (place / "version").write_text("1.0+ds-1\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", tmp_path, root],
                   check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    done = run("wheel", wheel, "--build", BUILD, "--prefix", prefix, HARNESS)
    assert done.returncode == 0, done.stdout
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                    "--target", site, wheel], check=True)
    installed = site / "demo-1.0.dist-info"
    assert "terms of zlib" in (installed / "licenses/NOTICES.txt").read_text("utf-8")
    assert json.loads((installed / "sboms/plumbline.cdx.json").read_text("utf-8"))["components"]
    metadata = (installed / "METADATA").read_text("utf-8")
    assert metadata.endswith("License-File: LICENSE\nLicense-File: NOTICES.txt\nKeywords: a\n\n"
                             "Long: text\n\nSecond\n")
    record = (installed / "RECORD").read_text("utf-8")
    assert "demo-1.0.dist-info/licenses/NOTICES.txt,sha256=" in record


def test_the_version_of_the_wheels_compiler_is_that_of_its_package(tmp_path):
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    (packages / "ziglang-0.17.1.dist-info").mkdir(parents=True)
    (packages / "ziglang").mkdir()
    (packages / "ziglang/LICENSE").write_text("terms of Zig\n", encoding="utf-8")
    zig = next(one for one in linked.libraries() if one.name == "Zig's compiler_rt")
    part = texts.component(zig, [], tmp_path)
    assert (part.version, part.purl) == ("0.17.1", "pkg:pypi/ziglang@0.17.1")


@pytest.mark.parametrize("file", ["libfmt.a", "libfmt.so", "libfmt.so.9.1.0", "libfmt.so.1debian"])
def test_a_library_has_the_name_of_its_file(file):
    assert linked.LIBRARY.match(f"/usr/lib/{file}")[1] == "fmt"


def test_a_build_that_is_not_there_is_named(tmp_path):
    done = run("check", "--build", tmp_path, "programs")
    assert done.returncode == 3 and "remedy: build programs in " in done.stdout, done.stdout
