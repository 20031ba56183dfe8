"""Arithmetic of the legal ways in NumPy: roundings, sums of products, exp2, tanh.

Arrays are fp32, unless a function says otherwise.
"""
import ml_dtypes
import numpy as np

F32 = np.float32
LOG2E = F32(1.4426950408889634)
LN2 = F32(0.6931471805599453)
TYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16,
         "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
# Fraction bits, smallest exponent of a normal number.
FORMATS = {"fp16": (10, -14), "bf16": (7, -126), "e4m3": (3, -6), "e5m2": (2, -14)}
CHUNK = 1 << 21  # elements of a temporary array, which then fits a cache


# ---- Roundings: all take and return fp32 ----

def to(x, dtype):
    """Rounds to nearest, ties to even."""
    if dtype in (None, "fp32"):
        return x
    if dtype == "tf32":
        bits = np.ascontiguousarray(x).view(np.uint32)
        return ((bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1)))
                & np.uint32(0xFFFFE000)).view(F32)
    return x.astype(TYPES[dtype]).astype(F32)


def cut(x):
    """Truncates to tf32, as tensor cores do with the bits of fp32."""
    return (np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)


class Draws:
    """Random numbers from a counter (splitmix64): a new object draws the same ones again."""

    def __init__(self):
        self._drawn = 0

    def uniform(self, shape):
        """Returns the next numbers in [0, 1), fp64."""
        count = int(np.prod(shape))
        x = np.arange(self._drawn, self._drawn + count, dtype=np.uint64) + np.uint64(1)
        self._drawn += count
        x *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        x ^= x >> np.uint64(31)
        return ((x >> np.uint64(11)).astype(np.float64) * 2.0 ** -53).reshape(shape)


def at_random(x, dtype, draws):
    """Rounds up or down, up with the probability that makes the mean exact."""
    if dtype in (None, "fp32"):
        return x
    bits, smallest = FORMATS[dtype]
    size = np.abs(x).astype(np.float64)
    unit = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - 1, smallest) - bits)
    return (np.sign(x) * np.floor(size / unit + draws.uniform(x.shape)) * unit).astype(F32)


# ---- Products ----
# a [R, D] times b [N, D], both fp32, to [R, N]. `start` is an accumulator to begin with.

def blas(a, b, start=None):
    product = a @ b.T
    return product if start is None else start + product


def in_fp64(a, b, start=None):
    product = a.astype(np.float64) @ b.T.astype(np.float64)
    return (product if start is None else start + product).astype(F32)


def in_order(a, b, start=None):
    """One multiply-add after another, each rounded once."""
    sums = np.zeros((len(a), len(b)), F32) if start is None else start.copy()
    for d in range(a.shape[1]):
        sums = (sums + a[:, d, None].astype(np.float64) * b[None, :, d]).astype(F32)
    return sums


def multiply_then_add(a, b, start=None):
    sums = np.zeros((len(a), len(b)), F32) if start is None else start.copy()
    for d in range(a.shape[1]):
        sums = sums + a[:, d, None] * b[None, :, d]
    return sums


