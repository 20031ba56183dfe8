#!/usr/bin/env bash
# Sets up, builds, then runs smoke and the five stories (reduced) on this machine's CPU. Leaves the
# command build/bin/plumbline, and out/plumbline.db, out/junit.xml and out/summary.md.
#   ci/quickstart.sh [more options of `plumbline run`]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,4p' "$0" | cut -c3-; exit 0; }
ci/setup.sh --numpy ||
  echo "ci/quickstart.sh: no numpy (see above): Python kernels cannot run; the rest goes on" >&2
ci/setup.sh --page ||
  echo "ci/quickstart.sh: no node or npm (see above): \`plumbline report\` may have no" \
    "page; the rest goes on" >&2
targets=(programs)
# nvcc takes minutes for kernels that only a GPU can run.
[[ "$preset" == dev && -e /dev/nvidiactl ]] && targets+=(plumbline_cuda plumbline_reference_cuda)
build --target "${targets[@]}"
mkdir -p out
code=0
"$plumbline" run cases/smoke.toml cases/stories/*.toml --tier smoke --db out/plumbline.db \
  --junit out/junit.xml --markdown out/summary.md "$@" || code=$?
echo "
plumbline is in $source_directory/build/bin; to call it as \`plumbline\`:
  export PATH=\"$source_directory/build/bin:\$PATH\""
exit "$code"
