"""A name that is no part of an id."""
from plumbline.kernels import kernel

PROVIDER = "my kernels/1"


@kernel()
def flash(case):
    return case.new_out()
