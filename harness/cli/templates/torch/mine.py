# A kernel in PyTorch that passes `plumbline run` as it stands. Put your own into it at the comments
# 1, 2 and 3; docs/plug-in-your-kernel.md says what a case offers.
import torch
from plumbline.kernels import Spec, Unsupported, kernel, options
from torch.nn.functional import scaled_dot_product_attention

options("off_by_one")  # accepts --provider mine.py:off_by_one


def version():                    # stored with every run
    return f"torch {torch.__version__}"


# 1. State which problems your kernel accepts; it gets no others. `spec` is what it rounds, and may
#    not be looser than baselines/contracts.toml. If you change the name, change it there, too.
@kernel(name="sdpa", framework="torch", dtypes=("fp32", "fp16", "bf16"),
        masks=("none", "causal_top_left", "causal_bottom_right"),
        layouts=("padded_bshd", "padded_bhsd"), spec=Spec(p_dtype="input"),
        padding_policy="attended")
def sdpa(case):
    # 2. Prepare, which is not timed: bring case.q, case.k and case.v, which are [batch, seq, heads,
    #    dim], into the form that your kernel reads. Here: [batch, heads, seq, dim].
    q, k, v = (x.transpose(1, 2) for x in (case.q, case.k, case.v))
    visible = case.visible()      # [batch, seq_q, seq_kv], True where a row sees a key
    if not visible.any(-1).all():
        raise Unsupported("a row that sees no key is NaN")
    if case.options == "off_by_one":  # a planted error: the next key is seen, too
        visible[..., 1:] |= visible[..., :-1].copy()
    mask = torch.from_numpy(visible)[:, None].to(q.device)

    # 3. Call your kernel in run(), which is timed, and return its output in the form of case.q.
    def run():
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=case.scale,
                                           enable_gqa=True)
        return out.transpose(1, 2)
    return run
