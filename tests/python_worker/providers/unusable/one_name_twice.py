"""Two kernels with one name."""
from plumbline.kernels import kernel


@kernel(name="flash")
def first(case):
    return case.new_out()


@kernel(name="flash")
def second(case):
    return case.new_out()
