"""Legal ways to compute attention in NumPy: a provider for tests, written without harness code.

Each kernel `legal_ways/NAME` is a correct kernel that tiles, sums or rounds in another way than the
others, and declares the spec of what it does. No suite may flag one. This file writes the contracts
that allow what they declare, the support table, and the catalogue for `plumbline audit`:

    PYTHONPATH=python python3 tests/legal/legal_ways.py out/legal
    plumbline run tests/legal/sweep.toml --provider tests/legal/legal_ways.py --baselines out/legal

legal_attention.py has the steps of attention, legal_arithmetic.py roundings and sums.
"""
import legal_arithmetic as arithmetic
from legal_arithmetic import F32
from legal_attention import FP8, SLOW_KEYS, SLOW_QUERIES, Way, attend

from plumbline import kernels
from plumbline.kernels import Spec, kernel

ALL = ("fp32", "fp16", "bf16")
SIXTEEN = ("fp16", "bf16")
OUTPUTS = (*ALL, *FP8)
CONTRACTS = {}  # by kernel: (dtypes of Q or None for all, spec)
WAYS = {}


def legal(name, way, spec=None, dtypes=ALL, kv_dtypes=None, out_dtypes=ALL, token_scales=False):
    """Declares a kernel. kv_dtypes None: K and V have the dtype of Q."""
    CONTRACTS[name], WAYS[name] = (None, spec or {}), way
    return declare(name, lambda case: attend(case, way), Spec(**(spec or {})), dtypes, kv_dtypes,
                   out_dtypes, token_scales)


def legal_in_one(name, dtype, way, spec):
    """Declares a kernel that needs a contract for one dtype, and is strict in the others."""
    CONTRACTS[name], WAYS[name] = ((dtype,), spec), way
    return declare(name, lambda case: attend(case, way if case.dtype == dtype else Way()),
                   lambda case: Spec(**(spec if case.dtype == dtype else {})), ALL, None, ALL,
                   False)


def declare(name, function, spec, dtypes, kv_dtypes, out_dtypes, token_scales):
    return kernel(name=name, dtypes=dtypes, kv_dtypes=kv_dtypes, out_dtypes=out_dtypes,
                  masks=("none", "causal_top_left", "causal_bottom_right", "custom"),
                  layouts=("padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd"),
                  lse=True, window=True, softcap=True, alibi=True, sinks=True,
                  token_scales=token_scales, padding_policy="untouched", spec=spec)(function)


# ---- Tiles, orders, splits: nothing but the strict spec ----
for tile in (16, 32, 48, 80, 128, 192):
    legal(f"tile_{tile}", Way(tile=tile))
legal("reversed", Way(reverse=True))
legal("reversed_32", Way(reverse=True, tile=32))
for count in (2, 3, 5, 6, 7):
    legal(f"splits_{count}", Way(splits=count))
legal("stream_k", Way(splits=(0.21, 0.5, 0.83)))
legal("stream_k_two", Way(splits=(0.37,), tile=32))
legal("merge_in_pairs", Way(splits=5, merge="pairs"))
for count in (2, 4, 7):
    legal(f"ring_{count}", Way(splits=count, merge="ring"), {"ring_update": True})
# A ring has to state ring_update. In 16 bits the rounding of P hides what the update adds.
legal("ring_3_unstated", Way(splits=3, merge="ring"), dtypes=SIXTEEN)
# Ring attention of FlashAttention-2's outputs.
legal("ring_of_16_bits", Way(splits=3, merge="ring", split_dtype="input"),
      {"ring_update": True, "split_partial_dtype": "input"}, dtypes=SIXTEEN)

# ---- The choice of m ----
legal("lazy_maximum", Way(top="lazy"))
legal("maximum_first", Way(top="one"))
# A row far below the largest one of its block loses P in fp16.
legal("maximum_shared", Way(top="shared"), {"p_max": "free"}, dtypes=("fp32", "bf16"))
legal("maximum_bf16", Way(top="bf16"), {"p_max": "bf16"})
legal("maximum_power_of_two", Way(top="ceil2"), {"p_max": "ceil2"})
legal("sink_first", Way(sink_first=True))
# fp32 logits near the threshold may be on either side of it, so the threshold here is a bit lower.
BELOW = 1e-3 * (1 - 2.0 ** -10)
legal("tiles_skipped", Way(skip_below=BELOW, tile=16), {"skipped_below": 1e-3})
legal("tiles_skipped_by_blocks", Way(skip_below=BELOW, skips_blocks=True), {"skipped_below": 1e-3})

