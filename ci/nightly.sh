#!/usr/bin/env bash
# One night: restores the history, runs nightly and the stories, extends the history and hands it back.
#   ci/nightly.sh --history FILE [--out DIR] [--strict] [-- more options of `plumbline run`]
#   --history FILE   database of the nights before; created by the first night, replaced by each (never half written)
#   --out DIR        junit.xml, summary.md, failures/ (default: out/nightly)
#   --strict         an ambiguous night (exit 5) fails; without it, it warns
# Exit codes are those of `plumbline run`. Example: ci/nightly.sh --history history.db -- --provider ./libmine.so
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

history="" out=out/nightly strict=0
while (($#)); do
  case "$1" in
    --history) history="${2:?--history needs a file}"; shift 2 ;;
    --out) out="${2:?--out needs a directory}"; shift 2 ;;
    --strict) strict=1; shift ;;
    --) shift; break ;;
    -h | --help) sed -n '2,7p' "$0" | cut -c3-; exit 0 ;;
    *) echo "ci/nightly.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
  esac
done
[[ -n "$history" ]] || { echo "ci/nightly.sh: --history FILE is needed (see --help)" >&2; exit 2; }
build --target plumbline plumbline_cpu

mkdir -p "$out" "$(dirname "$history")"
work="$(mktemp -d "$out/work.XXXXXX")"
trap 'rm -rf "$work"' EXIT
[[ -e "$history" ]] && sqlite3 "$history" "VACUUM INTO '$work/night.db'"

code=0
"$plumbline" run cases/nightly.toml cases/stories/*.toml --tier nightly --purpose nightly --db "$work/night.db" \
  --junit "$out/junit.xml" --markdown "$out/summary.md" --save-failures "$out/failures" "$@" || code=$?

# What was measured is history, whatever the verdict. The copy is complete before it replaces the file.
if [[ -e "$work/night.db" ]]; then
  sqlite3 "$work/night.db" "VACUUM INTO '$work/handed-back.db'"
  cp "$work/handed-back.db" "$history.new"
  mv "$history.new" "$history"
fi
if ((code == 5 && !strict)); then
  echo "warning: the night is ambiguous (a regression did not show again in a fresh process); --strict would fail" >&2
  code=0
fi
exit "$code"