def in_chunks(multiply, terms=None):
    """Multiplies a few rows at a time. `terms`: temporary elements per product, D if None."""
    def of_all(a, b, start=None):
        per_row = max(1, len(b)) * (max(1, a.shape[1]) if terms is None else terms)
        size = max(1, CHUNK // per_row)
        return np.concatenate([
            multiply(a[i:i + size], b, None if start is None else start[i:i + size])
            for i in range(0, max(1, len(a)), size)])
    return of_all


def add_in_pairs(a, b, start=None):
    products = a[:, None, :] * b[None, :, :]
    while products.shape[-1] > 1:
        if products.shape[-1] % 2:
            products = np.concatenate([products, np.zeros_like(products[..., :1])], -1)
        products = products[..., ::2] + products[..., 1::2]
    sums = products[..., 0] if products.shape[-1] else np.zeros((len(a), len(b)), F32)
    return sums if start is None else start + sums


in_pairs = in_chunks(add_in_pairs)


def tensor_core(bits, step):
    """Steps of `step` products, truncated to `bits` fraction bits of the largest, then to fp32."""
    def multiply(a, b, start=None):
        sums = np.zeros((len(a), len(b))) if start is None else start.astype(np.float64)
        for d in range(0, a.shape[1], step):
            terms = np.concatenate([sums[..., None], a[:, None, d:d + step].astype(np.float64)
                                    * b[None, :, d:d + step]], -1)
            top = np.frexp(np.abs(terms).max(-1, keepdims=True))[1] - 1
            unit = np.ldexp(1.0, top - bits)
            total = (np.trunc(terms / unit) * unit).sum(-1)
            kept = min(bits, 23)
            mantissa, exponent = np.frexp(total)
            sums = np.ldexp(np.trunc(np.ldexp(mantissa, kept + 1)), exponent - kept - 1)
        return sums.astype(F32)
    return in_chunks(multiply, step + 1)


def in_fp16(step):
    """An fp16 accumulator, rounded after every `step` products, whose own sum is exact."""
    def multiply(a, b, start=None):
        sums = np.zeros((len(a), len(b)), F32) if start is None else to(start, "fp16")
        for d in range(0, a.shape[1], step):
            product = a[:, d:d + step].astype(np.float64) @ b[:, d:d + step].T.astype(np.float64)
            sums = (sums + product).astype(np.float16).astype(F32)
        return sums
    return multiply


def in_parts(parts, products):
    """Splits fp32 operands into sums of 16-bit or tf32 numbers, and adds the larger products."""
    def split(x):
        pieces = []
        for dtype in parts:
            piece = to(x, dtype)
            pieces.append(piece)
            x = x - piece
        return pieces

    def multiply(a, b, start=None):
        left, right = split(a), split(b)
        sums = np.zeros((len(a), len(b)), F32) if start is None else start
        for i, j in products:
            sums = sums + left[i] @ right[j].T
        return sums
    return multiply


def in_tf32(a, b, start=None):
    return blas(to(a, "tf32"), to(b, "tf32"), start)


def in_cut_tf32(a, b, start=None):
    return blas(cut(a), cut(b), start)


# ---- exp2, tanh ----

def exp2_horner(coefficients):
    """2^x from a polynomial of frac(x) in [0, 1), in fp32 with multiply-adds."""
    def power(x):
        x = np.maximum(x, F32(-127))
        whole = np.floor(x)
        f = x - whole
        y = np.full_like(f, coefficients[-1])
        for c in coefficients[-2::-1]:
            y = (y.astype(np.float64) * f + F32(c)).astype(F32)
        return np.where(x <= -127, F32(0), np.ldexp(y, whole.astype(np.int32)))
    return power


# FlashAttention-4's polynomial of degree 3: relative error at most 8.8e-5.
POLY_3 = exp2_horner(tuple(map(F32, (1.0, 0.695146143436431884765625, 0.227564394474029541015625,
                                     0.077119089663028717041015625))))
# Interpolates at Chebyshev nodes: degree 6, relative error at most 2e-7.
POLY_6 = exp2_horner(tuple(map(F32, np.polynomial.chebyshev.Chebyshev.interpolate(
    lambda x: np.exp2(x), 6, domain=(0, 1)).convert(kind=np.polynomial.Polynomial).coef)))


def exp2_hardware(x):
    """ex2.approx: within 2 ulp, subnormal results are 0."""
    y = np.exp2(x.astype(F32))
    return np.where(y < F32(2.0 ** -126), F32(0), y)


def tanh_by_exp(x):
    """1 - 2 / (exp(2 x) + 1)."""
    with np.errstate(over="ignore"):
        return (F32(1) - F32(2) / (np.exp(F32(2) * np.abs(x)) + F32(1))) * np.sign(x)


def tanh_by_expm1(x):
    """t / (t + 2) with t = exp(2 x) - 1: within 2 ulp, also near 0. tanh(20) is 1 in fp32."""
    t = np.expm1(F32(2) * np.minimum(np.abs(x), F32(20)))
    return t / (t + F32(2)) * np.sign(x)


def tanh_approx(x):
    """A relative error of up to 2^-11 that depends on x, as tanh.approx.f32 has."""
    return (np.tanh(x.astype(np.float64)) * (1 + 2.0 ** -11 * np.sin(4096 * x))).astype(F32)
