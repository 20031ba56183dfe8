#!/usr/bin/env bash
# The compiler of the wheel: clang of PyPI's ziglang, for x86-64 Linux with glibc 2.28 or newer,
# with the C++ library linked in. Called as zig-cc, zig-c++, zig-ar or zig-ranlib, which are links
# to this file; the program is that of the virtual environment in $PLUMBLINE_WHEEL_PREFIX.
set -euo pipefail
zig=("$PLUMBLINE_WHEEL_PREFIX"/venv/lib/python3*/site-packages/ziglang/zig)
tool="${0##*/zig-}"
case "$tool" in
  ar | ranlib) exec "${zig[0]}" "$tool" "$@" ;;
esac
arguments=()
for argument in "$@"; do
  case "$argument" in
    -march=x86-64*) argument="${argument//x86-64/x86_64}" argument="${argument//_64-/_64_}" ;;
    # g++ 12 spells the C++ library of the system so; here it is part of the program.
    -static-libstdc++ | -static-libgcc) continue ;;
  esac
  arguments+=("$argument")
done
exec "${zig[0]}" "$tool" -target x86_64-linux-gnu.2.28 "${arguments[@]}"
