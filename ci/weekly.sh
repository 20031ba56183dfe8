#!/usr/bin/env bash
# Runs the items that are too slow for CI, one after another. A failed item does not stop the rest.
#   ci/weekly.sh                  runs the items that have not passed for this commit yet. A commit
#                                 of results alone does not count as a new one.
#   ci/weekly.sh --only ITEM...   these items alone (--list names them)
#   ci/weekly.sh --again          also runs items that have passed for this commit
#   ci/weekly.sh --check          runs nothing: prints the state of each item; items without a
#                                 result of the last eight days are open
#   ci/weekly.sh --results FILE   file with the last result of each item, rewritten after each item
#                                 (default: baselines/weekly.csv)
# The output of each item is also in out/weekly/ITEM.log. The items fuzz, kills and requests add a
# row to baselines/hardening.toml, which docs/hardening.md shows. The item mutants builds tests in a
# copy of the tree, and then part of them again for each bug. If interrupted, it resumes there.
# Exit codes: 0 every item passed, 1 some failed, 2 usage, 5 none failed and some are open.
# Example: ci/weekly.sh --only tsan coverage
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null

# A line is ITEM COMMAND: a function below, or a bash command. A test names another table.
items_file="${PLUMBLINE_WEEKLY_ITEMS:-}"
items="asan      run_preset asan
tsan      run_preset tsan --at-most 5
host      without_nvcc run_preset host
compiled  run_compiled
weekly    run_label weekly
times     run_label times
wheel     run_label wheel
coverage  ci/coverage.sh
mutants   ci/harness_mutants.py
fuzz      ci/fuzz.sh --total 3600 --record
kills     attack ci/kills.py --count 125 --record
requests  attack ci/hostile_requests.py --count 2000 --record"
header=item,date,commit,result,processor_seconds,wall_seconds
results=baselines/weekly.csv
valid_days=8

