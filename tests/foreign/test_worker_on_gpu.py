"""Tests the Python worker on the fake CUDA device of stand_in_torch: facts, streams, times."""
import os

import numpy
import pytest

pytest.importorskip("torch")

import worker_case  # noqa: E402, F401 - finds the worker's modules
from worker_process import FOLDER, HERE, STAND_IN, WorkerProcess  # noqa: E402

pytestmark = pytest.mark.skipif(not FOLDER,
                                reason="PLUMBLINE_PYTHON_FOLDER is not set: the worker of a build")
PROVIDER = os.path.join(HERE, "on_gpu.py")
GPU = {"PYTHONPATH": STAND_IN}


@pytest.fixture(scope="module")
def worker():
    with WorkerProcess(PROVIDER, GPU) as process:
        yield process


def test_hello_names_devices_and_what_each_kernel_takes(worker):
    assert worker.hello["error"] == ""
    assert worker.hello["devices"] == ["cuda:0"]
    takes = dict(zip(worker.hello["kernels"], worker.hello["kernel_devices"]))
    assert takes["plain"] == ["cpu", "cuda"]
    assert takes["on_the_cpu_alone"] == ["cpu"] and takes["on_the_default_stream"] == ["cuda"]


def test_without_a_gpu_hello_names_none():
    with WorkerProcess(PROVIDER) as process:
        assert process.hello["devices"] == []
        reply, _ = process.run("plain")
        assert reply["status"] == "unsupported" and "finds no CUDA device" in reply["reason"]
        reply, out = process.run("plain", device="cpu")
        assert (reply["status"] == "ok" and reply["device"] == {}
                and reply["description"]["device_arch"] == "")
        assert reply["description"]["tensor_cores"] == "none"
        numpy.testing.assert_allclose(out, process.expected(), atol=1e-5)


def test_a_run_tells_what_gpu_it_was_and_the_spec_follows_its_architecture(worker):
    reply, out = worker.run("plain", dtype="bf16")
    assert reply["status"] == "ok", reply["reason"]
    assert (reply["description"]["device_arch"] == "sm_90"
            and reply["description"]["tensor_cores"] == "on")
    assert (reply["description"]["spec"]["qk_accumulator"]
            == {"dtype": 1, "toward_zero": 1, "fraction_bits": 25, "products_per_step": 16})
    facts = reply["device"]
    assert (facts["model"], facts["memory_bytes"], facts["runtime"], facts["arch"]) == \
        ("Stand-in H100", 85520809984, "13.0", "sm_90")
    assert "driver" in facts
    assert numpy.isfinite(out).all()


def test_fp32_inputs_of_tensor_cores_are_tf32():
    with WorkerProcess(PROVIDER, {**GPU, "PLUMBLINE_STAND_IN_GPU": "OLD"}) as process:
        reply, _ = process.run("tensor_cores_of_fp32")
    spec = reply["description"]["spec"]
    assert (spec["qk_accumulator"]
            == {"dtype": 1, "toward_zero": 1, "fraction_bits": 24, "products_per_step": 4})
    assert spec["pv_accumulator"]["toward_zero"] == 0
    assert reply["description"]["device_arch"] == "sm_80"


def test_a_kernel_on_another_stream_reads_poison(worker):
    reply, out = worker.run("plain")
    numpy.testing.assert_allclose(out, worker.expected(), atol=1e-5)
    reply, out = worker.run("on_the_default_stream")
    assert reply["status"] == "ok" and numpy.isnan(out).all()


def test_writing_to_an_input_and_mixing_devices_are_found(worker):
    reply, _ = worker.run("writes_to_an_input")
    assert reply["workspace_fault"] == "input q was written to in device memory"
    reply, _ = worker.run("mixes_devices")
    assert reply["status"] == "error" and "at least two devices" in reply["reason"]
    assert reply["device"]["arch"] == "sm_90"  # known even if the case fails


def test_a_kernel_is_refused_on_a_device_it_does_not_take(worker):
    reply, _ = worker.run("on_the_cpu_alone")
    assert ((reply["status"], reply["reason"])
            == ("unsupported", "on_the_cpu_alone runs on cpu, not on cuda:0"))
    reply, _ = worker.run("on_the_default_stream", device="cpu")
    assert reply["reason"] == "on_the_default_stream runs on cuda, not on cpu"


def test_times_come_from_the_device_with_a_cold_and_a_hot_cache(worker):
    reply, _ = worker.run("plain", repetitions=3)
    assert reply["status"] == "ok", reply["reason"]
    assert len(reply["kernel_ns"]) == len(reply["hot_ns"]) == len(reply["sentinel_ns"]) == 3
    assert min(reply["kernel_ns"] + reply["hot_ns"] + reply["sentinel_ns"]) > 0
    reply, _ = worker.run("plain", device="cpu", repetitions=3)
    assert len(reply["kernel_ns"]) == 3 and "hot_ns" not in reply


def test_accumulators_of_architectures_are_those_of_the_harness():
    from _plumbline_worker import wire
    assert wire.TENSOR_CORES["sm_80"] == (24, 8, 4) and wire.TENSOR_CORES["sm_120"] == (25, 16, 8)
    assert "sm_75" not in wire.TENSOR_CORES
    assert (wire.tensor_core("", "bf16")["products_per_step"] == 8
            and wire.tensor_core("sm_75", "fp32")["fraction_bits"] == 24)
