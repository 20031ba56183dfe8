#!/usr/bin/env bash
# One night: restores the history, runs nightly and the stories, extends the history, hands it back.
#   ci/nightly.sh --history FILE [--first-night] [--out DIR] [--suite FILE]… [--commit SHA]
#       [--night ID] [-- more options of `plumbline run`]
#   --history FILE   database of the nights before; replaced by each night (never half written)
#   --first-night    there is no night before: FILE must not exist, and is created. Without it a
#                    FILE that is missing is an error (exit 3), since a night that lost its history
#                    finds no regression
#   --commit SHA     of the code under test (default: PLUMBLINE_COMMIT, GITHUB_SHA, else that of the
#                    git repository in which this is called)
#   --out DIR        junit.xml, invariances.xml, summary.md, failures/ (default: out/nightly)
#   --reports DIR    what nvcc said of the CUDA kernels (default: those of the build; without any
#                    this is said and the night goes on)
#   --suite FILE     instead of cases/nightly.toml, cases/timed.toml and the stories; repeat for
#                    more
#   --invariances FILE  suite whose invariances are measured (default: cases/invariances.toml; with
#                       --suite: none); repeat for more
#   --night ID       of the night, which this machine's runs are then part of (default: a new one)
# Without --suite and PLUMBLINE_BINARY it is plumbline's own night, which judges MLX, Keras and
# OpenVINO, too (ci/thirdparty.sh --night); where their environment is absent it says so.
# Exit codes are those of `plumbline night close`: 1 something fails or a regression is confirmed, 3
# a run is incomplete or was killed, 5 something is open (unconfirmed, ambiguous, suspect, or a case
# of the night before is missing); 1 also where a compiled kernel takes more than
# baselines/resources approves. 4 is a warning where only the invariances of this script measured
# nothing.
# Example: ci/nightly.sh --history history.db -- --provider ./libmine.so

# The caller's repository holds the kernels under test: this script then changes into plumbline's
# own.
caller_commit="${PLUMBLINE_COMMIT:-${GITHUB_SHA:-$(git rev-parse HEAD 2>/dev/null || true)}}"
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

history="" out=out/nightly night="" first_night=0 commit="$caller_commit"
suites=() invariances=() reports=()
while (($#)); do
  case "$1" in
    --history | --suite | --invariances) require_value "a file" "$@" ;;&
    --out | --reports) require_value "a folder" "$@" ;;&
    --commit | --night) require_value "a name" "$@" ;;&
    --history) history="$(absolute "$2")"; shift 2 ;;
    --first-night) first_night=1; shift ;;
    --commit) commit="$2"; shift 2 ;;
    --out) out="$(absolute "$2")"; shift 2 ;;
    --reports) reports=(--reports "$(absolute "$2")"); shift 2 ;;
    --suite) suites+=("$(absolute "$2")"); shift 2 ;;
    --invariances) invariances+=("$(absolute "$2")"); shift 2 ;;
    --night) night="$2"; shift 2 ;;
    --) shift; break ;;
    -h | --help) sed -n '2,/^# Example/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    *) refuse "unknown option $1" ;;
  esac
done
[[ -n "$history" ]] || refuse "--history FILE is needed"
if ((first_night)) && [[ -e "$history" ]]; then
  echo "ci/nightly.sh: $history exists: this is not the first night;" \
    "remedy: leave --first-night out, or name another file" >&2
  exit 3
fi
if ((!first_night)) && [[ ! -s "$history" ]]; then
  echo "ci/nightly.sh: $history is missing: without the nights before nothing can be compared," \
    "and a regression would be green; remedy: restore it (a backup, an artifact of the last" \
    "night), or say --first-night where there was none" >&2
  exit 3