# run_preset PRESET OPTION...: builds a preset and runs its tests. ThreadSanitizer slows tests 10 to
# 20 times, so the item tsan leaves out slow ones.
run_preset() {
  cmake --preset "$1" && cmake --build --preset "$1" &&
    python3 ci/run_tests.py --preset "$1" "${@:2}"
}
# Tests FlashAttention-2 and the FlashInfer instances that preset ci leaves out: clang takes
# minutes.
run_compiled() {
  cmake --preset ci -B build/compiled \
    -DPLUMBLINE_FLASH_ATTENTION_FILES="fwd_hdim64_bf16_causal;fwd_hdim64_bf16" \
    -DPLUMBLINE_FLASHINFER_INSTANCES=default &&
    cmake --build build/compiled --target programs test_flash_attention test_other_kernels \
      kernels/compiled/all &&
    ctest --test-dir build/compiled --output-on-failure --parallel 2 --label-regex '^compiled$'
}
run_label() {
  cmake --preset "$preset" && cmake --build --preset "$preset" &&
    python3 ci/run_tests.py --preset "$preset" --label "$1"
}
# Calls a script that attacks this preset's program.
attack() {
  cmake --preset "$preset" && cmake --build --preset "$preset" --target programs &&
    "$@" --plumbline "$plumbline"
}
# Runs a command with a PATH without nvcc. The other programs of nvcc's folder are linked elsewhere.
without_nvcc() {
  local folder folders kept=()
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    if [[ -x "$folder/nvcc" ]]; then
      local links="$source_directory/out/weekly/without_nvcc$folder"
      rm -rf "$links" && mkdir -p "$links"
      ln -s "$folder"/* "$links" && rm -f "$links"/nvcc*
      folder="$links"
    fi
    kept+=("$folder")
  done
  (PATH="$(IFS=:; echo "${kept[*]}")"; hash -r; "$@")
}

only=() again=0 check=0
while (($#)); do
  case "$1" in
    --only)
      shift
      while (($#)) && [[ "$1" != -* ]]; do only+=("$1"); shift; done
      ((${#only[@]})) || refuse "--only needs an item" ;;
    --again) again=1; shift ;;
    --check) check=1; shift ;;
    --list) only=(list); shift ;;
    --results) require_value "a file" "$@"
      results="$(absolute "$2")"; shift 2 ;;
    -h | --help) sed -n '2,/^# Example/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    *) refuse "unknown option $1" ;;
  esac
done
if [[ -n "$items_file" ]]; then
  [[ -r "$items_file" ]] || refuse "PLUMBLINE_WEEKLY_ITEMS names $items_file, which cannot be read"
  items="$(<"$items_file")"
fi
names=()
declare -A command_of
while read -r name command; do
  [[ -n "$name" ]] || continue
  names+=("$name")
  command_of[$name]="$command"
done <<<"$items"
if [[ "${only[*]}" == list ]]; then printf '%s\n' "${names[@]}"; exit 0; fi
for name in "${only[@]}"; do
  [[ -n "${command_of[$name]:-}" ]] || refuse "there is no item $name; there are: ${names[*]}"
done

# ---- The results file ----

declare -A result_of  # item -> its line
if [[ -e "$results" ]]; then
  { read -r line || true
    [[ "$line" == "$header" ]] || refuse "$results: the first line is not $header"
    while IFS= read -r line; do
      [[ "$line" =~ ^[a-z_]+,[0-9TZ:-]+,[^,]+,(passed|failed),[0-9]+,[0-9]+$ ]] ||
        refuse "$results: the fields are not $header: $line"
      result_of["${line%%,*}"]="$line"
    done
  } <"$results"
fi
field() { cut -d, -f"$2" <<<"${result_of[$1]:-}"; }
write_results() {
  mkdir -p "$(dirname "$results")"
  { echo "$header"
    for name in "${names[@]}"; do
      [[ -z "${result_of[$name]:-}" ]] || echo "${result_of[$name]}"
    done
  } >"$results.new"
  mv "$results.new" "$results"
}
# state_of ITEM: prints passed, failed, or open and why.
state_of() {
  local finished age
  [[ -n "${result_of[$1]:-}" ]] || { echo "open: it never ran"; return; }
  finished="$(date -u -d "$(field "$1" 2)" +%s)" ||
    { echo "open: its date cannot be read"; return; }
  age=$((($(date -u +%s) - finished) / 86400))
  if [[ "$(field "$1" 4)" == failed ]]; then
    echo "failed on $(field "$1" 2), commit $(field "$1" 3)"
  elif ((age >= valid_days)); then
    echo "open: its result is $age days old"
  else
    echo "passed on $(field "$1" 2), commit $(field "$1" 3), $(field "$1" 5) s of processor time"
  fi
}
# Prints the state of every item and exits with this script's exit code.
conclude() {
  local code=0 state
  for name in "${names[@]}"; do
    state="$(state_of "$name")"
    echo "$name: $state"
    case "$state" in
      failed*) code=1 ;;
      open*) ((code == 1)) || code=5 ;;
    esac
  done
  ((code != 5)) || echo "ci/weekly.sh: some items are open; next: ci/weekly.sh" >&2
  ((code != 1)) || echo "ci/weekly.sh: some items failed; their logs are out/weekly/ITEM.log" >&2
  exit "$code"
}
((!check)) || conclude

# ---- Main ----

# A result belongs to the newest commit that changed more than results; it belongs to none if the
# tree has changes or there is no git.
commit="$(python3 ci/hardening.py commit)"
((${#only[@]})) || only=("${names[@]}")
logs=out/weekly
mkdir -p "$logs"
[[ -n "$items_file" ]] || set_up_for_tests
number=0
for name in "${only[@]}"; do
  number=$((number + 1))
  place="[$number/${#only[@]}] $name"
  if ((!again)) && [[ "$commit" =~ ^[0-9a-f]+$ && "$(field "$name" 3)" == "$commit" ]] &&
    [[ "$(state_of "$name")" == passed* ]]; then
    echo "$place: has passed for $commit on $(field "$name" 2)"
    continue
  fi
  begun="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "$place: begins at $begun, log: $logs/$name.log"
  code=0
  TIMEFORMAT='%U %S %R'
  { time (eval "${command_of[$name]}" 2>&1 | tee "$logs/$name.log"); } 2>"$logs/$name.time" ||
    code=$?
  read -r user system wall <<<"$(tail -n 1 "$logs/$name.time")"
  processor="$(awk "BEGIN {printf \"%.0f\", $user + $system}")"
  wall="$(awk "BEGIN {printf \"%.0f\", $wall}")"
  rm -f "$logs/$name.time"
  result=passed
  ((code == 0)) || result=failed
  result_of[$name]="$name,$begun,$commit,$result,$processor,$wall"
  write_results
  echo "$place: $result after $wall s, $processor s of processor time (exit code $code)"
done
echo
conclude
