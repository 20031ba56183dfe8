"""A name that is invalid in an id."""
from plumbline.kernels import kernel

PROVIDER = "my kernels/1"


@kernel()
def flash(case):
    return case.new_out()