# ---- Exponentials ----
legal("exp_natural", Way(natural=True))
legal("exp2_by_fma", Way(scale_at="exponent"))
legal("exp2_degree_6", Way(exp2=arithmetic.POLY_6))
legal("exp2_degree_3", Way(exp2=arithmetic.POLY_3), {"exp2_rel_error": 1e-4})
legal("exp2_degree_3_by_fma", Way(exp2=arithmetic.POLY_3, scale_at="exponent"),
      {"exp2_rel_error": 1e-4})

# ---- Softmax scale ----
legal("scale_on_q", Way(scale_at="q"))
legal("scale_on_q_log2e", Way(scale_at="q_log2e"))
legal("scale_root", Way(scale_at="root"))
legal("q_rounded", Way(scale_at="q", q_dtype="input"),
      {"q_prescaled": "input", "q_prescaled_without_log2e": True}, dtypes=SIXTEEN)
legal("q_log2e_rounded", Way(scale_at="q_log2e", q_dtype="input"), {"q_prescaled": "input"},
      dtypes=SIXTEEN)

# ---- S in 16 bits ----
legal("s_rounded_after_bias", Way(s_round="after"), {"s_rounded": "input"}, dtypes=SIXTEEN)
legal("s_rounded_before_bias", Way(s_round="before"),
      {"s_rounded": "input", "s_rounded_before_bias": True}, dtypes=SIXTEEN)
legal("s_rounded_before_softcap", Way(s_round="scores"),
      {"s_rounded": "input", "s_rounded_before_softcap": True}, dtypes=SIXTEEN)
legal("s_rounded_twice", Way(s_round="twice"), {"s_rounded": "input", "s_rounded_twice": True},
      dtypes=SIXTEEN)
legal_in_one("s_rounded_in_bf16", "bf16", Way(s_round="after"), {"s_rounded": "input"})
legal_in_one("p_in_fp32_for_fp16", "fp16", Way(p_dtype="fp32"), {"p_dtype": "fp32"})

# ---- Softcap, ALiBi ----
# The error of 1 - 2 / (exp(2 x) + 1) is absolute, which no field of a spec states; 16-bit inputs
# hide it.
legal("tanh_by_exp", Way(tanh=arithmetic.tanh_by_exp), {"tanh_rel_error": 1e-6}, dtypes=SIXTEEN)
legal("tanh_by_expm1", Way(tanh=arithmetic.tanh_by_expm1))
legal("tanh_approx", Way(tanh=arithmetic.tanh_approx), {"tanh_rel_error": 2.0 ** -11})
legal("lse_without_row_bias", Way(lse_without_row=True), {"lse_without_row_bias": True})
# Logits with the bias slope j. The second way also has FlashAttention-2's exponent,
# s log2(e) - round(m log2(e)).
legal("alibi_by_column", Way(alibi="column", lse_without_row=True), {"lse_without_row_bias": True})
legal("alibi_by_column_fma", Way(alibi="column", lse_without_row=True, tile=128, reverse=True,
                                 scale_at="exponent"), {"lse_without_row_bias": True})

# ---- P ----
legal("p_fp32", Way(p_dtype="fp32"), {"p_dtype": "fp32"})
legal("p_normalized", Way(p_normalized=True), {"p_normalized": True})
legal("p_sum_rounded", Way(rounded_sum=True), {"denominator_from_rounded_p": True},
      dtypes=SIXTEEN)
for factor in (256, 448, 240):
    legal("p_e4m3" if factor == 256 else f"p_e4m3_times_{factor}",
          Way(p_dtype="e4m3", p_factor=factor), {"p_dtype": "e4m3", "p_prescale": factor})
legal("p_stochastic", Way(p_random=True), {"p_stochastic": True}, dtypes=SIXTEEN)
legal("p_e4m3_stochastic", Way(p_dtype="e4m3", p_random=True),
      {"p_dtype": "e4m3", "p_stochastic": True})

# ---- Sums of products ----
legal("products_in_fp64", Way(qk=arithmetic.in_fp64, pv=arithmetic.in_fp64))
legal("products_in_order", Way(qk=arithmetic.in_order, pv=arithmetic.in_order, pv_carries=True,
                               slow=True))
legal("multiply_then_add", Way(qk=arithmetic.multiply_then_add, pv=arithmetic.multiply_then_add,
                               pv_carries=True, slow=True))
legal("products_in_pairs", Way(qk=arithmetic.in_pairs, pv=arithmetic.in_pairs, slow=True))
sm_80, sm_90 = arithmetic.tensor_core(24, 8), arithmetic.tensor_core(25, 16)
legal("tensor_core_sm_80", Way(qk=sm_80, pv=sm_80, pv_carries=True, slow=True), dtypes=SIXTEEN)
legal("tensor_core_sm_90", Way(qk=sm_90, pv=sm_90, pv_carries=True, slow=True),
      {"qk_accumulator": "fp32/toward_zero/25/16", "pv_accumulator": "fp32/toward_zero/25/16"},
      dtypes=SIXTEEN)
