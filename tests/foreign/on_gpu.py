"""A provider for GPU tests: correct kernels, and one that launches on another stream."""
import torch
from plumbline.kernels import Spec, kernel

PROVIDER = "on_gpu"
COMMON = {"framework": "torch", "dtypes": ("fp32", "bf16"), "layouts": ("padded_bshd",)}


def attention(case):
    q, k, v = (tensor.transpose(1, 2) for tensor in (case.q, case.k, case.v))
    return torch.softmax(q @ k.transpose(-1, -2) * case.scale, -1) @ v


@kernel(tensor_cores="on", **COMMON)
def plain(case):
    return lambda: attention(case).transpose(1, 2)


@kernel(spec=Spec(qk_accumulator="tensor_core", pv_accumulator="fma"), **COMMON)
def tensor_cores_of_fp32(case):
    return lambda: attention(case).transpose(1, 2)


@kernel(devices="cuda", **COMMON)
def on_the_default_stream(case):
    def run():
        with torch.cuda.stream(torch.cuda.default_stream()):
            return attention(case).transpose(1, 2)
    return run


@kernel(devices="cpu", **COMMON)
def on_the_cpu_alone(case):
    return lambda: attention(case).transpose(1, 2)


@kernel(devices="cuda", **COMMON)
def writes_to_an_input(case):
    def run():
        result = attention(case).transpose(1, 2)
        case.q.view(-1)[0] = 99.0
        return result
    return run


@kernel(devices="cuda", **COMMON)
def mixes_devices(case):
    return lambda: case.v * torch.ones(case.v.shape)
