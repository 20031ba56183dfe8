#!/usr/bin/env bash
# Speed as ratios within one run (Google Benchmark): the reference against its two dgemm calls, a small case end to end, storing,
# emulated mma.sync per second against an sgemm of the same shape, the emulator's switches, an emulated forward against cpu/flash.
#   ci/bench.sh [options of Google Benchmark]     for example ci/bench.sh --benchmark_filter=reference
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,4p' "$0" | cut -c3-; exit 0; }
build --target plumbline_bench plumbline-worker plumbline_cpu plumbline_emulated
exec "$build_directory/bin/plumbline_bench" "$@"
