#!/usr/bin/env bash
# Builds with coverage, runs the tests, writes build/coverage/html/index.html and fails below 95 %
# of the lines of harness/ or of kernels/attention (the CUDA kernels, as the emulator runs them), or
# below 90 % of emulator/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,4p' "$0" | cut -c3-; exit 0; }
refuse_surplus "$@"
ci/setup.sh
find build/coverage -name '*.gcda' -delete 2>/dev/null || true
rm -f ./*.gcov  # gcovr leaves them in the checkout if it is killed
cmake --workflow --preset coverage
mkdir -p build/coverage/html
limits=(harness=95 kernels/attention=95 emulator=90)  # FOLDER=PERCENT
filters=()
for limit in "${limits[@]}"; do filters+=(--filter "${limit%=*}/"); done
# Without the first option, gcovr waits forever after a line that it cannot read.
gcovr --gcov-ignore-parse-errors --root . "${filters[@]}" \
  --exclude-throw-branches --exclude-unreachable-branches -j 2 \
  --html-details build/coverage/html/index.html --txt build/coverage/coverage.txt \
  --json build/coverage/coverage.json build/coverage >/dev/null
code=0
for limit in "${limits[@]}"; do
  folder="${limit%=*}"
  echo "$folder:"
  # not to /dev/null, which gcovr may replace by a file
  gcovr --root . --add-tracefile build/coverage/coverage.json --filter "$folder/" \
    --txt build/coverage/folder.txt --fail-under-line "${limit#*=}" --print-summary || code=1
done
exit "$code"
