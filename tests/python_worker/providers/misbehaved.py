"""Kernels that misbehave, one way each: every misbehaviour must become that case's status. `ok`
returns the mean of V."""
import ctypes
import os
import signal
import sys
import time

import numpy as np

from plumbline.kernels import Spec, kernel

LEAK = []


def mean_of_v(case):
    out = case.new_out()
    for b in range(case.batch):
        out[case.query_rows(b)] = np.asarray(case.sample(b)[2], np.float32).mean(0)
    return out


def misbehaving(function):
    """Declares a kernel with the function's name. It runs function(case) and returns its result, or
    the mean of V if that is None."""
    def prepare(case):
        def run():
            result = function(case)
            return mean_of_v(case) if result is None else result
        return run
    return kernel(name=function.__name__, layouts=("padded_bshd", "ragged"))(prepare)


@misbehaving
def ok(case):
    case.launched = f"process {os.getpid()}"


# ---- Death -------------------------------------------------------------------------------------


@misbehaving
def abort(case):
    print("tile > 0 does not hold", file=sys.stderr)
    os.abort()


@misbehaving
def null_pointer(case):
    ctypes.string_at(0)


@kernel(name="dies_in_prepare")
def dies_in_prepare(case):
    ctypes.string_at(0)


@misbehaving
def leaves(case):
    os._exit(3)


@misbehaving
def closes_everything(case):
    os.closerange(3, 4096)


@misbehaving
def forks(case):
    os.fork()


# ---- Exceptions --------------------------------------------------------------------------------


@misbehaving
def exits(case):
    sys.exit("no licence")


@misbehaving
def raises(case):
    helper()


def helper():
    raise ValueError("no plan\nfits")


@misbehaving
def raises_deep_in_numpy(case):
    np.concatenate([])


@misbehaving
def raises_what_is_no_unicode(case):
    raise ValueError("\udcff" * 10000)


@kernel(name="raises_in_prepare")
def raises_in_prepare(case):
    return case.q.no_such_attribute


def broken_spec(case):
    return {"p_dtype": "input"}


@kernel(name="spec_is_no_spec", spec=broken_spec)
def spec_is_no_spec(case):
    return mean_of_v(case)


# ---- Hangs -------------------------------------------------------------------------------------


@misbehaving
def hangs(case):
    time.sleep(1000)


@misbehaving
def hangs_in_c(case):
    ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock


# ---- Output ------------------------------------------------------------------------------------


@misbehaving
def prints(case):
    reply = '{"reply": "run", "id": 1, "status": "ok", "reason": ""}'
    print(reply)
    ctypes.CDLL(None).puts(reply.encode())
    for descriptor in (1, 4):
        os.write(descriptor, reply.encode() + b"\n")
    print("and with open(4)", file=open(4, "w", closefd=False), flush=True)
    for i in range(2000):
        print(f"line {i} of what a chatty library says \x01\udcff")
    print("the last word", file=sys.stderr)


@misbehaving
def reads(case):
    assert sys.stdin.read() == "" and os.read(3, 100) == b""


# ---- Memory ------------------------------------------------------------------------------------


@misbehaving
def leaks(case):
    while True:
        LEAK.append(np.ones(64 << 17))  # 64 MiB


@misbehaving
def leaks_small_objects(case):
    while True:
        LEAK.append([None] * 100)


@misbehaving
def leaks_a_little(case):
    LEAK.append(np.ones(100 << 17))  # 100 MiB per case


# ---- Wrong results -----------------------------------------------------------------------------


@misbehaving
def wrong_shape(case):
    return case.new_out()[:, :1]


@misbehaving
def wrong_dtype(case):
    return mean_of_v(case).astype(np.float64)


@misbehaving
def a_list(case):
    return [1, 2, 3]


@misbehaving
def a_triple(case):
    return mean_of_v(case), None, None


@kernel(name="nothing")
def nothing(case):
    return lambda: None


@kernel(name="nothing_at_all")
def nothing_at_all(case):
    pass


@kernel(name="no_lse", lse=True)
def no_lse(case):
    return lambda: mean_of_v(case)


@kernel(name="lse_in_fp64", lse=True)
def lse_in_fp64(case):
    return lambda: (mean_of_v(case), case.new_lse().astype(np.float64))


@misbehaving
def a_row_too_few(case):
    out = mean_of_v(case)
    out[0, 1] = case.new_out()[0, 1]
    return out


# ---- Stray writes ------------------------------------------------------------------------------


@misbehaving
def writes_to_an_input(case):
    case.q[...] = 0


@misbehaving
def writes_to_an_input_by_force(case):
    ctypes.memset(case.q.ctypes.data + 4, 0, 1)


@kernel(name="writes_to_an_input_in_torch", framework="torch")
def writes_to_an_input_in_torch(case):
    case.q.mul_(2)


# ---- State of the process ----------------------------------------------------------------------

LIBM = ctypes.CDLL("libm.so.6")


@misbehaving
def looks(case):
    seen = []
    if LIBM.fegetround() != 0:
        seen.append("rounding")
    if os.getcwd() == "/":
        seen.append("directory")
    if os.umask(0o22) == 0o777:
        seen.append("umask")
    if os.environ.get("PATH") == "/nowhere":
        seen.append("PATH")
    if "MISBEHAVED_NEW" in os.environ:
        seen.append("variable")
    if signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN:
        seen.append("handler")
    if signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, []):
        seen.append("mask")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        seen.append("SIGINT")
    case.launched = "seen: " + " ".join(seen)


@misbehaving
def rounds_up(case):
    LIBM.fesetround(0x800)


@misbehaving
def changes_directory(case):
    os.chdir("/")
    os.umask(0o777)


@misbehaving
def blocks_a_signal(case):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])


@misbehaving
def changes_a_variable(case):
    os.environ["PATH"] = "/nowhere"


@misbehaving
def adds_a_variable(case):
    os.environ["MISBEHAVED_NEW"] = str(time.monotonic())
    os.environ["MISBEHAVED_LATER"] = "1"


@misbehaving
def ignores_interrupts(case):
    signal.signal(signal.SIGINT, signal.SIG_IGN)


LIBC = ctypes.CDLL(None)
LIBC.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]


@misbehaving
def replaces_a_handler_of_c(case):
    """Like the LLVM in NVRTC and cuDNN on first use; Python's table of handlers does not show it.
    """
    LIBC.signal(signal.SIGINT, signal.SIG_IGN)


@misbehaving
def reads_a_handler_of_c(case):
    with open("/proc/self/status", encoding="ascii") as status:
        ignored = next(line.split()[1] for line in status if line.startswith("SigIgn:"))
    is_ignored = int(ignored, 16) >> (signal.SIGINT - 1) & 1
    case.launched = "ignored" if is_ignored else "handled"


# ---- Writes to the arena by a second mapping ---------------------------------------------------


def arena():
    """Returns the descriptor of the shared memory, whatever its number."""
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            if "plumbline-arena" in os.readlink(f"/proc/self/fd/{descriptor}"):
                return int(descriptor)
        except OSError:
            pass
    raise ValueError("there is no arena")


@misbehaving
def rewrites_v(case):
    import mmap
    memory = mmap.mmap(arena(), 1 << 20)
    v = np.ascontiguousarray(case.v).tobytes()
    at = memory[:].find(v)
    memory[at:at + len(v)] = bytes(len(v))
    out = case.new_out()
    out[...] = 0
    return out


@misbehaving
def shortens_arena(case):
    os.ftruncate(arena(), 0)
