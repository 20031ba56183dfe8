#!/usr/bin/env bash
# Sets up, builds and runs all tests of this machine's preset. The last lines are CTest's own.
#   ci/test.sh            PLUMBLINE_PRESET=asan ci/test.sh for another preset
#   ci/test.sh --all      also what takes long: the wheel, made by a compiler of its own and tested
#                         in roots of other systems, and the tests of label `times`, whose
#                         judged times need a quiet machine; 40 minutes more on two cores
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
all=0
case "${1:-}" in
  --all) all=1 ;;
  -h | --help) sed -n '2,6p' "$0" | cut -c3-; exit 0 ;;
  "") ;;
  *) refuse "unknown option $1" ;;
esac
refuse_surplus "${@:2}"
ci/setup.sh
ci/setup.sh --python ||
  echo "ci/test.sh: the Python packages are not there (see above): tests of Python kernels and of" \
    "the Python package are left out or skipped" >&2
ci/setup.sh --page ||
  echo "ci/test.sh: node or npm is not there (see above): the page of \`plumbline report\` and" \
    "its tests are left out" >&2
ci/setup.sh --browser ||
  echo "ci/test.sh: chromium is not there: tests of the page are left out" >&2
ci/setup.sh --providers ||
  echo "ci/test.sh: the sources of others' kernels are not there (see above): those kernels and" \
    "their tests are left out" >&2
ci/docs.sh --setup ||
  echo "ci/test.sh: the site of docs/ is not built (see above): its test is skipped" >&2
# A night on a real Slurm is tested where continuous integration runs, and where Slurm is installed;
# what Prometheus reads and the container image likewise.
if [[ -n "${CI:-}" ]]; then
  ci/setup.sh --slurm || echo "ci/test.sh: Slurm is not there: its test is skipped" >&2
  ci/setup.sh --promtool || echo "ci/test.sh: promtool is not there: its test is skipped" >&2
  ci/setup.sh --container || echo "ci/test.sh: buildah is not there: its test is skipped" >&2
fi
((all)) || exec cmake --workflow --preset "$preset"
cmake --preset "$preset"
cmake --build --preset "$preset"
exec ctest --test-dir "build/$preset" --output-on-failure --parallel 2