fi
export PLUMBLINE_COMMIT="$commit"
((${#suites[@]} + ${#invariances[@]})) || invariances=(cases/invariances.toml)
own_night=0
((${#suites[@]})) ||
  { own_night=1; suites=(cases/nightly.toml cases/timed.toml cases/stories/*.toml); }
# PLUMBLINE_BINARY names a plumbline that is already built.
if [[ -n "${PLUMBLINE_BINARY:-}" ]]; then
  plumbline="$PLUMBLINE_BINARY" own_night=0
else
  build --target plumbline plumbline_cpu
fi

mkdir -p "$out" "$(dirname "$history")"
# A run that is killed writes none of these: those of the night before would stand for it.
rm -f "$out"/{summary.md,junit.xml,invariances.xml}
work="$(mktemp -d "$out/work.XXXXXX")"
trap 'rm -rf "$work"' EXIT
# The pages as they are, those of the write-ahead log included; VACUUM would build the whole file
# anew, seconds for a year of nights.
[[ -e "$history" ]] && sqlite3 "$history" ".backup '$work/night.db'"

# The runs are stored in a copy, which becomes the history in the end: the log names the history.
name_history() {
  local line
  while IFS= read -r line; do printf '%s\n' "${line//"$work/night.db"/"$history"}"; done
}

# worse_of CODE…: the first in the order of precedence (docs/judging.md). Any other code, such as
# 137 of a killed program, means that something did not run to its end.
worse_of() {
  local code known ranks=" "
  for code in "$@"; do
    case $code in [0-5]) ranks+="$code " ;; *) ranks+="3 " ;; esac
  done
  for known in 2 3 4 1 5 0; do
    [[ "$ranks" != *" $known "* ]] || { echo "$known"; return; }
  done
}

# The runs of the night so far; an error, or nothing, where it has none.
list_runs() {
  "$plumbline" night show "$night" --db "$work/night.db" --format json 2>/dev/null || true
}

# The worst state of the night's runs, apart from those of the invariances.
worst_of_others() {
  local codes
  list_runs >"$work/all.json"
  codes="$(python3 - "$work"/{all,before,after}.json <<'END'
import json, sys

def runs(path):
    with open(path, encoding="utf-8") as file:
        data = json.loads(file.read() or "{}").get("data") or {}
    return {run["run_id"]: run["exit_code"] for run in data.get("runs", [])}

every, before, after = map(runs, sys.argv[1:])
assert every, "the night has runs"
print(*(code for run, code in every.items() if run in before or run not in after))
END
  )" || return 1
  worse_of 0 $codes
}

# Without it the summary of another run of the night would speak first, and may say "Fine".
say_incomplete() {
  {
    echo "## plumbline: Incomplete: night $night has not run to its end: exit code $code"
    echo
    local ended="The suites ended with exit code $code_of_suites"
    ((${#invariances[@]} == 0)) || ended+=", the invariances with $code_of_invariances"
    echo "$ended. Next: read the log; a code of 128 or more is a signal, such as 137 where memory" \
      "ran out. Then run the night again, or finish its runs with \`plumbline run … --resume\`."
    echo
    "$plumbline" night show "$night" --db "$work/night.db" --format markdown || true
    if [[ -e "$out/summary.md" ]]; then cat "$out/summary.md"; fi
  } >"$work/summary.md"
  mv "$work/summary.md" "$out/summary.md"
}

if [[ -z "$night" ]]; then night="$("$plumbline" night open --db "$work/night.db")"; fi
export PLUMBLINE_NIGHT="$night"

# What must not matter, on few problems: a run of its own in the same history, before the night's,
# which stays the latest.
# GitHub shows what failed beside the lines of the suites.
annotations=()
[[ "${GITHUB_ACTIONS:-}" != true ]] || annotations=(--annotations)

kept=0
if ((${#invariances[@]})); then
  list_runs >"$work/before.json"
  "$plumbline" run "${invariances[@]}" --invariances --purpose nightly --db "$work/night.db" \
    --junit "$out/invariances.xml" \
    --markdown "$work/invariances.md" --save-failures "$out/failures" "$@" |
    name_history || kept=$?
  list_runs >"$work/after.json"
fi

code=0
"$plumbline" run "${suites[@]}" --tier nightly --purpose nightly --db "$work/night.db" \
  --junit "$out/junit.xml" --markdown "$out/summary.md" --save-failures "$out/failures" \
  "${annotations[@]}" "$@" | name_history || code=$?

code_of_suites=$code code_of_invariances=$kept
code="$(worse_of "$code")"
if [[ -e "$work/invariances.md" ]]; then cat "$work/invariances.md" >>"$out/summary.md"; fi
if ((kept == 4)); then
  echo "warning: no invariance was measured: the options left no case of them, or the kernels" \
    "take none" >&2
else
  code="$(worse_of "$code" "$kept")"
fi

# What the kernels take of each architecture belongs to the same run: no GPU is needed for it. Exit
# 4: nothing was compiled; 6: another nvcc. The summary lists the kernels that the suites have; all
# of them where --reports names what was compiled.
if ((code == 0 || code == 1 || code == 5)); then
  resources=0 listed=(--of-run)
  ((${#reports[@]} == 0)) || listed=()
  "$plumbline" resources "${reports[@]}" "${listed[@]}" --db "$work/night.db" --run latest \
    --format markdown >"$work/resources.md" || resources=$?
  cat "$work/resources.md" >>"$out/summary.md"
  case $resources in
    0 | 4) ;;
    6) echo "warning: resources are not comparable with the approved ones:" \
         "see $out/summary.md" >&2 ;;
    *) grep '^- ' "$work/resources.md" >&2 || true
      code="$(worse_of "$code" "$resources")" ;;
  esac
fi

# All runs of the night together: its alerts in groups.
if ((code == 0 || code == 1 || code == 5)); then
  closed=0
  "$plumbline" night close "$night" --db "$work/night.db" --format markdown >"$work/night.md" ||
    closed=$?
  cat "$work/night.md" "$out/summary.md" >"$work/summary.md"
  mv "$work/summary.md" "$out/summary.md"
  # 4 outranks what other runs came to: where the invariances are the ones that measured nothing,
  # the others decide.
  if ((closed == 4 && kept == 4)); then closed="$(worst_of_others)" || closed=3; fi
  code="$(worse_of "$code" "$closed")"
fi

# Kernels that need packages of their own have no part in the history: tests judge them.
if ((own_night)) && ((code == 0 || code == 1 || code == 5)); then
  ci/thirdparty.sh --night || code=1
fi

# Compiled kernels of others: the stories on the systems that they happened on, and bugs planted in
# their source. Half an hour of one processor, most of it compilers'.
if ((own_night)) && ((code == 0 || code == 1 || code == 5)); then
  if [[ -e .providers/flashinfer && -e .providers/flash_attn ]]; then
    ci/stories.sh || code=1
    ci/source_mutants.py --plumbline "$plumbline" || code=1
  else
    echo "no kernels of others were judged, and no bugs planted in them: their sources are" \
      "missing (ci/setup.sh --providers)"
  fi
fi

case $code in 0 | 1 | 4 | 5) ;; *) say_incomplete ;; esac

# What was measured is history, whatever the verdict. The copy is complete before it replaces the
# file; a file that is not plumbline's (application_id "plmb") stays as it was. Leaving the
# write-ahead log folds it into the file, which is whole then and can be copied.
if [[ -e "$work/night.db" &&
      "$(sqlite3 "$work/night.db" 'PRAGMA application_id')" == 1886154082 ]]; then
  if [[ "$(sqlite3 "$work/night.db" "PRAGMA journal_mode = delete")" != delete ]]; then
    echo "ci/nightly.sh: $work/night.db is still in use: the history stays as it was" >&2
    exit 3
  fi
  cp "$work/night.db" "$history.new"
  mv "$history.new" "$history"
fi
if ((code == 5)); then
  echo "the night has no failure, and something is open: unconfirmed, ambiguous, suspect, or a" \
    "case of the night before is missing; see $out/summary.md" >&2
fi
exit "$code"
