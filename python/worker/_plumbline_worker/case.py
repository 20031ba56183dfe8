"""The argument of a kernel's function: one problem, its tensors and index arrays."""
from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy

from .wire import merge_lse_base, problem_words

INTEGER_FIELDS = ("batch", "heads_q", "heads_kv", "seq_q", "seq_kv", "head_dim_qk", "head_dim_vo",
                  "total_q", "total_kv", "page_size", "page_count", "window_left", "window_right",
                  "scale_tokens")


class Case:
    """One problem as a kernel's function sees it.

    Fields are those of plumbline_problem (plumbline_provider.h has the shapes); dtypes and other
    enums are words.

    q, k, v      arrays of the kernel's framework, logical dimensions whatever the storage:
                 padded [batch, seq, heads, dim], ragged [tokens, heads, dim], paged k and v
                 [page, token, heads_kv, dim]. Do not write to them.
    seqlens_q, seqlens_kv [batch], cu_seqlens_q, cu_seqlens_kv [batch + 1], page_table
                 [batch, pages of the longest sample] or None: int32 NumPy arrays on the host
    dtype, dtype_kv, dtype_out, layout, mask, padding
                 words: "bf16", "padded_bshd", "causal_top_left", "right"
    scale        multiplies q.k, already resolved; softcap: 0 = off
    window_left, window_right
                 -1 = all
    alibi_slopes, sinks
                 float32 NumPy arrays [heads_q], or None: -slope |row + keys - rows - key| is added
                 to the logit after scale and softcap; a sink is one more logit of the head, in
                 natural units, without a value
    q_scale, k_scale, v_scale
                 float32 NumPy arrays [batch, heads_q] for fp8 Q and [batch, heads_kv] for fp8 K
                 and V, otherwise None: value = scale * stored. If scale_tokens is not 0, [batch,
                 heads, blocks]: token t of a sample has the scale of block t // scale_tokens.
                 case.scales() returns them by token
    out_scale    float32 NumPy array [1] if dtype_out is fp8, otherwise None: the kernel stores
                 O / out_scale, saturated
    mask_bits    uint32 NumPy array [batch, seq_q, words] if mask is "custom", otherwise None: bit
                 j % 32 of word j // 32 is set if row i sees key j; i and j count the valid rows and
                 keys of a sample
    partial_out, partial_lse
                 for a merge, otherwise an error: O of the parts, [tokens, parts, heads, dim]
                 (ragged [parts of all tokens, heads, dim]), and their LSE without the last
                 dimension, fp32; -infinity for a part without keys, whose O may contain anything
    merge_lse_base
                 base of a merge's input and output LSEs, "e" or "2"; otherwise ""
    lse_wanted   True: return (out, lse)
    device       "cpu", "cuda:0"
    options      the text after --provider FILE.py:
    threads_reversed
                 for kernels on an emulator, may change from call to call: True runs the threads of
                 a block from the last to the first
    launched     set it to what really ran: backend, tile sizes, splits
    """

    batch: int
    heads_q: int
    heads_kv: int
    seq_q: int
    seq_kv: int
    head_dim_qk: int
    head_dim_vo: int
    total_q: int
    total_kv: int
    page_size: int
    page_count: int
    window_left: int
    window_right: int
    scale_tokens: int
    dtype: str
    dtype_kv: str
    dtype_out: str
    layout: str
    mask: str
    padding: str

    def __init__(self, problem: Mapping[str, Any], device: str, options: str, lse_wanted: bool,
                 launched: str) -> None:
        for name in INTEGER_FIELDS:
            setattr(self, name, int(problem[name]))
        for name, value in problem_words(problem).items():
            setattr(self, name, value)
        self.scale = float(problem["scale"])
        self.softcap = float(problem["softcap"])
        self.merge_lse_base = merge_lse_base(problem)
        self.lse_wanted = lse_wanted
        self.device = device
        self.options = options
        self.launched = launched
        self.threads_reversed = False
        self.q: Any = None
        self.k: Any = None
        self.v: Any = None
        self.seqlens_q = self.seqlens_kv = self.cu_seqlens_q = self.cu_seqlens_kv = numpy.zeros(
            0, numpy.int32)
        self.page_table: Optional[numpy.ndarray] = None
        self.alibi_slopes: Optional[numpy.ndarray] = None
        self.sinks: Optional[numpy.ndarray] = None
        self.q_scale: Optional[numpy.ndarray] = None
        self.k_scale: Optional[numpy.ndarray] = None
        self.v_scale: Optional[numpy.ndarray] = None
        self.out_scale: Optional[numpy.ndarray] = None
        self.mask_bits: Optional[numpy.ndarray] = None
        self._poisoned: Callable[[Tuple[int, ...], str], Any]
        self._shapes: Dict[str, Tuple[int, ...]]
        self._outputs: List[Any] = []  # weak references

    @property
    def is_padded(self) -> bool:
        return self.layout.startswith("padded")

    @property
    def is_paged(self) -> bool:
        return self.layout.startswith("paged")

    @property
    def partial_out(self) -> Any:
        self._need_merge("partial_out")
        return self.v

    @property
    def partial_lse(self) -> Any:
        self._need_merge("partial_lse")
        return self.k[..., 0]

    def _need_merge(self, what: str) -> None:
        if not self.merge_lse_base:
            raise ValueError(f"only a merge has {what}: declare the kernel with question=\"merge\"")

    def new_out(self) -> Any:
        """Returns an output array of the right shape, dtype and device, filled with NaN (bytes
        0xFF), for kernels that write into one. Elements that are never written stay NaN and are
        reported. Before each further call of the function, the array is filled again."""
        return self._new(self._shapes["out"], self.dtype_out)

    def new_lse(self) -> Any:
        """Returns the same for the LSE: fp32, [batch, seq_q, heads_q] or [total_q, heads_q]."""
        return self._new(self._shapes["out"][:-1], "fp32")

    def _new(self, shape: Tuple[int, ...], dtype: str) -> Any:
        array = self._poisoned(shape, dtype)
        if len(self._outputs) >= 64:
            self._outputs = [output for output in self._outputs if output() is not None]
        self._outputs.append(weakref.ref(array))
        return array

    def _poison_again(self, poison: Callable[[Any], None]) -> None:
        """Poisons the outputs that the kernel still holds, before its next call."""
        for output in self._outputs:
            array = output()
            if array is not None:
                poison(array)

    def _first_row(self, extent: int, length: int) -> int:
        return extent - length if self.padding == "left" else 0

    def query_rows(self, sample: int) -> Any:
        """Returns the index of a sample's valid rows in q, out and lse: out[case.query_rows(b)] is
        [rows, heads, dim]."""
        length = int(self.seqlens_q[sample])
        if not self.is_padded:
            return slice(int(self.cu_seqlens_q[sample]), int(self.cu_seqlens_q[sample]) + length)
        first = self._first_row(self.seq_q, length)
        return (sample, slice(first, first + length))

    def key_rows(self, sample: int) -> Any:
        """Returns the index of a sample's valid keys in k and v, for padded and ragged layouts."""
        if self.is_paged:
            raise ValueError("the keys of a sample lie in pages; use case.sample()")
        length = int(self.seqlens_kv[sample])
        if not self.is_padded:
            return slice(int(self.cu_seqlens_kv[sample]), int(self.cu_seqlens_kv[sample]) + length)
        first = self._first_row(self.seq_kv, length)
        return (sample, slice(first, first + length))

    def sample(self, sample: int) -> Tuple[Any, Any, Any]:
        """Returns a sample's valid rows in every layout: q [rows, heads_q, dim], k and v [keys,
        heads_kv, dim]. Pages are gathered into a copy."""
        q = self.q[self.query_rows(sample)]
        if not self.is_paged:
            return q, self.k[self.key_rows(sample)], self.v[self.key_rows(sample)]
        length = int(self.seqlens_kv[sample])
        pages = self.page_table[sample, :-(-length // self.page_size)].astype(numpy.int64)
        k, v = (pool[pages].reshape((-1, self.heads_kv, pool.shape[3]))[:length]
                for pool in (self.k, self.v))
        return q, k, v

    def scales(self, sample: int) -> Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """Returns the scales of a sample's valid rows of q [rows, heads_q], k and v [keys,
        heads_kv]; 1 if they are not fp8."""
        def of_tokens(scale: Optional[numpy.ndarray], tokens: int, heads: int) -> numpy.ndarray:
            if scale is None:
                return numpy.ones((tokens, heads), numpy.float32)
            if self.scale_tokens == 0:
                return numpy.broadcast_to(scale[sample], (tokens, heads))
            return scale[sample].repeat(self.scale_tokens, axis=1)[:, :tokens].T
        rows, keys = int(self.seqlens_q[sample]), int(self.seqlens_kv[sample])
        return (of_tokens(self.q_scale, rows, self.heads_q),
                of_tokens(self.k_scale, keys, self.heads_kv),
                of_tokens(self.v_scale, keys, self.heads_kv))

    def visible_of(self, sample: int) -> numpy.ndarray:
        """Returns bool [rows, keys] of a sample's valid rows: the keys that a row sees, by mask and
        window, in every layout."""
        rows, keys = int(self.seqlens_q[sample]), int(self.seqlens_kv[sample])
        if self.mask_bits is not None:
            octets = numpy.ascontiguousarray(self.mask_bits[sample, :rows]).view(numpy.uint8)
            return numpy.unpackbits(octets, axis=-1, bitorder="little")[:, :keys].astype(bool)
        return self._visible(numpy.arange(rows)[:, None], numpy.arange(keys)[None, :], rows, keys)

    def key_padding_mask(self) -> numpy.ndarray:
        """Returns bool [batch, seq_kv], True for valid keys, for padded layouts."""
        keys = self._key_offsets()
        return (keys >= 0) & (keys < self.seqlens_kv[:, None])

    def visible(self) -> numpy.ndarray:
        """Returns bool [batch, seq_q, seq_kv] from mask, window and padding, for padded layouts.
        Padded query rows follow the same rule: they may see valid keys, or none. With mask_bits
        they see none."""
        if self.mask_bits is not None:
            visible = numpy.zeros((self.batch, self.seq_q, self.seq_kv), bool)
            for sample in range(self.batch):
                visible[sample][self.query_rows(sample)[1],
                                self.key_rows(sample)[1]] = self.visible_of(sample)
            return visible
        keys = self._key_offsets()[:, None, :]
        first_q = (self.seq_q - self.seqlens_q if self.padding == "left"
                   else numpy.zeros_like(self.seqlens_q))
        rows = numpy.arange(self.seq_q)[None, :, None] - first_q[:, None, None]
        return self._visible(rows, keys, self.seqlens_q[:, None, None],
                             self.seqlens_kv[:, None, None])

    def _key_offsets(self) -> numpy.ndarray:
        if not self.is_padded:
            raise ValueError(f"layout {self.layout} has no padding; use case.visible_of()")
        first = (self.seq_kv - self.seqlens_kv if self.padding == "left"
                 else numpy.zeros_like(self.seqlens_kv))
        return numpy.arange(self.seq_kv)[None, :] - first[:, None]

    def _visible(self, row: numpy.ndarray, key: numpy.ndarray, rows: Any,
                 keys: Any) -> numpy.ndarray:
        """Applies the rule of Geometry::visible_keys (harness/problem/geometry.cc). `row` and `key`
        count from the sample's first valid ones."""
        diagonal = row if self.mask == "causal_top_left" else row + keys - rows
        right = self.window_right if self.mask == "none" else 0
        visible = (key >= 0) & (key < keys) & numpy.ones_like(row, bool)
        if self.window_left >= 0:
            visible = visible & (key >= diagonal - self.window_left)
        if right >= 0:
            visible = visible & (key <= diagonal + right)
        return visible
