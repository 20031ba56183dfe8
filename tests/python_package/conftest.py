"""An attention in fp64, rounded once to the output dtype, as by a perfect kernel.
Fixtures for the build's program, and for pytest with the package's plugin."""
import os
import pathlib
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

DTYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}


def random_inputs(dtype, batch=2, heads_q=4, heads_kv=2, seq_q=24, seq_kv=24, dim=32, seed=0):
    """Returns q, k, v as [batch, seq, heads, dim]."""
    generator = np.random.default_rng(seed)
    shapes = ((batch, seq_q, heads_q, dim), (batch, seq_kv, heads_kv, dim),
              (batch, seq_kv, heads_kv, dim))
    return [generator.standard_normal(shape, dtype=np.float32).astype(DTYPES[dtype])
            for shape in shapes]


def attention(q, k, v, causal=None, keys=None, scale=None):
    """Returns out [batch, seq, heads, dim] in q's dtype, lse [batch, seq, heads] in fp32. `keys`:
    the number of keys of each sample."""
    group = q.shape[2] // k.shape[2]
    q64, k64, v64 = (x.astype(np.float64)
                     for x in (q, np.repeat(k, group, axis=2), np.repeat(v, group, axis=2)))
    s = np.einsum("bqhd,bkhd->bhqk", q64, k64) * (scale or q.shape[3] ** -0.5)
    rows, columns = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])[None, :]
    for sample in range(q.shape[0]):
        length = k.shape[1] if keys is None else keys[sample]
        seen = np.broadcast_to(columns < length, s.shape[2:])
        if causal is not None:
            seen = seen & (columns <= rows
                           + (length - q.shape[1] if causal == "bottom_right" else 0))
        s[sample][:, ~seen] = -np.inf
    largest = s.max(axis=-1, keepdims=True)
    p = np.exp(s - largest)
    total = p.sum(axis=-1, keepdims=True)
    out = np.einsum("bhqk,bkhd->bqhd", p / total, v64)
    lse = (np.log(total) + largest)[..., 0].transpose(0, 2, 1)
    return out.astype(q.dtype), lse.astype(np.float32)


@pytest.fixture
def plumbline_program():
    """A function that runs the program with its arguments and returns the result of subprocess.run.
    """
    program = pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"
    # os.environ, because pytest loads readline, which sets COLUMNS without Python's knowledge.
    return (lambda *arguments: subprocess.run([program, *arguments], capture_output=True, text=True,
                                              check=False, env=dict(os.environ)))


def write_entry_points(folder):
    """Writes the metadata by which pytest finds the package's plugin; `folder` belongs on the path.
    """
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    pyproject = pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    information = folder / "plumbline_attention-0.dist-info"
    information.mkdir(parents=True)
    lines = [f"{name} = {module}" for name, module in project["entry-points"]["pytest11"].items()]
    (information / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]), "utf-8")
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n", "utf-8")
    return folder


def path_of_python(*folders):
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture
def suite_of_tests(tmp_path):
    """A function that writes files into its own project and runs pytest there: suite(files,
    *arguments), with `environment`. The project has this file as fp64.py."""
    site, project = write_entry_points(tmp_path / "site"), tmp_path / "project"
    project.mkdir()
    shutil.copy(__file__, project / "fp64.py")

    def run(files, *arguments, environment=None):
        for name, text in files.items():
            (project / name).write_text(text, encoding="utf-8")
        variables = {**os.environ, "PYTHONPATH": path_of_python(site, project),
                     "PLUMBLINE": str(pathlib.Path(os.environ["PLUMBLINE_BIN"]) / "plumbline"),
                     **(environment or {})}
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=project,
                              env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)

    run.project = project
    return run
