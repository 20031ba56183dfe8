"""A version() that fails."""
from plumbline_provider import kernel


def version():
    raise OSError("no such library")


@kernel()
def flash(case):
    return case.new_out()
