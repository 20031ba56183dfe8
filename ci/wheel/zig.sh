#!/usr/bin/env bash
# The compiler of the wheel: clang of PyPI's ziglang, for x86-64 Linux with glibc 2.28 or newer,
# with the C++ library linked in. Called as zig-cc, zig-c++, zig-ar or zig-ranlib, which are links
# to this file; runs zig of the virtual environment in $PLUMBLINE_WHEEL_PREFIX.
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
    # Options of g++ 12 for its static C++ library; here that library is always linked in.
    -static-libstdc++ | -static-libgcc) continue ;;
  esac
  arguments+=("$argument")
done
exec "${zig[0]}" "$tool" -target x86_64-linux-gnu.2.28 "${arguments[@]}"
