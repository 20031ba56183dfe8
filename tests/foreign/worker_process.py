"""Speaks docs/worker-protocol.md with plumbline_worker.py, so that tests see the replies."""
import json
import os
import subprocess
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
STAND_IN = os.path.join(HERE, "stand_in_torch")
# In the build tree, because the worker needs its library next to it.
FOLDER = os.environ.get("PLUMBLINE_PYTHON_FOLDER", "")
DTYPES = {"fp32": (1, 4), "fp16": (2, 2), "bf16": (3, 2)}
PAGE = 4096


class WorkerProcess:
    def __init__(self, provider, environment=None):
        requests, replies = os.pipe(), os.pipe()
        self.arena = os.memfd_create("arena")
        child = {3: requests[0], 4: replies[1], 5: self.arena}

        def at_its_numbers():  # dup2 in two steps, since 3 to 5 may be in use
            lifted = {number: os.dup2(os.dup(descriptor), 100 + number)
                      for number, descriptor in child.items()}
            for number, descriptor in lifted.items():
                os.dup2(descriptor, number)
        self.process = subprocess.Popen([sys.executable,
                                         os.path.join(FOLDER, "plumbline_worker.py")],
                                        close_fds=False, preexec_fn=at_its_numbers,
                                        env={**os.environ, **(environment or {})})
        self._requests, self._replies = os.fdopen(requests[1], "wb", 0), os.fdopen(replies[0], "rb")
        os.close(requests[0]), os.close(replies[1])
        self._id = 0
        self.hello = self._ask({"request": "hello", "protocol": 1, "abi": 1, "provider": provider,
                                "options": "", "memory_limit_bytes": 0, "timeout_s": 0})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._requests.write(b'{"request": "quit"}\n')
        self.process.wait(30)
        os.close(self.arena)

    def _ask(self, request):
        self._id += 1
        self._requests.write(json.dumps({**request, "id": self._id}).encode() + b"\n")
        return json.loads(self._replies.readline())

    def run(self, kernel, device="cuda:0", dtype="fp32", batch=2, seq=16, heads=2, head_dim=32,
            mask=0, lengths=None, repetitions=0):
        """Runs a padded case on small integers. Returns the reply and the output in float64."""
        number, size = DTYPES[dtype]
        lengths = lengths or [seq] * batch
        shape = [batch, seq, heads, head_dim]
        problem = {"batch": batch, "heads_q": heads, "heads_kv": heads, "seq_q": seq, "seq_kv": seq,
                   "head_dim_qk": head_dim, "head_dim_vo": head_dim, "total_q": sum(lengths),
                   "total_kv": sum(lengths), "page_size": 0, "page_count": 0, "window_left": -1,
                   "window_right": -1, "dtype_q": number, "dtype_kv": number, "dtype_out": number,
                   "layout": 0, "mask": mask, "padding": 0, "scale": 0.125, "softcap": 0,
                   "has_alibi": 0, "has_sink": 0, "scale_tokens": 0, "question": 0,
                   "merge_lse_base": 0}
        tensors, end = [], PAGE
        starts = [0, *numpy.cumsum(lengths).tolist()]
        index = {"cu_seqlens_q": starts, "cu_seqlens_kv": starts, "seqlens_q": lengths,
                 "seqlens_kv": lengths}
        for name in ("q", "k", "v", "out", "lse", *index):
            extent = {"lse": shape[:3]}.get(name, [len(index[name])] if name in index else shape)
            kind, width = (8, 4) if name in index else (1, 4) if name == "lse" else (number, size)
            stride = [int(numpy.prod(extent[i + 1:])) for i in range(len(extent))]
            length = int(numpy.prod(extent)) * width
            pages = -(-length // PAGE) * PAGE
            tensors.append({"name": name, "dtype": kind, "extent": extent, "stride": stride,
                            "offset": end, "bytes": length, "page_begin": end,
                            "page_end": end + pages,
                            "access": "write" if name in ("out", "lse") else "read"})
            end += pages + PAGE
        os.ftruncate(self.arena, end)
        places = {tensor["name"]: tensor for tensor in tensors}
        generator = numpy.random.default_rng(7)
        self.inputs = {}
        for name in "qkv":
            values = generator.integers(-3, 4, shape).astype(numpy.float32)
            self.inputs[name] = values.astype(numpy.float64)
            stored = values.view(numpy.uint32) >> 16 if dtype == "bf16" else values
            kind = {"bf16": numpy.uint16, "fp16": numpy.float16, "fp32": numpy.float32}[dtype]
            os.pwrite(self.arena, stored.astype(kind).tobytes(), places[name]["offset"])
        for name, values in index.items():
            os.pwrite(self.arena, numpy.array(values, numpy.int32).tobytes(),
                      places[name]["offset"])
        os.pwrite(self.arena, b"\xff" * places["out"]["bytes"], places["out"]["offset"])
        memory_space, ordinal = (1, 0) if device.startswith("cuda") else (0, 0)
        reply = self._ask({"request": "run", "kernel": kernel, "problem": problem,
                           "tensors": tensors, "arena_bytes": end,
                           "device": {"name": device, "memory_space": memory_space,
                                      "ordinal": ordinal, "arch": ""},
                           "timed_repetitions": repetitions, "timeout_s": 0, "workspace_byte": 255})
        raw = os.pread(self.arena, places["out"]["bytes"], places["out"]["offset"])
        if dtype == "bf16":
            out = (numpy.frombuffer(raw,
                                    numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
        else:
            out = numpy.frombuffer(raw, numpy.float16 if dtype == "fp16" else numpy.float32)
        return reply, out.reshape(shape).astype(numpy.float64)

    def expected(self, scale=0.125):
        q, k, v = (self.inputs[name].transpose(0, 2, 1, 3) for name in "qkv")
        s = q @ k.transpose(0, 1, 3, 2) * scale
        p = numpy.exp(s - s.max(-1, keepdims=True))
        return (p / p.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)
