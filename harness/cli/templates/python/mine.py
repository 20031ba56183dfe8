# A kernel that passes `plumbline run` as it stands. Put your own into it at the comments 1, 2 and
# 3; docs/plug-in-your-kernel.md says what a case offers.
import numpy as np
from plumbline.kernels import Spec, kernel, options

options("off_by_one")  # accepts --provider mine.py:off_by_one


def version():                                     # stored with every run
    return f"numpy {np.__version__}"


# 1. State which problems your kernel accepts; it gets no others. `spec` is what it rounds, and may
#    not be looser than baselines/contracts.toml. If you change the name, change it there, too.
@kernel(name="softmax", dtypes=("fp32", "fp16", "bf16"),
        masks=("none", "causal_top_left", "causal_bottom_right"),
        layouts=("padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd"), lse=True,
        spec=Spec(p_dtype="fp32", qk_accumulator="fma", pv_accumulator="fma"),
        padding_policy="untouched", promises={"run_to_run": "bitwise"})
def softmax(case):
    # 2. Prepare, which is not timed: bring case.q, case.k and case.v into the form that your kernel
    #    reads. Here: the valid rows of each sample, whatever the layout.
    samples = []
    for b in range(case.batch):
        # [rows, heads_q, d], [keys, heads_kv, d]
        q, k, v = (x.astype(np.float32) for x in case.sample(b))
        k, v = (x.repeat(case.heads_q // case.heads_kv, axis=1) for x in (k, v))
        visible = case.visible_of(b)               # [rows, keys]: mask and window
        if case.options == "off_by_one":           # a planted error: the next key is seen, too
            visible[:, 1:] |= visible[:, :-1].copy()
        samples.append((case.query_rows(b), q, k, v, visible[:, None, :]))

    # 3. Call your kernel in run(), which is timed, and return its output.
    def run():
        out, lse = case.new_out(), case.new_lse()  # filled with NaN
        scale = np.float32(case.scale)
        for rows, q, k, v, visible in samples:
            some = visible.any(-1)                 # rows that see a key; others are 0, LSE -inf
            s = np.where(visible, np.einsum("qhd,khd->qhk", q, k) * scale, -np.inf)
            top = np.where(some, s.max(-1, initial=-np.inf), 0)
            p = np.exp(s - top[..., None])
            total = np.where(some, p.sum(-1), 1)
            out[rows] = (np.einsum("qhk,khd->qhd", p, v) / total[..., None]).astype(out.dtype)
            lse[rows] = np.where(some, top + np.log(total), -np.inf)
        return (out, lse) if case.lse_wanted else out
    return run
