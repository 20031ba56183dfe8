"""Makes files that a page assumes the reader has: dumps, kernels.
Standard library and a C++ compiler only."""
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def _attention(q, k, v, scale):
    """Computes one head in float64: q, k, v are lists of rows."""
    out = []
    for row in q:
        logits = [scale * sum(a * b for a, b in zip(row, key)) for key in k]
        top = max(logits)
        weights = [math.exp(logit - top) for logit in logits]
        total = sum(weights)
        out.append(
            [sum(w * value[d] for w, value in zip(weights, v)) / total for d in range(len(v[0]))])
    return out


def _single(rows):
    """Rounds to fp32."""
    return [list(struct.unpack(f"{len(row)}f", struct.pack(f"{len(row)}f", *row))) for row in rows]


def write_dump(path, seed=7, rows=6, keys=9, dim=8):
    """Writes one head of fp32 attention without a mask: q, k, v and the right out, as
    safetensors."""
    numbers = random.Random(seed)
    q, k, v = (_single([[numbers.gauss(0, 1) for _ in range(dim)] for _ in range(n)])
               for n in (rows, keys, keys))
    tensors = {"q": q, "k": k, "v": v, "out": _single(_attention(q, k, v, 1 / math.sqrt(dim)))}
    header, data = {"__metadata__": {"layout": "padded_bshd"}}, b""
    for name, values in tensors.items():
        packed = b"".join(struct.pack(f"<{len(row)}f", *row) for row in values)
        header[name] = {"dtype": "F32", "shape": [1, len(values), 1, dim],
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def file_of_page(name):
    page = (SOURCE / "docs" / "plug-in-your-kernel.md").read_text(encoding="utf-8")
    return re.search(rf"`{re.escape(name)}`:\n\n```\w*\n(.*?)^```$", page,
                     re.DOTALL | re.MULTILINE).group(1)


def write_library(path):
    """Compiles mine.cc of docs/plug-in-your-kernel.md."""
    source = path.with_suffix(".cc")
    source.write_text(file_of_page("mine.cc"), encoding="utf-8")
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-shared", "-fPIC",
                    f"-I{SOURCE / 'harness' / 'provider'}", str(source), "-o", str(path)],
                   check=True)


def make(names, directory, environment):
    """Makes each file that does not exist yet."""
    del environment
    for name in names:
        path = pathlib.Path(directory) / name
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".safetensors"):
            write_dump(path)
        elif name.endswith(".so"):
            write_library(path)
        elif name.endswith(".py"):
            path.write_text(file_of_page("mine.py"), encoding="utf-8")
        elif name.endswith(".toml"):
            path.write_text(file_of_page("mine.toml"), encoding="utf-8")
        else:
            raise ValueError(f"nobody knows how to make {name}")
