"""Tests NOTICES.txt and the SBOM of the wheels against the libraries that their build links."""
import json
import os
import pathlib
import sys
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "ci" / "notices"))
linked = pytest.importorskip("linked", reason="tomllib came with Python 3.11")
sbom = pytest.importorskip("sbom", reason="ci/setup.sh --python")
FOLDER = pathlib.Path(os.environ["PLUMBLINE_WHEELS"])
BUILD = SOURCE / "build" / "wheel" / "build"
TARGETS = {"plumbline_attention": "plumbline_check_library",
           "plumbline_attention_harness": "programs"}


def inside(name, suffix):
    """Returns the text of the only file in the newest wheel whose name ends with `suffix`."""
    newest = max(FOLDER.glob(f"{name}-[0-9]*.whl"), key=lambda path: path.stat().st_mtime)
    with zipfile.ZipFile(newest) as archive:
        found, = (file for file in archive.namelist() if file.endswith(suffix))
        return archive.read(found).decode("utf-8")


def test_every_entry_is_linked_by_one_of_both():
    result = linked.linked(BUILD, list(TARGETS.values()))
    assert linked.problems(result, "wheel") == []


@pytest.mark.parametrize("name", TARGETS)
def test_the_sbom_names_what_is_linked_and_is_valid(name):
    text = inside(name, ".dist-info/sboms/plumbline.cdx.json")
    assert sbom.errors_of(text) is None
    named = {part["name"] for part in json.loads(text)["components"]}
    assert named == set(linked.linked(BUILD, [TARGETS[name]]).found)


@pytest.mark.parametrize("name", TARGETS)
def test_the_notices_name_the_same(name):
    text = inside(name, ".dist-info/licenses/NOTICES.txt")
    parts = json.loads(inside(name, ".dist-info/sboms/plumbline.cdx.json"))["components"]
    for part in parts:
        assert f"  {part['name']} {part['version']}: " in text
    assert "License-File: LICENSE\nLicense-File: NOTICES.txt\n" in inside(name, "/METADATA")
    assert inside(name, ".dist-info/licenses/LICENSE").lstrip().startswith("Apache License")
