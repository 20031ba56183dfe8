"""Checks the text for Prometheus with Prometheus' own promtool."""
import shutil
import subprocess

import pytest
from conftest import LIBRARIES, run

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None,
                                reason="no promtool (ci/setup.sh --promtool)")
HOSTILE = 'night "one"\\ of\ttwo {le="1"} # HELP'


def checked(text):
    return subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, check=False)


def test_promtool_finds_nothing(folder):
    for which in ("latest", "latest~1"):
        shown = run(folder, "show", which, "--db", "runs.db", "--format", "prometheus")
        assert shown.stdout.startswith("# HELP"), shown.stderr
        done = checked(shown.stdout)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_names_with_quotes_and_line_ends_are_labels(tmp_path, folder):
    (tmp_path / "s.toml").write_text((folder / "s.toml").read_text())
    done = run(tmp_path, "run", "s.toml", "-q", "--no-store", "--format", "prometheus",
               "--provider", f"{LIBRARIES / 'plumbline_cpu.so'}:drop_last_key=1",
               "--commit", HOSTILE)
    assert done.returncode == 1 and "# HELP" in done.stdout, done.stderr
    found = checked(done.stdout)
    assert (found.returncode, found.stdout + found.stderr) == (0, ""), done.stdout[:2000]


def test_promtool_finds_errors():
    assert checked("# TYPE a gauge\na{b=\"c} 1\n").returncode != 0
