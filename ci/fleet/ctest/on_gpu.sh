#!/usr/bin/env bash
# Runs a command on the GPU that CTest has handed out, which is cuda:0 to it.
#   ci/fleet/ctest/on_gpu.sh COMMAND…      with CTEST_RESOURCE_GROUP_0_GPUS="id:3,slots:1"
set -euo pipefail
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,3p' "$0" | cut -c3-; exit 0; }
handed="${CTEST_RESOURCE_GROUP_0_GPUS:-}"
if [[ ! "$handed" =~ ^id:([^,]+),slots: ]]; then
  echo "ci/fleet/ctest/on_gpu.sh: CTest has handed out no GPU; remedy: ctest" \
    "--resource-spec-file resources.json" >&2
  exit 3
fi
export CUDA_VISIBLE_DEVICES="${BASH_REMATCH[1]}"
echo "on GPU $CUDA_VISIBLE_DEVICES"
exec "$@"
