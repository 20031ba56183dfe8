#!/usr/bin/env python3
"""Compares ptxas's counts of FFMA, FADD and FMUL for PTX with our counts for the same PTX.

ptxas chooses which products and sums become one fma; emulator/ptx/contraction.h has our rule for
it. Equal counts do not prove that the same pairs were chosen, but different counts prove the
opposite.
"""
import argparse
import collections
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = """\
examples:
  evidence/ptxas_counts.py kernel.ptx
  evidence/ptxas_counts.py --arch sm_90 --tool build/host/bin/plumbline-ptx *.ptx

Prints a line per kernel: our fma, add and mul of fp32, ptxas's, and the verdict:
  equal        FFMA and FADD are as many as ours
  equal at O0  not equal, but ptxas -O0 (without contraction) has as many as the PTX, and FFMA is
               equal or our rule fuses nothing: ptxas computes equal values once, or unrolls a loop
  DIFFERS      otherwise
"fused" are our fma that the PTX has as a product and a sum. "flush" are sums with zero, which add
and FADD omit. ptxas writes them for |x|, for 1 / x and to flush a number. Code that
ptxas duplicates for diverged warps (BRA.DIV) counts once. FMUL is not compared, because ptxas
uses it to scale inputs of the special function unit. For a file in which our rule fuses nothing, a
last line reports whether ptxas fuses: whether its code differs with -fmad=false.

exit codes: 0 no kernel differs; 1 one does; 2 wrong command line or a program is missing.
"""
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);")


class Missing(Exception):
    """A program is missing or fails: exit code 2."""


def python():
    """Returns the interpreter with Triton, whose package has NVIDIA's disassembler."""
    named = os.environ.get("PLUMBLINE_PYTHON")
    own = ROOT / ".venv" / "bin" / "python"
    return named or (str(own) if own.exists() else sys.executable)


@functools.lru_cache(maxsize=None)
def program(name):
    found = shutil.which(name)
    if found:
        return found
    spec = importlib.util.find_spec("triton")
    where = spec.submodule_search_locations[0] if spec else run(
        [python(), "-c", "import importlib.util as u; s = u.find_spec('triton'); "
         "print(s.submodule_search_locations[0] if s else '')"]).strip()
    inside = pathlib.Path(where or ".", "backends", "nvidia", "bin", name)
    if where and inside.exists():
        return str(inside)
    raise Missing(f"{name} is missing; remedy: install the Python package triton (ci/setup.sh "
                  "--python) or CUDA's toolkit")


def run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Missing(f"{command[0]}: {error}") from None
    if done.returncode:
        raise Missing(f"{' '.join(map(str, command))}\n  exit code {done.returncode}: "
                      f"{(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def our_counts(tool, path):
    """Returns {kernel: [fma, add, mul, sums with zero, contracted fma]}."""
    kernels = {}
    for line in run([tool, "counts", path]).splitlines()[1:]:
        *numbers, name = line.split()
        kernels[name] = [int(number) for number in numbers]
    return kernels


def machine_code(path, arch, *options):
    """Returns ptxas's machine code for a file, as text."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder, "k.cubin")
        run([program("ptxas"), f"-arch={arch}", *options, path, "-o", cubin])
        return run([program("nvdisasm"), "-c", cubin])


def without_divergent_copies(section):
    """Removes second copies of shuffles. ptxas duplicates shuffles and the code between them if it
    does not know that the warp has converged. A copy extends from the target of a BRA.DIV to the
    jump back."""
    for label in set(re.findall(r"BRA\.DIV[^`]*`\(([^)]+)\)", section)):
        section = re.sub(rf"\n{re.escape(label)}:.*?/\*[0-9a-f]+\*/\s+BRA `[^\n]*", "", section,
                         count=1, flags=re.DOTALL)
    return section


def code_counts(text):
    """Returns {kernel: [FFMA, FADD without sums with zero, FMUL, sums with zero]}."""
    kernels = {}
    for section in re.split(r"\n\s*\.section\s+\.text\.", text)[1:]:
        found = collections.Counter()
        for opcode, operands in INSTRUCTION.findall(without_divergent_copies(section)):
            name = opcode.split(".")[0]
            sources = operands.split(",")[1:]
            if name == "FADD" and any(re.fullmatch(r"\s*-?RZ(\.reuse)?\s*", s) for s in sources):
                name = "flush"
            found[name] += 1
        kernels[section.split(",")[0]] = [found[n] for n in ("FFMA", "FADD", "FMUL", "flush")]
    return kernels


def compare(tool, path, arch, echo=print):
    """Prints a line per kernel; returns how many kernels there are, and how many differ."""
    ours, default = our_counts(tool, path), machine_code(path, arch)
    theirs, plain = code_counts(default), None
    differ = 0
    for number, (name, (fma, add, mul, _, contracted)) in enumerate(ours.items(), 1):
        ffma, fadd, fmul, flush = theirs[name]
        verdict = "equal"
        if (fma, add) != (ffma, fadd):
            plain = plain or code_counts(machine_code(path, arch, "-O0"))
            # -O0 also disables contraction, so the PTX's own numbers are expected.
            same = (fma - contracted, add + contracted) == tuple(plain[name][:2]) and (
                fma == ffma or contracted == 0)
            verdict = "equal at O0" if same else "DIFFERS ({} {} at O0)".format(*plain[name])
            differ += not same
        echo(f"{pathlib.Path(path).name + ' ' + str(number):<44} {contracted:>5} "
             f"{fma:>6} {ffma:>6} {add:>6} {fadd:>6} {mul:>6} {fmul:>6} {flush:>6}  {verdict}")
    if not any(row[4] for row in ours.values()):
        same = default == machine_code(path, arch, "-fmad=false")
        echo(f"  without -fmad=false and with it: {'the same code' if same else 'OTHER CODE'}")
        differ += not same
    return len(ours), differ


def heading(echo=print):
    echo(f"{'file and kernel':<44} {'fused':>5} {'fma':>6} {'FFMA':>6} {'add':>6} {'FADD':>6} "
         f"{'mul':>6} {'FMUL':>6} {'flush':>6}  verdict")


def compare_all(tool, paths, arch):
    kernels = differ = 0
    heading()
    for path in paths:
        found, wrong = compare(tool, path, arch, lambda line: print(line, flush=True))
        kernels += found
        differ += wrong
    print(f"{kernels} kernels, {differ} differences")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--arch", default="sm_80", help="architecture of ptxas's code (sm_80)")
    parser.add_argument("--tool", default=ROOT / "build" / "dev" / "bin" / "plumbline-ptx",
                        help="plumbline-ptx (that of build/dev)")
    arguments = parser.parse_args()
    try:
        return 1 if compare_all(arguments.tool, arguments.file, arguments.arch) else 0
    except Missing as error:
        print(f"evidence/ptxas_counts.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
