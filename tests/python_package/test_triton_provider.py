"""The provider `triton`: kernels of vLLM and SGLang on the emulator, if their source is installed.
"""
import os
import pathlib
import sys

import pytest

pytest.importorskip("triton", reason="no Triton (ci/setup.sh --python)")
pytest.importorskip("torch", reason="no PyTorch (ci/setup.sh --python)")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = ROOT / "cases" / "triton.toml"
SOURCES = pathlib.Path(os.environ.get("PLUMBLINE_TRITON_SOURCES")
                       or pathlib.Path.home() / ".cache" / "plumbline" / "triton_sources")


@pytest.fixture(autouse=True)
def run_with_this_python(monkeypatch):
    monkeypatch.setenv("PLUMBLINE_PYTHON", sys.executable)


def run(program, tmp_path, *arguments, options=""):
    return program("run", SUITE, "--provider", f"triton{options}", "--db", tmp_path / "runs.db",
                   *arguments)


def test_without_the_source_nothing_is_measured(plumbline_program, tmp_path, monkeypatch):
    monkeypatch.setenv("PLUMBLINE_TRITON_SOURCES", str(tmp_path / "nowhere"))
    done = run(plumbline_program, tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "nothing measured in 15 cases" in done.stdout
    reasons = plumbline_program("query", "SELECT DISTINCT reason FROM v_latest", "--db",
                                tmp_path / "runs.db").stdout
    assert "there is no source of vllm 0.33.0" in reasons


@pytest.mark.skipif(not (SOURCES / "vllm-0.33.0").is_dir(), reason="no sources of vLLM "
                    "(ci/triton_sources.py)")
@pytest.mark.parametrize("arch", ("sm_80", "sm_90"))
def test_vllm_passes_its_suite(plumbline_program, tmp_path, arch):
    done = run(plumbline_program, tmp_path, "--match", "*vllm_unified*",
               options=f":arch={arch}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not (SOURCES / "sglang-0.5.23").is_dir(), reason="no sources of SGLang "
                    "(ci/triton_sources.py)")
def test_sglang_passes_its_suite(plumbline_program, tmp_path):
    done = run(plumbline_program, tmp_path, "--match", "*sglang_prefill/bf16*")
    assert done.returncode == 0, done.stdout + done.stderr
