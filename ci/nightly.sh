#!/usr/bin/env bash
# Runs one night: restores the history, runs nightly and the stories, and extends the history.
#   ci/nightly.sh --history FILE [--first-night] [--out DIR] [--suite FILE]… [--commit SHA]
#       [--night ID] [--reports DIR] [--invariances FILE]… [-- more options of `plumbline run`]
#   --history FILE   database of earlier nights; each night replaces it atomically
#   --first-night    there is no earlier night: FILE must not exist, and is created. Without this
#                    option a missing FILE is an error (exit 3), because a night without history
#                    finds no regression
#   --commit SHA     commit of the code under test (default: PLUMBLINE_COMMIT, then GITHUB_SHA, then
#                    the git repository of the caller's folder)
#   --out DIR        junit.xml, invariances.xml, summary.md, failures/ (default: out/nightly)
#   --reports DIR    nvcc's reports on the CUDA kernels (default: those of the build; without them,
#                    the night reports it and goes on)
#   --suite FILE     instead of cases/nightly.toml, cases/timed.toml and the stories; repeat for
#                    more
#   --invariances FILE  suite whose invariances are measured (default: cases/invariances.toml; with
#                       --suite: none); repeat for more
#   --night ID       adds this machine's runs to the night ID (default: a new night)
# With neither --suite nor PLUMBLINE_BINARY this is plumbline's own night. It also judges MLX, Keras
# and OpenVINO (ci/thirdparty.sh --night), or reports that their environment is missing.
# Exit codes are those of `plumbline night close`: 1 something fails or a regression is confirmed, 3
# a run is incomplete or was killed, 5 something is open (unconfirmed, ambiguous, suspect, or a case
# of the previous night is missing). Code 1 can also mean that a compiled kernel uses more resources
# than baselines/resources approves. If the invariances alone measured nothing, the script prints a
# warning and does not end with code 4.
# Example: ci/nightly.sh --history history.db -- --provider ./libmine.so

# Read before this script changes into plumbline's own repository: the caller's repository has the
# kernels under test.
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
  echo "ci/nightly.sh: $history is missing, so nothing can be compared with earlier nights, and a" \
    "regression would pass; remedy: restore it (a backup, an artifact of the last night), or add" \
    "--first-night if there is no earlier night" >&2
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
# A killed run writes none of these, and the files of an earlier night would look like its own.
rm -f "$out"/{summary.md,junit.xml,invariances.xml}
work="$(mktemp -d "$out/work.XXXXXX")"
trap 'rm -rf "$work"' EXIT
# Copies the pages unchanged, including those of the write-ahead log. VACUUM would rebuild the whole
# file, which takes seconds for a year of nights.
[[ -e "$history" ]] && sqlite3 "$history" ".backup '$work/night.db'"

# Runs are stored in a copy that becomes the history in the end, so the log shows the history's
# name.
name_history() {
  local line
  while IFS= read -r line; do printf '%s\n' "${line//"$work/night.db"/"$history"}"; done
}

# worse_of CODE…: prints the first in the order of precedence (docs/judging.md). Any other code,
# such as 137 of a killed program, means that something did not finish, and counts as 3.
worse_of() {
  local code known ranks=" "
  for code in "$@"; do
    case $code in [0-5]) ranks+="$code " ;; *) ranks+="3 " ;; esac
  done
  for known in 2 3 4 1 5 0; do
    [[ "$ranks" != *" $known "* ]] || { echo "$known"; return; }
  done
}

# Prints the runs of the night so far as JSON. If it has none, prints an error or nothing.
list_runs() {
  "$plumbline" night show "$night" --db "$work/night.db" --format json 2>/dev/null || true
}

# Prints the worst exit code of the night's runs, apart from those of the invariances.
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

# Writes a summary for an incomplete night. Otherwise the summary of another run of the night would
# come first, and may say "Fine".
say_incomplete() {
  {
    echo "## plumbline: Incomplete: night $night has not run to its end: exit code $code"
    echo
    local ended="The suites ended with exit code $code_of_suites"
    ((${#invariances[@]} == 0)) || ended+=", the invariances with $code_of_invariances"
    echo "$ended. Next: read the log; a code of 128 or more is a signal, such as 137 if memory" \
      "ran out. Then run the night again, or finish its runs with \`plumbline run … --resume\`."
    echo
    "$plumbline" night show "$night" --db "$work/night.db" --format markdown || true
    if [[ -e "$out/summary.md" ]]; then cat "$out/summary.md"; fi
  } >"$work/summary.md"
  mv "$work/summary.md" "$out/summary.md"
}

if [[ -z "$night" ]]; then night="$("$plumbline" night open --db "$work/night.db")"; fi
export PLUMBLINE_NIGHT="$night"

# The invariances, on few problems, are a run of their own in the same history, before the night's
# run, so that the night's run is the latest. On GitHub, failures become annotations on the lines of
# the suites.
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
  echo "warning: no invariance was measured, because the options left out all cases or the" \
    "kernels support none" >&2
else
  code="$(worse_of "$code" "$kept")"
fi

# The resources of compiled kernels belong to the same run; measuring them needs no GPU. Exit code
# 4: nothing was compiled; 6: another nvcc. The summary lists the kernels of the suites, or with
# --reports all kernels.
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

# Closes the night: groups the alerts of all its runs.
if ((code == 0 || code == 1 || code == 5)); then
  closed=0
  "$plumbline" night close "$night" --db "$work/night.db" --format markdown >"$work/night.md" ||
    closed=$?
  cat "$work/night.md" "$out/summary.md" >"$work/summary.md"
  mv "$work/summary.md" "$out/summary.md"
  # Code 4 takes precedence over the codes of other runs. If it comes from the invariances, the
  # other runs decide.
  if ((closed == 4 && kept == 4)); then closed="$(worst_of_others)" || closed=3; fi
  code="$(worse_of "$code" "$closed")"
fi

# Kernels that need packages of their own are not part of the history: tests judge them.
if ((own_night)) && ((code == 0 || code == 1 || code == 5)); then
  ci/thirdparty.sh --night || code=1
fi

# Third-party compiled kernels: the stories on the original systems, and bugs planted in their
# source. Takes half an hour of one processor, mostly in compilers.
if ((own_night)) && ((code == 0 || code == 1 || code == 5)); then
  if [[ -e .providers/flashinfer && -e .providers/flash_attn ]]; then
    ci/stories.sh || code=1
    ci/source_mutants.py --plumbline "$plumbline" || code=1
  else
    echo "third-party kernels were not judged, nor bugs planted in them: their sources are" \
      "missing (ci/setup.sh --providers)"
  fi
fi

case $code in 0 | 1 | 4 | 5) ;; *) say_incomplete ;; esac

# Measurements become history, whatever the verdict. The copy is complete before it replaces the
# file; a copy that is not a plumbline database (application_id "plmb") replaces nothing. Turning
# off the write-ahead log merges it into the file, which is then complete.
if [[ -e "$work/night.db" &&
      "$(sqlite3 "$work/night.db" 'PRAGMA application_id')" == 1886154082 ]]; then
  if [[ "$(sqlite3 "$work/night.db" "PRAGMA journal_mode = delete")" != delete ]]; then
    echo "ci/nightly.sh: $work/night.db is still in use, history unchanged; run the night again" >&2
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