bits_13 = arithmetic.tensor_core(13, 16)
legal("qk_13_bits", Way(qk=bits_13, slow=True), {"qk_accumulator": "fp32/toward_zero/13/16"})
legal("pv_13_bits", Way(pv=bits_13, pv_carries=True, slow=True),
      {"pv_accumulator": "fp32/toward_zero/13/16"})
fp16_16, fp16_1 = arithmetic.in_fp16(16), arithmetic.in_fp16(1)
legal("qk_fp16", Way(qk=fp16_16, slow=True, qk_overflows=True),
      {"qk_accumulator": "fp16/nearest/10/16"})
legal("pv_fp16_sink_first", Way(pv=fp16_16, pv_carries=True, slow=True, sink_first=True),
      {"pv_accumulator": "fp16/nearest/10/16"})
legal("pv_fp16", Way(pv=fp16_16, pv_carries=True, slow=True),
      {"pv_accumulator": "fp16/nearest/10/16"})
legal("pv_fp16_each", Way(pv=fp16_1, pv_carries=True, slow=True),
      {"pv_accumulator": "fp16/nearest/10/1"})

# ---- tf32 and sums of 16-bit parts, for fp32 inputs ----
legal("tf32_nearest", Way(qk=arithmetic.in_tf32, pv=arithmetic.in_tf32, p_dtype="tf32"),
      {"kv_dequantized_to": "tf32", "p_dtype": "tf32"}, dtypes=("fp32",))
legal("tf32_truncated", Way(qk=arithmetic.in_cut_tf32, pv=arithmetic.in_cut_tf32, p_dtype="fp32"),
      {"kv_dequantized_to": "tf32", "inputs_toward_zero": True, "p_dtype": "tf32",
       "p_toward_zero": True}, dtypes=("fp32",))
three_bf16 = arithmetic.in_parts(("bf16", "bf16", "bf16"), ((0, 0), (0, 1), (1, 0)))
legal("three_bf16", Way(qk=three_bf16, pv=three_bf16), {"product_rel_error": 2.0 ** -15},
      dtypes=("fp32",))
three_tf32 = arithmetic.in_parts(("tf32", "tf32"), ((0, 0), (0, 1), (1, 0)))
legal("three_tf32", Way(qk=three_tf32, pv=three_tf32), dtypes=("fp32",))

# ---- O between tiles and parts, and what is written ----
legal("o_in_16_bits", Way(o_dtype="input"), {"o_between_tiles": "input"}, dtypes=SIXTEEN)
legal("o_in_16_bits_tile_16", Way(o_dtype="input", tile=16), {"o_between_tiles": "input"},
      dtypes=SIXTEEN)
legal("partials_in_16_bits", Way(splits=3, split_dtype="input"), {"split_partial_dtype": "input"},
      dtypes=SIXTEEN)
legal("reciprocal", Way(reciprocal=lambda den: F32(1) / den))
legal("reciprocal_approx", Way(reciprocal=lambda den: (F32(1) / den) * F32(1 + 2.0 ** -13)),
      {"reciprocal_rel_error": 2.0 ** -12})
legal("out_truncated", Way(out_cut=True), {"out_toward_zero": True}, dtypes=("bf16",))
legal("out_stochastic", Way(out_random=True), {"out_stochastic": True}, dtypes=SIXTEEN)
legal("lse_base_2", Way(lse_base2=True), {"lse_base": "2"})

# ---- fp8 K and V beside Q in 16 bits ----
legal("fp8_kv", Way(), dtypes=SIXTEEN, kv_dtypes=FP8, token_scales=True)
legal("fp8_kv_splits_3", Way(splits=3, tile=32), dtypes=SIXTEEN, kv_dtypes=FP8, token_scales=True)
legal("fp8_kv_widened", Way(dequantized_to="input"), {"kv_dequantized_to": "input"},
      dtypes=SIXTEEN, kv_dtypes=FP8, token_scales=True)
legal("fp8_kv_widened_ring", Way(dequantized_to="input", splits=4, merge="ring"),
      {"kv_dequantized_to": "input", "ring_update": True}, dtypes=SIXTEEN, kv_dtypes=FP8,
      token_scales=True)
legal("fp8_kv_p_e4m3", Way(p_dtype="e4m3"), {"p_dtype": "e4m3"}, dtypes=SIXTEEN, kv_dtypes=FP8)

