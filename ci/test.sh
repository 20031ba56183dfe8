#!/usr/bin/env bash
# Sets up, builds and runs the tests of this machine's preset. The last 30 lines summarize the
# result and end with CTest's own lines.
#   ci/test.sh            PLUMBLINE_PRESET=asan ci/test.sh for another preset
#   ci/test.sh --all      also ci/weekly.sh: sanitizers, coverage, the build without nvcc, the wheel
#                         and other checks too slow for CI; takes hours on two cores
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
all=0
case "${1:-}" in
  --all) all=1 ;;
  -h | --help) sed -n '2,6p' "$0" | cut -c3-; exit 0 ;;
  "") ;;
  *) refuse "unknown option $1" ;;
esac
refuse_surplus "${@:2}"
set_up_for_tests
# ci/seconds.py judges only this run.
rm -f "$build_directory/seconds.log"
cmake --preset "$preset"
cmake --build --preset "$preset"
((all)) || exec python3 ci/run_tests.py --preset "$preset"
code=0
python3 ci/run_tests.py --preset "$preset" || code=$?
weekly=0
ci/weekly.sh || weekly=$?
((code)) || code=$weekly
exit "$code"
