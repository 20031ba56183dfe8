"""Writes dumps as users would with NumPy or PyTorch: python write_dumps.py numpy|torch DIRECTORY.

Exits with code 77 if the framework is not installed.
"""
import math
import pathlib
import sys

try:
    import numpy as np
    if sys.argv[1] == "torch":
        import torch
        from safetensors.torch import save_file
    else:
        from safetensors.numpy import save_file
except ImportError as missing:
    print(missing)
    sys.exit(77)

FOLDER = pathlib.Path(sys.argv[2])


def numpy_flash(q, k, v, causal=False, scale_factor=1.0, dtype=np.float16):
    """Returns output and LSE [s, h] of one sample, q [s, h, d]. P (before P V) and the output are
    in `dtype`, everything else in fp64."""
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x.astype(np.float64), group, axis=1) for x in (k, v))
    s = np.einsum("qhd,khd->hqk", q.astype(np.float64), k) * scale_factor / math.sqrt(q.shape[2])
    if causal:  # bottom-right
        rows, keys = np.arange(q.shape[0])[:, None], np.arange(k.shape[0])[None]
        s = np.where(keys <= rows + k.shape[0] - q.shape[0], s, -np.inf)
    m = s.max(-1, keepdims=True)
    p = np.exp(s - m)
    total = p.sum(-1, keepdims=True)
    out = np.einsum("hqk,khd->hqd", p.astype(dtype).astype(np.float64), v) / total
    return out.astype(dtype).transpose(1, 0, 2), (m + np.log(total))[..., 0].T.astype(np.float32)


def write_numpy():
    rng = np.random.default_rng(1)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float16)

    def write(name, tensors, **metadata):
        save_file({n: np.ascontiguousarray(t) for n, t in tensors.items()},
                  FOLDER / f"{name}.safetensors", metadata=metadata)

    q, k, v = normal(2, 16, 4, 64), normal(2, 48, 2, 64), normal(2, 48, 2, 64)
    out, lse = (np.stack(x)
                for x in zip(*(numpy_flash(*sample, causal=True) for sample in zip(q, k, v))))
    write("padded", {"q": q, "k": k, "v": v, "out": out, "lse": lse}, layout="padded_bshd",
          mask="causal_bottom_right")
    wrong = np.stack(
        [numpy_flash(*sample, causal=True, scale_factor=1.01)[0] for sample in zip(q, k, v)])
    write("padded_wrong_scale", {"q": q, "k": k, "v": v, "out": wrong}, layout="padded_bshd",
          mask="causal_bottom_right")

    lengths_q, lengths_kv = [5, 1, 9], [20, 33, 9]
    cu_q, cu_kv = (np.concatenate([[0], np.cumsum(x)]) for x in (lengths_q, lengths_kv))
    q, k, v = normal(15, 4, 32), normal(62, 4, 32), normal(62, 4, 32)
    samples = [(q[cu_q[i]:cu_q[i + 1]], k[cu_kv[i]:cu_kv[i + 1]], v[cu_kv[i]:cu_kv[i + 1]])
               for i in range(3)]
    out, lse = (np.concatenate(x)
                for x in zip(*(numpy_flash(*sample, causal=True) for sample in samples)))
    # cu_seqlens are I64, as NumPy makes them
    write("ragged",
          {"q": q, "k": k, "v": v, "out": out, "lse": lse, "cu_seqlens_q": cu_q,
           "cu_seqlens_kv": cu_kv}, mask="causal_bottom_right")

    page, pages = 8, rng.permutation(16)[:12].reshape(3, 4)
    cache_k, cache_v, q = normal(16, page, 2, 32), normal(16, page, 2, 32), normal(3, 4, 32)
    lengths = np.array([32, 17, 8])
    gathered = [[cache[pages[i]].reshape(-1, 2, 32)[:n] for cache in (cache_k, cache_v)]
                for i, n in enumerate(lengths)]
    out = np.concatenate([numpy_flash(q[i:i + 1], *gathered[i])[0] for i in range(3)])
    write("paged",
          {"q": q, "k": cache_k, "v": cache_v, "out": out, "page_table": pages,
           "seqlens_kv": lengths}, layout="paged_nhd")


