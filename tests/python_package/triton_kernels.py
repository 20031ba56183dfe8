"""Kernels for the tests of plumbline.triton, as a Triton user would write them."""
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def add_without_mask(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i)  # out of bounds
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b, mask=i < n)


@triton.jit
def behind(x, out, distance, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + distance + i))  # behind x (prose: ok, used by a test)


@triton.jit
def scalars(out, a, b, c, d, pair, nothing):
    value = a * 0.5 + b + c
    if d:
        value += 1
    if nothing is None:
        value += 8
    tl.store(out, value)
    tl.store(out + 1, pair[0] * 1.0 + pair[1])


@triton.jit
def histogram(x, counts, sums, largest, first, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(counts + value, 1, mask=i < n)
    tl.atomic_add(sums + value, value.to(tl.float32), mask=i < n)
    tl.atomic_max(largest, tl.max(value, 0))
    tl.atomic_cas(first, -1, tl.program_id(0))


@triton.jit
def rows(x, ordered, sums, total, largest, where, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    value = tl.load(x + row * N + i)
    tl.store(ordered + row * N + i, tl.sort(value))
    tl.store(sums + row * N + i, tl.cumsum(value, 0))
    tl.store(total + row, tl.sum(value, 0))
    tl.store(largest + row, tl.max(value, 0))
    tl.store(where + row, tl.argmax(value, 0))


@triton.jit
def through_a_table(addresses, out, N: tl.constexpr):
    source = tl.load(addresses).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, N)
    tl.store(out + i, 2 * tl.load(source + i))


@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    sums = tl.zeros([M, N], tl.float32)
    for start in range(0, K, STEP):
        left = tl.load(a + m[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k[:, None]) * N + n[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@triton.jit
def by_descriptor(x, out, H, W, BLOCK: tl.constexpr):
    tile = tl.make_tensor_descriptor(x, [H, W], [W, 1], [BLOCK, BLOCK]).load([0, BLOCK])
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile)


@triton.jit
def from_descriptor(tile, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile.load([0, 0]))


@triton.jit
def flash_attention(q, k, v, out, lse, heads, seq, scale_log2, DIM: tl.constexpr,
                    ROWS: tl.constexpr, KEYS: tl.constexpr):
    """Causal attention of [batch, seq, heads, dim] tensors; lse [batch, seq, heads] to base e.
    Grid: tiles of ROWS queries, batch x heads."""
    tile, sample, head = tl.program_id(0), tl.program_id(1) // heads, tl.program_id(1) % heads
    step = heads * DIM
    start = sample * seq * step + head * DIM
    row, d = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, DIM)
    at_q = start + row[:, None] * step + d[None, :]
    queries = tl.load(q + at_q, mask=row[:, None] < seq, other=0.0)
    largest = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, DIM], tl.float32)
    for first in range(0, tl.minimum((tile + 1) * ROWS, seq), KEYS):
        key = first + tl.arange(0, KEYS)
        at_k = start + key[:, None] * step + d[None, :]
        keys = tl.load(k + at_k, mask=key[:, None] < seq, other=0.0)
        s = tl.dot(queries, tl.trans(keys)) * scale_log2
        s = tl.where((key[None, :] <= row[:, None]) & (key[None, :] < seq), s, -float("inf"))
        next_largest = tl.maximum(largest, tl.max(s, 1))
        p = tl.math.exp2(s - next_largest[:, None])
        shrink = tl.math.exp2(largest - next_largest)
        total = total * shrink + tl.sum(p, 1)
        values = tl.load(v + at_k, mask=key[:, None] < seq, other=0.0)
        sums = tl.dot(p.to(values.dtype), values, sums * shrink[:, None])
        largest = next_largest
    result = sums / total[:, None]
    tl.store(out + at_q, result.to(out.dtype.element_ty), mask=row[:, None] < seq)
    tl.store(lse + (sample * seq + row) * heads + head,
             (largest + tl.math.log2(total)) * 0.6931471805599453, mask=row < seq)


@triton.jit
def prints(x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.device_print("x", value)
    tl.store(x + tl.arange(0, N), value + 1)


@triton.jit
def asserts(x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.device_assert(value >= 0, "negative")
