#!/usr/bin/env bash
# Runs one step of a night that a job queue measures in shards (docs/fleet.md). The steps share a
# directory that all machines of the queue see. Databases are changed in a local directory, because
# SQLite does not write safely over network file systems.
#   ci/fleet/night.sh [options] shard I N SUITE… [-- more options of `plumbline run`]
#   ci/fleet/night.sh [options] wait N     waits for all N shards; fails if a shard has failed
#   ci/fleet/night.sh [options] merge      merges the shards into the history and judges them
#   ci/fleet/night.sh [options] confirm    measures open findings again in fresh processes
#   ci/fleet/night.sh [options] settle     judges again with the results of `confirm`
#   --directory DIR   directory of this night's shards, one per night
#   --history FILE    database of earlier nights; `merge` and `settle` replace it atomically.
#                     Without --first-night it must exist
#   --first-night     there is no earlier night
#   --night ID        names the night (default: the name of DIR)
#   --plumbline FILE  the program (default: plumbline on the PATH)
# Exit codes: `shard`, `merge` and `confirm` end with 0 if the next step can run, whatever they
# found; `settle` ends with the night's: 0 nothing failed, 1 a failure or confirmed regression,
# 5 unconfirmed or ambiguous. Codes 2, 3 and 4 mean the same as plumbline's and stop the night.
# Example: ci/fleet/night.sh --directory night-1 --history history.db shard 3 20 cases/nightly.toml
source "$(dirname "${BASH_SOURCE[0]}")/../options.sh"

directory="" history="" night="" plumbline=plumbline first_night=0
while (($#)); do
  case "$1" in
    --directory) require_value "a folder" "$@"; directory="$2"; shift 2 ;;
    --history) require_value "a file" "$@"; history="$2"; shift 2 ;;
    --first-night) first_night=1; shift ;;
    --night) require_value "a name" "$@"; night="$2"; shift 2 ;;
    --plumbline) require_value "a file" "$@"; plumbline="$2"; shift 2 ;;
    -h | --help) sed -n '2,/^# Example/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    -*) refuse "unknown option $1" ;;
    *) break ;;
  esac
done
step="${1:-}"
[[ -n "$directory" && -n "$history" && -n "$step" ]] ||
  refuse "--directory, --history and a step are needed"
shift
is_count() { [[ "${1:-}" =~ ^[1-9][0-9]*$ ]]; }
case "$step" in
  shard)
    { is_count "${1:-}" && is_count "${2:-}" && (($1 <= $2)); } ||
      refuse "shard needs I N, with I from 1 to N"
    [[ "${3:---}" != -- ]] || refuse "shard needs a suite" ;;
  wait) is_count "${1:-}" || refuse "wait needs N, the number of shards"; refuse_surplus "${@:2}" ;;
  merge | confirm | settle) refuse_surplus "$@" ;;
  *) refuse "unknown step $step" ;;
esac
night="${night:-$(basename "$(realpath -m "$directory")")}"
mkdir -p "$directory"
if ((!first_night)) && [[ ! -s "$history" ]]; then
  echo "ci/fleet/night.sh: $history is missing, so nothing can be compared with earlier" \
    "nights; remedy: restore it, or add --first-night if there is no earlier night" >&2
  exit 3
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# fetch_history copies the history to $work: one file, because a closed database has no -wal file.
# hand_over replaces a shared file atomically.
fetch_history() { [[ ! -s "$history" ]] || cp "$history" "$work/history.db"; }
hand_over() {  # FILE TO
  cp "$1" "$2.new.$$"
  mv "$2.new.$$" "$2"
}

# Runs the program; exit codes 1 and 5 are findings, after which the night goes on.
found=0
goes_on() {
  found=0
  "$plumbline" "$@" || found=$?
  ((found == 0 || found == 1 || found == 5)) && return
  echo "ci/fleet/night.sh: $step ended with exit code $found" >&2
  exit "$found"
}

case "$step" in
  shard)
    shard="$1" shards="$2"
    shift 2
    suites=()
    while (($#)) && [[ "$1" != -- ]]; do suites+=("$1"); shift; done
    (($# == 0)) || shift
    trap 'rm -rf "$work"; touch "$directory/failed-$shard"' EXIT
    rm -f "$directory/failed-$shard"
    fetch_history
    costs=()
    [[ ! -s "$work/history.db" ]] || costs=(--costs "$work/history.db")
    goes_on run "${suites[@]}" --purpose nightly --night "$night" --shard "$shard/$shards" \
      "${costs[@]}" --db "$work/shard.db" --quiet "$@"
    hand_over "$work/shard.db" "$directory/shard-$shard.db"
    trap 'rm -rf "$work"' EXIT
    ;;
  wait)
    shards="$1"
    while true; do
      there=0
      for ((i = 1; i <= shards; ++i)); do
        if [[ -e "$directory/shard-$i.db" ]]; then
          there=$((there + 1))
        elif [[ -e "$directory/failed-$i" ]]; then
          echo "ci/fleet/night.sh: shard $i of $shards has failed" >&2
          exit 3
        fi
      done
      ((there < shards)) || break
      sleep 5
    done
    ;;
  merge)
    fetch_history
    goes_on merge "$work/history.db" "$directory"/shard-*.db --judge \
      --confirmations "$directory/open.json"
    hand_over "$work/history.db" "$history"
    echo "$found" >"$directory/merged"
    ;;
  confirm)
    fetch_history
    goes_on confirm "$directory/open.json" --db "$work/confirm.db" --past "$work/history.db"
    hand_over "$work/confirm.db" "$directory/confirm.db"
    ;;
  settle)
    fetch_history
    goes_on merge "$work/history.db" "$directory"/shard-*.db "$directory/confirm.db" --judge \
      --confirmations "$directory/still-open.json"
    hand_over "$work/history.db" "$history"
    echo "$found" >"$directory/settled"
    exit "$found"
    ;;
esac
