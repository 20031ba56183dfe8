#!/usr/bin/env bash
# Feeds mutated files to each parser of plumbline until the time is over (libFuzzer,
# AddressSanitizer and UBSan).
#   ci/fuzz.sh                          every target, 600 seconds each, one after another
#   ci/fuzz.sh --seconds 60 suite ids   two of them, a minute each
#   ci/fuzz.sh --total 3600             an hour, split evenly among the targets
#   ci/fuzz.sh --record                 adds a row to baselines/hardening.toml
#   ci/fuzz.sh --list                   the targets
# Prints a line per target: seconds, executions, inputs that reached new code, crashes. Exits with 1
# after a crash, a hang (25 s: sanitizers slow a parser thirtyfold) or an input that took more than
# 2 GiB. Such an input is kept in build/fuzz/crashes/TARGET: fix the parser and move the input to
# tests/fuzz/regressions/TARGET, which the tests replay. Inputs that reached new code are kept in
# $PLUMBLINE_FUZZ_CORPUS/TARGET, where the next call continues. Default: ~/.cache/plumbline/fuzz
# ($XDG_CACHE_HOME), which outlives builds and checkouts.
# Needs clang.
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
self="$(realpath -- "$0")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage() { sed -n '2,15p' "$0" | cut -c3-; }

seconds=600 total=0 record=0 targets=()
while (($#)); do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --list) awk '!/^#/ && !seen[$1]++ { print $1 }' tests/fuzz/seeds.txt; exit 0 ;;
    --seconds)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] ||
        refuse "--seconds needs a whole number above 0"
      seconds="$2"; shift ;;
    --total)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || refuse "--total needs a whole number above 0"
      total="$2"; shift ;;
    --record) record=1 ;;
    -*) refuse "unknown option $1" ;;
    *) targets+=("$1") ;;
  esac
  shift
done
mapfile -t known < <("$self" --list)
wait "$!"
((${#targets[@]})) || targets=("${known[@]}")
for target in "${targets[@]}"; do
  [[ " ${known[*]} " == *" $target "* ]] ||
    refuse "no target $target; there are ${known[*]}"
done
if ((total)); then
  seconds=$((total / ${#targets[@]}))
  ((seconds)) || refuse "--total $total is less than a second for each of ${#targets[@]} targets"
fi
corpora="${PLUMBLINE_FUZZ_CORPUS:-${XDG_CACHE_HOME:-$HOME/.cache}/plumbline/fuzz}"
mkdir -p "$corpora"
corpora="$(realpath -- "$corpora")"

commit="$(ci/hardening.py commit)"
ci/setup.sh --fuzz
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}"

# Copies the files that seeds.txt lists for a target, and its regressions, to FOLDER. Writes their
# words to FOLDER.dict.
gather_seeds() {
  local target="$1" folder="$2" pattern file
  while read -r pattern; do
    for file in $pattern; do [[ -f "$file" ]] && cp "$file" "$folder/${file//\//_}"; done
  done < <(awk -v target="$target" '$1 == target { print $2 }' tests/fuzz/seeds.txt)
  for file in tests/fuzz/regressions/"$target"/*; do [[ -f "$file" ]] && cp "$file" "$folder"; done
  cat "$folder"/* | LC_ALL=C grep -aoE '[A-Za-z_][A-Za-z_0-9]{1,30}' | sort -u |
    sed 's/.*/"&"/' >"$folder.dict"
}

export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=0:${ASAN_OPTIONS:-}" \
  UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
printf '%-12s %8s %12s %10s %8s\n' target seconds executions new-inputs crashes
failed=0 all_seconds=0 all_executions=0 all_added=0 by_target=() findings=()
for target in "${targets[@]}"; do
  corpus="$corpora/$target" crashes="$PWD/build/fuzz/crashes/$target" \
    log="$PWD/build/fuzz/$target.log"
  mkdir -p "$corpus" "$crashes" "$scratch/$target"
  gather_seeds "$target" "$scratch/$target"
  status=0
  build/fuzz/bin/"fuzz_$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 \
    -max_len=16384 -print_final_stats=1 -dict="$scratch/$target.dict" \
    -artifact_prefix="$crashes/" "$corpus" "$scratch/$target" >"$log" 2>&1 || status=$?
  executions="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  added="$(sed -n 's/^stat::new_units_added: *//p' "$log")"
  took="$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")"
  printf '%-12s %8s %12s %10s %8s\n' "$target" "${took:--}" "${executions:--}" "${added:--}" \
    "$((status != 0))"
  all_seconds=$((all_seconds + ${took:-0})) all_executions=$((all_executions + ${executions:-0}))
  all_added=$((all_added + ${added:-0})) by_target+=("$target = ${executions:-0}")
  if ((status)); then
    failed=$((failed + 1))
    what="$(grep -aE '^SUMMARY|runtime error' "$log" | tail -1 | tr -d "\"\\\\'" |
      cut -c1-200)" || true
    findings+=("\"$target: ${what:-exit code $status}\"")
    grep -aE '^(==[0-9]+==|terminate|  what)|ERROR|SUMMARY|runtime error|Test unit written' \
      "$log" | tail -8 >&2 || true
    echo "ci/fuzz.sh: $target failed; $log has the whole output" >&2
  fi
done
joined() { local IFS=,; echo "$*"; }
if ((record)); then
  ci/hardening.py append fuzz commit="\"$commit\"" seconds="$all_seconds" \
    executions="$all_executions" new_inputs="$all_added" crashes="$failed" \
    targets="{$(joined "${by_target[@]}")}" \
    findings="[$(joined "${findings[@]}")]"
fi
exit $((failed > 0))
