#!/usr/bin/env bash
# Runs a command on the GPU that CTest assigned, which the command sees as cuda:0.
#   ci/fleet/ctest/on_gpu.sh COMMAND…      with CTEST_RESOURCE_GROUP_0_GPUS="id:3,slots:1"
source "$(dirname "${BASH_SOURCE[0]}")/../../options.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,3p' "$0" | cut -c3-; exit 0; }
case "${1:-}" in
  "") refuse "COMMAND is needed" ;;
  -*) refuse "unknown option $1" ;;
esac
handed="${CTEST_RESOURCE_GROUP_0_GPUS:-}"
if [[ ! "$handed" =~ ^id:([^,]+),slots: ]]; then
  end_with 3 "CTest has handed out no GPU; remedy: ctest --resource-spec-file resources.json"
fi
export CUDA_VISIBLE_DEVICES="${BASH_REMATCH[1]}"
echo "on GPU $CUDA_VISIBLE_DEVICES"
exec "$@"
