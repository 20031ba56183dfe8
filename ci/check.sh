#!/usr/bin/env bash
# Runs checks and tests before a commit.
#   ci/check.sh               minutes: include directions; format and lint of files that differ
#                             from HEAD; tests that start no program and take less than a second;
#                             all tests of the touched folders. Reports which tests it did not run
#   ci/check.sh --since REF   the same for files that differ from REF
#   ci/check.sh --list        the tests it would choose; checks, builds and runs nothing
#   ci/check.sh --tests       format and lint of all files; builds everything, runs what CI runs
#   ci/check.sh --full        adds clang-tidy over harness/ and kernels/cpu/, the tests that CI
#                             leaves out, the sanitizer presets and coverage
# Example: ci/check.sh --since origin/main
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=quick since=HEAD
while (($#)); do
  case "$1" in
    --full) mode=full ;;
    --tests) mode=tests ;;
    --list) mode=list ;;
    --since) require_value "a commit" "$@"
      since="$2"; shift ;;
    -h | --help) sed -n '2,/^# Example/p' "$0" | cut -c3-; exit 0 ;;
    *) refuse "unknown option $1" ;;
  esac
  shift
done
git rev-parse --quiet --verify "$since^{commit}" >/dev/null ||
  end_with 2 "there is no commit $since; next: git log, or git fetch"
# In a unity build, changing one file recompiles its batch of sixteen.
if [[ "$mode" =~ ^(quick|list)$ && -z "${PLUMBLINE_PRESET:-}" ]]; then preset=host; fi

ci/setup.sh
if [[ "$mode" == list ]]; then
  cmake --preset "$preset" >/dev/null
  exec python3 ci/choose_tests.py --preset "$preset" --since "$since" --list
fi

# Lists files that differ from the commit and still exist, and new files.
changed() {
  git diff --name-only --diff-filter=d "$since" -- "$@"
  git ls-files --others --exclude-standard -- "$@"
}
# cmake's output is shown only if it fails.
configure() {
  local said
  said="$(cmake "$@" 2>&1)" || { echo "$said" >&2; return 1; }
}
if [[ "$mode" == quick ]]; then
  mapfile -t sources < <(changed '*.cc' '*.h' '*.hpp' '*.cu' '*.cuh')
  wait "$!"
  ((${#sources[@]} == 0)) ||
    phase "format of ${#sources[@]} files" ci/format.sh --check -- "${sources[@]}"
else
  phase "format" ci/format.sh --check --all
fi
phase "include directions and sizes" python3 ci/check_sources.py
lint_code=0
if [[ "$mode" == quick ]]; then
  mapfile -t linted < <(changed)
  wait "$!"
  ((${#linted[@]} == 0)) || phase "lint" ci/lint.sh -- "${linted[@]}" || lint_code=$?
else
  phase "lint" ci/lint.sh || lint_code=$?
fi
((lint_code == 0 || lint_code == 5)) || exit "$lint_code"
phase "configuring" configure --preset "$preset"
[[ "$mode" == quick ]] || phase "building everything" cmake --build --preset "$preset"

# clang-tidy 14 takes seconds per file, so it checks the changed files, or all files with --full.
if [[ "$mode" == full ]]; then
  mapfile -t lint < <(git ls-files 'harness/*.cc' 'kernels/cpu/*.cc')
  wait "$!"
else
  mapfile -t lint < <(changed 'harness/*.cc' 'kernels/cpu/*.cc')
  wait "$!"
fi
# clang-tidy cannot read g++'s precompiled headers, so it uses the compile commands of a build
# without them, which is configured but never built.
lint() {
  configure --preset host -B build/tidy -DPLUMBLINE_PRECOMPILED_HEADERS=OFF &&
    printf '%s\n' "${lint[@]}" |
    xargs -P 2 -n 1 clang-tidy -p build/tidy --quiet --warnings-as-errors='*'
}
((${#lint[@]} == 0)) || phase "clang-tidy of ${#lint[@]} files" lint

case "$mode" in
  quick)
    phase "tests" python3 ci/choose_tests.py --preset "$preset" --since "$since" ;;
  tests) exec python3 ci/run_tests.py --preset "$preset" ;;
  full)
    python3 ci/run_tests.py --preset "$preset"
    # Also runs the labels that the presets leave out.
    for label in weekly times wheel; do
      python3 ci/run_tests.py --preset "$preset" --label "$label"
    done
    cmake --workflow --preset asan
    cmake --workflow --preset tsan
    ci/coverage.sh ;;
esac
