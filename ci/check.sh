#!/usr/bin/env bash
# What to run before a commit: format, include directions, lint, build, tests.
#   ci/check.sh          about as long as a build and the tests
#   ci/check.sh --full   adds clang-tidy over everything, all tests, the sanitizer presets and
#                        coverage
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
full=0
case "${1:-}" in
  --full) full=1 ;;
  -h | --help) sed -n '2,5p' "$0" | cut -c3-; exit 0 ;;
  "") ;;
  *) refuse "unknown option $1" ;;
esac
refuse_surplus "${@:2}"
ci/setup.sh

ci/format.sh --check --all
python3 ci/check_sources.py
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"

# clang-tidy 14 takes seconds a file: the files that differ from the last commit, or all with
# --full.
if ((full)); then
  mapfile -t lint < <(git ls-files 'harness/*.cc' 'kernels/cpu/*.cc')
  wait "$!"
else
  mapfile -t lint < <(
    git diff --name-only --diff-filter=d HEAD -- 'harness/*.cc' 'kernels/cpu/*.cc')
  wait "$!"
fi
# It cannot read g++'s precompiled headers, so it reads the commands of a build without them, which
# is configured and never built.
if ((${#lint[@]} > 0)); then
  cmake --preset host -B build/tidy -DPLUMBLINE_PRECOMPILED_HEADERS=OFF >/dev/null
  printf '%s\n' "${lint[@]}" |
    xargs -P 2 -n 1 clang-tidy -p build/tidy --quiet --warnings-as-errors='*'
fi

((full)) || exec ctest --preset "$preset"
# Also those that the presets leave out.
ctest --test-dir "build/$preset" --output-on-failure --parallel 2
cmake --workflow --preset asan
cmake --workflow --preset tsan
ci/coverage.sh