# ---- fp8 Q, K and V ----
legal("fp8_q", Way(), dtypes=FP8, kv_dtypes=FP8)
legal("fp8_q_splits_5", Way(splits=5), dtypes=FP8, kv_dtypes=FP8)
# p_prescale follows the dtype of P: 1 for 16 bits, although it is 256 for a P in e4m3.
for dtype in SIXTEEN:
    legal(f"fp8_q_p_{dtype}", Way(p_dtype=dtype), {"p_dtype": dtype}, dtypes=FP8, kv_dtypes=FP8,
          token_scales=True)
    legal(f"fp8_q_widened_to_{dtype}", Way(dequantized_to=dtype, p_dtype=dtype),
          {"kv_dequantized_to": dtype, "p_dtype": dtype}, dtypes=FP8, kv_dtypes=FP8,
          token_scales=True)
for factor in (448, 240):
    legal(f"fp8_q_p_e4m3_times_{factor}", Way(p_dtype="e4m3", p_factor=factor),
          {"p_dtype": "e4m3", "p_prescale": factor}, dtypes=FP8, kv_dtypes=FP8)
legal("fp8_q_13_bits", Way(qk=bits_13, pv=bits_13, pv_carries=True, slow=True),
      {"qk_accumulator": "fp32/toward_zero/13/16", "pv_accumulator": "fp32/toward_zero/13/16"},
      dtypes=FP8, kv_dtypes=FP8)

# ---- fp8 outputs ----
legal("fp8_out", Way(), dtypes=SIXTEEN, out_dtypes=FP8)
legal("fp8_out_times_inverse", Way(out_scale_inverted=True, splits=3), dtypes=SIXTEEN,
      out_dtypes=FP8)
legal("fp8_out_stochastic", Way(out_random=True), {"out_stochastic": True}, dtypes=SIXTEEN,
      out_dtypes=FP8)
legal("fp8_q_fp8_out", Way(), dtypes=FP8, kv_dtypes=FP8, out_dtypes=FP8)


# ---- Files for the harness ----

def text_of(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def list_of(words):
    return "[" + ", ".join(map(text_of, words)) + "]"


def refusals(name, one):
    """Yields (where, reason) of the problems that a kernel refuses."""
    way = WAYS[name]
    lists = [("dtype", OUTPUTS, one.dtypes), ("out_dtype", OUTPUTS, one.out_dtypes)]
    if one.kv_dtypes is None:
        # Q in fp8 is refused anyway
        lists.append(("kv_dtype", FP8, ()))
    else:
        lists.append(("kv_dtype", ALL, one.kv_dtypes))
    for field, known, taken in lists:
        missing = [dtype for dtype in known if dtype not in taken]
        if missing:
            yield f"{field} = {list_of(missing)}", f"{field} not declared"
    if one.kv_dtypes is not None and not one.token_scales:
        yield 'kv_scales = ["token", "block"]', "one scale for a head only"
    if way.slow:
        for field, limit in (("seq_q", SLOW_QUERIES), ("seq_kv", SLOW_KEYS)):
            yield f"{field} = {{ not = {list_of(range(limit + 1))} }}", "too slow"
    if way.qk_overflows or way.s_round == "twice":
        fp16 = "" if way.qk_overflows else ', dtype = "fp16"'
        yield 'law = "extreme"' + fp16, "q k overflows"
        yield 'law = ["negative_logits", "peaky"], k_scale = [80, 512, 579]' + fp16, "q k overflows"


def support():
    """Yields the lines of a support.toml."""
    yield "schema = 1"
    for one in kernels.declared:
        for where, reason in refusals(one.name, one):
            yield "\n".join(["", "[[unsupported]]", f'kernel = "legal_ways/{one.name}"',
                             f"where = {{ {where} }}", f'reason = "{reason}"'])


def contracts():
    """Yields the lines of a contracts.toml that allows each kernel what it declares."""
    yield "schema = 1"
    for name, (dtypes, spec) in CONTRACTS.items():
        fields = ", ".join(f"{field} = {text_of(value)}" for field, value in spec.items())
        yield "\n".join(["", "[[contract]]", f'kernel = "legal_ways/{name}"',
                         *([] if dtypes is None else [f"dtype = {list_of(dtypes)}"]),
                         'reason = "a legal way of tests"', 'proof = "its own source"',
                         'padding_policy = "untouched"', f"spec = {{ {fields} }}"])


def catalogue():
    """Yields the lines of a mutants.toml without a mutant."""
    yield 'schema = 1\nprovider = "legal_ways"\ncorrect = "tile_32"'
    for one in kernels.declared:
        yield f'\n[[legal]]\nname = "{one.name}"\nwhat = "a legal way of tests"'


if __name__ == "__main__":
    import pathlib
    import sys
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("contracts", contracts()), ("support", support()),
                        ("mutants", catalogue())):
        (folder / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
