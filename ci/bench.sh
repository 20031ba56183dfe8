#!/usr/bin/env bash
# Measures speed as ratios within one run (Google Benchmark): the reference against its two dgemm
# calls, small cases end to end, storing, emulated mma.sync against an sgemm of the same shape,
# the emulator's switches, an emulated forward against cpu/flash, and the memory of a night.
# The first two calls rewrite the table of docs/performance.md. Exit code 1: a limit is missed.
#   ci/bench.sh                                   everything (about 8 minutes)
#   ci/bench.sh --benchmark_filter=-nightly       without the night; its row is "not measured"
#   ci/bench.sh [options of Google Benchmark]     such as --benchmark_filter=reference; no table
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,8p' "$0" | cut -c3-; exit 0; }
build --target plumbline_bench plumbline plumbline-worker plumbline_cpu plumbline_emulated
bench="$build_directory/bin/plumbline_bench"
# The night's memory is read from /proc, where plumbline normally hides it from other processes.
export PLUMBLINE_ALLOW_PTRACE=1
[[ $# == 0 || "$*" == --benchmark_filter=-nightly ]] || exec "$bench" "$@"

results="$(mktemp)"
trap 'rm -f "$results"' EXIT
changes="$(git status --porcelain -uno -- . ':!docs' 2>/dev/null | head -1)"
"$bench" "$@" --benchmark_enable_random_interleaving=true --benchmark_out="$results"
commit="$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
python3 ci/bench_table.py "$results" "$commit${changes:+ with changes}"
