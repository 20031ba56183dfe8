"""A word that no declaration knows."""
from plumbline.kernels import kernel


@kernel(name="flash", masks=("causal",))
def flash(case):
    return case.new_out()
