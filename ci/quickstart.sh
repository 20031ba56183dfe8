#!/usr/bin/env bash
# Sets up, builds, then runs smoke and the five stories (reduced) on this machine's CPU. Leaves the
# command build/bin/plumbline, and out/plumbline.db, out/junit.xml and out/summary.md. Takes three
# minutes on two cores if the packages are installed.
#   ci/quickstart.sh [more options of `plumbline run`]
# Example: ci/quickstart.sh --match '*bf16*'
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,6p' "$0" | cut -c3-; exit 0; }

set_up() {
  ci/setup.sh || return
  ci/setup.sh --numpy ||
    echo "ci/quickstart.sh: numpy is missing (see above): Python kernels cannot run" >&2
  ci/setup.sh --page ||
    echo "ci/quickstart.sh: node or npm is missing (see above): \`plumbline report\` may have no" \
      "page" >&2
}
# Tests, mutants and third-party compiled kernels are left to ci/test.sh. nvcc takes minutes for
# kernels that only a GPU runs.
cuda=OFF targets=(quickstart)
if [[ -e /dev/nvidiactl ]] && command -v nvcc >/dev/null; then
  cuda=ON
  targets+=(plumbline_cuda plumbline_reference_cuda)
fi
configure() {
  cmake --preset "$preset" -DPLUMBLINE_TESTS=OFF -DPLUMBLINE_CUDA=$cuda >/dev/null
}

phase "installing packages" set_up
phase "configuring" configure
phase "compiling (two minutes on two cores)" \
  cmake --build --preset "$preset" --target "${targets[@]}"
mkdir -p out
code=0
phase "running smoke and the stories" "$plumbline" run cases/smoke.toml cases/stories/*.toml \
  --tier smoke --db out/plumbline.db --junit out/junit.xml --markdown out/summary.md "$@" || code=$?
echo "
plumbline is in $source_directory/build/bin; to call it as \`plumbline\`:
  export PATH=\"$source_directory/build/bin:\$PATH\""
exit "$code"
