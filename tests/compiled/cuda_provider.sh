#!/usr/bin/env bash
# Tests a GPU provider of third-party kernels without a GPU. emulator/cudart replaces NVIDIA's
# runtime library with one device cuda:0 of sm_90, which runs the PTX that the provider contains
# next to its machine code. The cases must pass with the bits of the emulator's provider.
#   cuda_provider.sh PLUMBLINE CUDART FOR_GPUS FOR_EMULATOR SUITE GLOB
set -euo pipefail
plumbline="$1" cudart="$2" for_gpus="$3" for_emulator="$4" suite="$5" glob="$6"
directory="$(mktemp -d)"
trap 'rm -rf "$directory"' EXIT
run() {
  "$plumbline" run "$suite" --match "$glob" --no-default-provider --db "$directory/a.db" -q "$@"
}
PLUMBLINE_PTX_CACHE="$directory/cache" PLUMBLINE_CUDART_ARCH=sm_90 LD_PRELOAD="$cudart" \
  run --provider "$for_gpus" --device cuda:0
run --provider "$for_emulator" --device emulated:sm_90
"$plumbline" matrix latest latest~1 --db "$directory/a.db" --expect-equal emulated:sm_90=cuda:0
"$plumbline" query --db "$directory/a.db" "SELECT count(*) || ' cases on cuda:0' AS counted
  FROM v_latest WHERE device = 'cuda:0' AND status = 'ok'"
