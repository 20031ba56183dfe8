#!/usr/bin/env python3
"""Measures how much of the PTX of third-party kernels translates, for each family of kernels.

Compiles FlashAttention-2 (head dimensions 64 and 128, and split-KV), FlashInfer (prefill and
decode) and CUTLASS's example 41 with clang as their providers do, and the kernels of vLLM, SGLang
and FlexAttention with Triton. Prints the share of each file's instructions that is translated, and
every line that is not. The PTX stays in the build folder, and unchanged files are not compiled
again: the first run takes about ten minutes of CPU time, mostly for FlashAttention-2.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import ptxas_counts

ROOT = ptxas_counts.ROOT
PROGRAM = "evidence/census.py"
EXAMPLES = """\
examples:
  evidence/census.py                  all families; needs ci/setup.sh --providers --python
  evidence/census.py --only cutlass --only sglang
  evidence/census.py --counts         also FFMA and FADD of ptxas beside ours, kernel by kernel
  evidence/census.py --counts --nvcc  the same of nvcc's PTX (Licences in docs/emulator.md)
  evidence/census.py --flash-attention all --flashinfer all  every instance that CMake knows

exit codes: 0 at least 99.9 % of each family translate (with --counts, also nothing differs);
1 otherwise; 2 wrong command line, or something could not be compiled.
"""
ENOUGH = 0.999
# Instances that CMake compiles instead of the default ones: one of each kind.
FLASH_ATTENTION = ";".join([
    "fwd_hdim64_bf16_causal", "fwd_hdim64_bf16", "fwd_hdim128_bf16_causal", "fwd_hdim128_bf16",
    "fwd_split_hdim64_bf16", "fwd_split_hdim128_bf16"])
FLASHINFER = ";".join([
    "ragged_hdim64_bf16", "ragged_hdim64_bf16_causal", "ragged_hdim128_bf16",
    "paged_hdim64_bf16", "paged_hdim64_bf16_causal", "paged_hdim128_bf16_causal",
    "decode_hdim64_bf16", "decode_hdim128_bf16"])
# Word for --only, name, and a pattern of file names. The first match counts.
FAMILIES = [
    ("fa2_split", "FlashAttention-2 split-KV", r"flash_fwd_split_"),
    ("fa2_d64", "FlashAttention-2 d64", r"flash_fwd_hdim64_"),
    ("fa2_d128", "FlashAttention-2 d128", r"flash_fwd_hdim128_"),
    ("prefill", "FlashInfer batch prefill", r"(ragged|paged)_"),
    ("decode", "FlashInfer batch decode", r"decode_"),
    ("single", "FlashInfer single", r"single_"),
    ("cutlass", "CUTLASS example 41", r"forward_"),
    ("vllm", "vLLM unified (Triton)", r"vllm_"),
    ("sglang", "SGLang (Triton)", r"sglang_"),
    ("flex", "FlexAttention (Triton)", r"flex_"),
]
# The folders of kernels/compiled with their families.
PROVIDERS = {"flash_attention": {"fa2_split", "fa2_d64", "fa2_d128"},
             "flashinfer": {"prefill", "decode", "single"}, "cutlass": {"cutlass"}}
TRITON = {"vllm", "sglang", "flex"}


def family_of(path):
    return next((word for word, _, names in FAMILIES if re.match(names, path.name)), None)


def step(command, **how):
    """Runs a command whose output is shown as progress."""
    print("+ " + " ".join(str(word) for word in command), file=sys.stderr, flush=True)
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr, **how).returncode:
        raise ptxas_counts.Missing(f"{command[0]} failed; remedy: ci/setup.sh --providers --python "
                                   "installs the compilers and the kernels' sources")


def native_ptx(arguments, families):
    """Builds plumbline-ptx and returns the PTX files of clang or nvcc."""
    step(["cmake", "-S", ".", "-B", arguments.build, "-G", "Ninja",
          "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DPLUMBLINE_CUDA=OFF",
          f"-DPLUMBLINE_FLASH_ATTENTION_FILES={arguments.flash_attention}",
          f"-DPLUMBLINE_FLASHINFER_INSTANCES={arguments.flashinfer}",
          f"-DPLUMBLINE_NVCC_PTX={'ON' if arguments.nvcc else 'OFF'}"])
    ending = ".nvcc.ptx" if arguments.nvcc else ".ptx"
    # Only the files of these families, so that --only compiles nothing else.
    listed = subprocess.run(["ninja", "-C", arguments.build, "-t", "targets", "rule",
                             "CUSTOM_COMMAND"], capture_output=True, text=True).stdout.split()
    wanted = sorted(
        path for path in map(pathlib.Path, listed)
        if not path.is_absolute() and path.parent.name in PROVIDERS
        and path.name.endswith(ending) and path.name.endswith(".nvcc.ptx") == arguments.nvcc
        and family_of(path) in families & PROVIDERS[path.parent.name])
    step(["cmake", "--build", arguments.build, "--parallel", str(arguments.jobs), "--target",
          "plumbline_ptx_tool", *wanted])
    return [arguments.build / path for path in wanted]


def triton_ptx(arguments, families):
    """Returns the PTX files of Triton."""
    folder = arguments.build / "triton_ptx"
    step([sys.executable, "ci/triton_sources.py"])
    step([ptxas_counts.python(), "evidence/census_triton.py", folder])
    return sorted(path for path in folder.glob("*.ptx") if family_of(path) in families)


def census(tool, path):
    """Returns the numbers of kernels, instructions and refused instructions, and a line for each
    opcode and place."""
    said = ptxas_counts.run([tool, "census", "--lines", path])
    total = re.search(r"^all +(\d+) ", said, re.MULTILINE)
    refusals = re.findall(r"^refused +(\d+) times.*\n  (.*)((?:\n  at .*)*)", said, re.MULTILINE)
    lines = [f"{place.strip()[3:]}: {what}" for _, what, places in refusals
             for place in places.strip().splitlines()]
    kernels = said[:total.start()].count("\n") - 1
    return kernels, int(total[1]), sum(int(count) for count, *_ in refusals), lines


def share(instructions, refused):
    """Returns the translated share in percent, rounded down, so that 100 % means all."""
    return f"{10000 * (instructions - refused) // max(instructions, 1) / 100:.2f} %"


def print_census(tool, paths):
    """Prints the table; returns true if each family has enough."""
    print(f"{'family':<26} {'file':<46} {'kernels':>7} {'instructions':>12} {'translated':>10}")
    sums, places = {}, []
    order = [word for word, *_ in FAMILIES]
    for path in sorted(paths, key=lambda path: (order.index(family_of(path)), path.name)):
        kernels, instructions, refused, lines = census(tool, path)
        name = next(name for word, name, _ in FAMILIES if word == family_of(path))
        print(f"{name:<26} {path.name[:46]:<46} {kernels:>7} {instructions:>12} "
              f"{share(instructions, refused):>10}", flush=True)
        sums[name] = [a + b for a, b in zip(sums.get(name, [0, 0, 0]),
                                            (kernels, instructions, refused))]
        places += lines
    print()
    for name, (kernels, instructions, refused) in sums.items():
        print(f"{name:<26} {'':<46} {kernels:>7} {instructions:>12} "
              f"{share(instructions, refused):>10}")
    whole = [sum(column) for column in zip(*sums.values())]
    print(f"{'all':<26} {'':<46} {whole[0]:>7} {whole[1]:>12} {share(*whole[1:]):>10}")
    for place in places:
        print(f"refused: {place}")
    return all(1 - refused / max(instructions, 1) >= ENOUGH
               for _, instructions, refused in sums.values())


def main():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = [word for word, *_ in FAMILIES]
    parser.add_argument("--only", action="append", choices=words, metavar="FAMILY",
                        help=f"one of {', '.join(words)}; may be repeated (all)")
    parser.add_argument("--counts", action="store_true",
                        help="compare with ptxas's machine code, as evidence/ptxas_counts.py does")
    parser.add_argument("--arch", default="sm_80", help="architecture of ptxas's code (sm_80)")
    parser.add_argument("--nvcc", action="store_true",
                        help="PTX by nvcc instead of clang; Triton's kernels are left out")
    parser.add_argument("--flash-attention", default=FLASH_ATTENTION, metavar="FILES",
                        help="instances, as in CMake's PLUMBLINE_FLASH_ATTENTION_FILES")
    parser.add_argument("--flashinfer", default=FLASHINFER, metavar="INSTANCES",
                        help="instances, as in CMake's PLUMBLINE_FLASHINFER_INSTANCES")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "census",
                        help="the build folder, which keeps the PTX (build/census)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="files that are compiled at a time")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    families = set(arguments.only or words) - (TRITON if arguments.nvcc else set())
    tool = arguments.build / "bin" / "plumbline-ptx"
    try:
        paths = native_ptx(arguments, families)
        if families & TRITON:
            paths += triton_ptx(arguments, families)
        for word in sorted(families - {family_of(path) for path in paths}):
            raise ptxas_counts.Missing(f"no file of {word} is compiled here; remedy: ci/setup.sh "
                                       "--providers, or name an instance of this family with "
                                       "--flash-attention or --flashinfer")
        good = print_census(tool, paths)
        if arguments.counts:
            print()
            good &= ptxas_counts.compare_all(tool, paths, arguments.arch) == 0
    except ptxas_counts.Missing as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
