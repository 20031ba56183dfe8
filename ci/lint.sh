#!/usr/bin/env bash
# Checks Python with ruff, scripts with shellcheck, and the spelling of everything with codespell.
#   ci/lint.sh                 every file of the repository
#   ci/lint.sh -- FILE...      these files
# ci/setup.sh --python installs the three. Exit code 1: something was found; 5: nothing was found,
# but one of the three is missing and is named.
# Example: ci/lint.sh -- ci/lint.sh python/plumbline/kernels.py
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files=()
while (($#)); do
  case "$1" in
    -h | --help) sed -n '2,/^# Example/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    --) shift; files=("$@"); break ;;
    *) refuse "unknown option $1" ;;
  esac
done
if ((${#files[@]} == 0)); then
  mapfile -t files < <(git ls-files)
  wait "$!"
fi
# Prints the files with one of these endings.
chosen() {
  local file ending
  for file in "${files[@]}"; do
    for ending in "$@"; do
      if [[ "$file" == *"$ending" && -f "$file" ]]; then printf '%s\n' "$file"; fi
    done
  done
}
code=0
# run NAME PROGRAM WORD... : runs the program over the files on stdin, if there are any.
run() {
  local name="$1" program="$2" list
  shift 2
  mapfile -t list
  ((${#list[@]})) || return 0
  if [[ ! -x "$(command -v "$program")" ]]; then
    echo "ci/lint.sh: $name is missing; remedy: ci/setup.sh --python" >&2
    ((code)) || code=5
    return 0
  fi
  "$program" "$@" -- "${list[@]}" || code=1
}
ruff=.venv/bin/ruff
[[ -x "$ruff" ]] || ruff=ruff
run ruff "$ruff" check --quiet --force-exclude --output-format concise < <(chosen .py)
run shellcheck shellcheck --severity warning --format gcc < <(chosen .sh .ci/run)
run codespell codespell < <(chosen .py .sh .cc .h .hpp .cu .cuh .ts .mjs .md .toml .yml .txt .cmake)
exit "$code"