def torch_eager(q, k, v):
    """Like Transformers' eager attention: S and P in the dtype of q, [b, h, s, d]."""
    s = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    return torch.softmax(s, -1, dtype=torch.float32).to(q.dtype) @ v


def write_torch():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as sdpa
    torch.set_num_threads(2)
    torch.manual_seed(2)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.bfloat16)

    def write(name, tensors, **metadata):
        save_file({n: t.contiguous() for n, t in tensors.items()}, FOLDER / f"{name}.safetensors",
                  metadata=metadata)

    def run(backend, *tensors, **options):
        with sdpa_kernel(backend):
            return sdpa(*tensors, **options)

    q, k, v = normal(2, 4, 64, 64), normal(2, 4, 64, 64), normal(2, 4, 64, 64)
    inputs = {"q": q, "k": k, "v": v}
    flash = run(SDPBackend.FLASH_ATTENTION, q, k, v, is_causal=True)
    write("padded", inputs | {"out": flash}, layout="padded_bhsd", causal="true")
    write("padded_not_causal", inputs | {"out": flash}, layout="padded_bhsd")
    write("padded_math", inputs | {"out": run(SDPBackend.MATH, q, k, v, is_causal=True)},
          layout="padded_bhsd", causal="true")
    wide = {n: t.float() for n, t in (inputs | {"out": flash}).items()}
    write("padded_as_fp32", wide, layout="padded_bhsd", causal="true", dtype="bf16")
    sharp = 4 * q
    write("padded_eager", {"q": sharp, "k": k, "v": v, "out": torch_eager(sharp, k, v)},
          layout="padded_bhsd")
    write("padded_eager_as_math", {"q": sharp, "k": k, "v": v, "out": torch_eager(sharp, k, v)},
          layout="padded_bhsd", spec="PyTorch math")
    write("padded_eager_stated", {"q": sharp, "k": k, "v": v, "out": torch_eager(sharp, k, v)},
          layout="padded_bhsd", spec="FlashAttention-2")

    valid = torch.arange(64)[None] < torch.tensor([64, 40])[:, None]
    masked = run(SDPBackend.FLASH_ATTENTION, q, k, v, attn_mask=valid[:, None, None])
    write("padded_mask", inputs | {"out": masked, "mask": valid}, layout="padded_bhsd",
          padded_rows="attended")

    lengths = [7, 30, 1]
    cu = torch.tensor([0, 7, 37, 38])
    q, k, v = normal(38, 4, 64), normal(38, 2, 64), normal(38, 2, 64)
    parts = [[x[cu[i]:cu[i + 1]].transpose(0, 1)[None] for x in (q, k, v)]
             for i in range(len(lengths))]
    outs = [run(SDPBackend.FLASH_ATTENTION, a, b.repeat_interleave(2, 1), c.repeat_interleave(2, 1),
                is_causal=True) for a, b, c in parts]
    write("ragged",
          {"q": q, "k": k, "v": v, "out": torch.cat([o[0].transpose(0, 1) for o in outs]),
           "cu_seqlens": cu}, causal="true")

    pages = torch.randperm(10)[:6].reshape(2, 3)
    cache_k, cache_v, q, lengths = normal(10, 2, 16,
                                          64), normal(10, 2, 16,
                                                      64), normal(2, 1, 4, 64), torch.tensor(
                                                          [48, 19])
    outs = []
    for i, n in enumerate(lengths):
        kk, vv = (c[pages[i]].transpose(0, 1).reshape(2, -1,
                                                      64)[:, :n].repeat_interleave(2, 0)[None]
                  for c in (cache_k, cache_v))
        outs.append(run(SDPBackend.FLASH_ATTENTION, q[i].transpose(0, 1)[None], kk,
                        vv).transpose(1, 2))
    write("paged",
          {"q": q, "k": cache_k, "v": cache_v, "out": torch.cat(outs), "block_table": pages,
           "cache_seqlens": lengths}, layout="paged_hnd")


if __name__ == "__main__":
    write_torch() if sys.argv[1] == "torch" else write_numpy()
