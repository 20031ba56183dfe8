"""A word that is invalid in a declaration."""
from plumbline.kernels import kernel


@kernel(name="flash", masks=("causal",))
def flash(case):
    return case.new_out()
