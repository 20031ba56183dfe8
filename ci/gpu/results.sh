# Sourced by ci/gpu.sh: the order and limits of the steps, how they are started, watched and cut
# off, and the results written after each.

# Each step's limit in seconds if the deadline is 560 s, and the seconds that must be left to start
# it. Limits grow in proportion to a longer deadline.
declare -A heading=() limit=() least=()
step_keys=()
declare_step() { step_keys+=("$1"); limit[$1]=$2; least[$1]=$3; heading[$1]="$4"; }
# The limit of `facts` allows for the first import of every Python provider's packages.
declare_step facts 90 3 "GPU facts, and one worker under the default limits"
declare_step mma 60 10 "Tensor cores: fingerprint, disputed corners, random MMAs against the model"
declare_step record 30 3 "Recordings: 1,000 results of each tensor-core instruction"
declare_step special 150 10 "Special functions: all operands of ex2, rcp and others against models"
declare_step reference 40 5 "GPU reference against the CPU's"
declare_step pr_cuda 90 10 "cases/pr.toml on cuda:0"
declare_step pr_emulated 200 10 "cases/pr.toml on the emulator of the GPU's architecture"
declare_step bits 30 2 "The same bits on GPU and emulator"
declare_step compiled 90 10 "Third-party kernels, compiled from source, on cuda:0"
declare_step compiled_emulated 150 10 "The same kernels on the emulator of the GPU's architecture"
declare_step compiled_bits 30 2 "Third-party kernels: the same bits on GPU and emulator"
declare_step findings 40 5 "Third-party kernels: cases wrong on the emulator, run on cuda:0"
declare_step compiled_stories 90 15 "Stories S1, S2, S4 and S5 at full size on third-party kernels"
declare_step real 150 30 "Real kernels: cases/foreign.toml on cuda:0"
declare_step stories 140 30 "Stories S1 to S5 at full size on real kernels"
declare_step s4 60 15 "Story S4 at its own size, timed (cases/gpu.toml)"
declare_step speed 60 10 "Speed: kernels' shares of peak bandwidth and of the matrix peak"
declare_step tests 240 15 "Tests with label gpu"
declare_step memcheck 300 30 "compute-sanitizer memcheck"
declare_step racecheck 300 30 "compute-sanitizer racecheck"
declare_step lent 300 20 "cases/lent_gpu.toml on cuda:0: the cases that find most, first"
declare_step nightly 600 60 "cases/nightly.toml on cuda:0"
left_out_by_quick=" compiled_stories stories memcheck racecheck nightly "

# Running steps are ended this many seconds before the deadline: half is for the steps to end, half
# to write results.
reserve=8
patience=4                   # seconds between SIGTERM and SIGKILL of a step
failures_limit=$((8 << 20))  # bytes of failing tensors in the archive
special_limit=$((8 << 20))   # bytes of special functions' results in the archive

declare -A job=() begun=() result=() seconds=() note=() when=() from_earlier=()
busy=""

list_steps() {
  local key
  for key in "${step_keys[@]}"; do printf '%-12s %s\n' "$key" "${heading[$key]}"; done
}
quick_suffix() { ((quick)) && echo ", quick" || true; }
seconds_left() { ((deadline == 0)) && echo 86400 || echo $((deadline_at - SECONDS)); }
limit_of() {
  if ((deadline == 0)); then
    echo $((limit[$1] * 10))
  elif ((deadline > 560)); then
    echo $((limit[$1] * deadline / 560))
  else
    echo "${limit[$1]}"
  fi
}
say() { echo "$*" >>"$work/$current.note"; }  # called by a step; the text goes into the table

# ---- Earlier results ----

# Unpacks the results of an earlier call from --out. Results for another GPU, commit or --quick
# setting are kept under a name of their own.
take_up_earlier_results() {
  local key fields kept
  results="$work/results"
  fingerprint="$gpu, $arch, $commit$(quick_suffix)"
  mkdir -p "$out" "$results"
  deadline_at=$((SECONDS + deadline))
  if [[ -e "$out/results.tar.gz" ]]; then
    gzip -dc <"$out/results.tar.gz" | tar -C "$results" -xf - ||
      echo "$out/results.tar.gz cannot be unpacked whole" >&2
    if [[ ! -e "$results/of" || "$(<"$results/of")" != "$fingerprint" ]]; then
      kept="$out/results-$(date -u +%Y%m%dT%H%M%SZ).tar.gz"
      mv "$out/results.tar.gz" "$kept"
      rm -f "$out/log.txt"
      rm -rf "$results"
      mkdir "$results"
      echo "earlier results are for another GPU, commit or --quick setting: kept as $kept"
    fi
  fi
  echo "$fingerprint" >"$results/of"
  printf '# %s\n' "$identity" >>"$out/log.txt"
  while IFS=$'\t' read -r key fields; do
    [[ -n "${heading[$key]:-}" ]] || continue
    IFS=$'\t' read -r "result[$key]" "seconds[$key]" "when[$key]" "note[$key]" <<<"$fields"
    from_earlier[$key]=1
  done < <(cat "$results/steps.tsv" 2>/dev/null)
  busy="$(cat "$results/busy" 2>/dev/null || true)"
}

# ---- One step ----

selected() {
  local key
  ((${#only[@]})) || { ((!quick)) || [[ "$left_out_by_quick" != *" $1 "* ]]; return; }
  for key in "${only[@]}"; do [[ "$key" != "$1" ]] || return 0; done
  return 1
}
has_result() {
  [[ -n "${from_earlier[$1]:-}" && ("${result[$1]}" == pass || "${result[$1]}" == FAILED) ]]
}

# start KEY: starts the step in the background in a process group of its own, if it is selected and
# there is enough time.
start() {
  local key="$1" left
  selected "$key" || return 0
  if has_result "$key" && ((!again && !${#only[@]})) && [[ "$commit" != *"with changes" ]]; then
    echo "== ${heading[$key]}"
    echo "   skipped: ${result[$key]} on ${when[$key]}, for this GPU and commit;" \
      "--again or --only $key repeats it"
    return 0
  fi
  unset "from_earlier[$key]"
  when[$key]="$(date -u +%Y-%m-%dT%H:%M:%SZ)" seconds[$key]=0 note[$key]=""
  left=$(($(seconds_left) - reserve))
  if ((left < least[$key])); then
    result[$key]="not run"
    note[$key]="$((left > 0 ? left : 0)) s are left before the deadline; needs ${least[$key]} s"
    echo "== ${heading[$key]}"$'\n'"   not run: ${note[$key]}"
    return 0
  fi
  : >"$work/$key.note"
  rm -f "$results/$key".*
  begun[$key]=$SECONDS
  result[$key]="cut off"  # until it ends; a killed script leaves this result
  set -m
  (
    set +m
    trap - TERM INT HUP EXIT
    current="$key"
    { printf '# %s\n# %s\n' "${heading[$key]}" "$identity"; "step_$key"; } 2>&1 |
      tee -a "$out/log.txt" >"$results/$key.log"
  ) </dev/null &
  job[$key]=$!
  set +m
}
step() { start "$1"; finish "$1"; }

# finish KEY: waits until the step ends or reaches its limit or the deadline, then writes the
# results.
finish() {
  local key="$1" code=0 until why cut=""
  if [[ -z "${job[$key]:-}" ]]; then  # not started
    [[ -z "${result[$key]:-}" || -n "${from_earlier[$key]:-}" ]] || write_results
    return 0
  fi
  echo "== ${heading[$key]}"
  until=$((begun[$key] + $(limit_of "$key"))) why="at its limit of $(limit_of "$key") s"
  if ((deadline > 0 && until > deadline_at - reserve)); then
    until=$((deadline_at - reserve)) why="by the deadline of $deadline s"
  fi
  while kill -0 "${job[$key]}" 2>/dev/null; do
    ((SECONDS < until)) || { cut="$why"; stop_job "${job[$key]}"; break; }
    sleep 0.1
  done
  wait "${job[$key]}" 2>/dev/null || code=$?
  unset "job[$key]"
  seconds[$key]=$((SECONDS - begun[$key]))
  keep_runs "$key"
  [[ "$key" != pr_cuda ]] || busy="$(mean_of "$results/utilization.txt")"
  case $code in
    0) result[$key]=pass ;;
    77) result[$key]="not run" ;;
    *) result[$key]=FAILED ;;
  esac
  note[$key]="$(tr '|\t' '/ ' <"$work/$key.note" | paste -sd ';')"
  [[ -z "$cut" ]] || { result[$key]="cut off"; note[$key]="$cut${note[$key]:+; ${note[$key]}}"; }
  [[ "${result[$key]}" != FAILED ]] ||
    tail -n +3 "$results/$key.log" | tail -n 12 | while IFS= read -r line; do
      echo "   | $line"
    done
  echo "   ${result[$key]} in ${seconds[$key]} s${note[$key]:+: ${note[$key]}}"
  write_results
}

# Prints PID and all its descendants. A signal to the process group misses workers, which left it.
descendants() {
  local parent="$1" file stat pid
  echo "$parent"
  for file in /proc/[0-9]*/stat; do
    { read -r stat <"$file"; } 2>/dev/null || continue
    pid="${stat%% *}" stat="${stat##*) }"
    read -r _ stat _ <<<"$stat"
    [[ "$stat" != "$parent" ]] || descendants "$pid"
  done
}
# Sends SIGTERM to a step, so that plumbline stores its outcomes, and SIGKILL to what is left after
# some seconds.
stop_job() {
  local all end=$((SECONDS + patience))
  mapfile -t all < <(descendants "$1" || true)
  kill -TERM -- "-$1" 2>/dev/null || true
  while kill -0 "$1" 2>/dev/null && ((SECONDS < end)); do sleep 0.1; done
  mapfile -t -O "${#all[@]}" all < <(descendants "$1" || true)
  kill -KILL -- "-$1" 2>/dev/null || true
  kill -KILL "${all[@]}" 2>/dev/null || true
}
# Signal handler: cuts off the running steps and writes the results.
stop_everything() {
  local key
  trap - TERM INT HUP
  for key in "${!job[@]}"; do
    kill -TERM -- "-${job[$key]}" 2>/dev/null || true
  done
  for key in "${!job[@]}"; do
    stop_job "${job[$key]}"
    wait "${job[$key]}" 2>/dev/null || true
    seconds[$key]=$((SECONDS - begun[$key])) note[$key]="by a signal"
    keep_runs "$key"
  done
  job=()
  write_results
  print_end >&2
}

# ---- Results ----

# Merges the runs of a step into gpu.db; a file that cannot be merged is kept separately.
keep_runs() {
  [[ -e "$results/$1.db" ]] || return 0
  if "$build/bin/plumbline" merge "$results/gpu.db" "$results/$1.db" >>"$out/log.txt" 2>&1; then
    rm -f "$results/$1".db "$results/$1".db-*
  else
    echo "   $1's runs could not be merged into gpu.db: see log.txt, and $1.db in results.tar.gz"
  fi
}

# Prints the mean of a file with one number per line, with one decimal; nothing for an empty file.
mean_of() {
  local line sum=0 n=0
  while read -r line; do
    [[ ! "$line" =~ ^[0-9]+$ ]] || { sum=$((sum + line)); n=$((n + 1)); }
  done < <(cat "$1" 2>/dev/null)
  ((n == 0)) || echo "$((sum * 10 / n / 10)).$((sum * 10 / n % 10))"
}
count() {
  local key n=0
  for key in "${!result[@]}"; do [[ "${result[$key]}" != "$1" ]] || n=$((n + 1)); done
  echo "$n"
}
named() {
  local key
  for key in "${step_keys[@]}"; do [[ "${result[$key]:-}" != "$1" ]] || printf ' %s' "$key"; done
}
counts() {
  echo "$(count pass) steps passed, $(count FAILED) failed, $(count "cut off") cut off," \
    "$(count "not run") not run"
}

summary() {
  local key remark=""
  ((!quick)) || remark=". **--quick: checks only that the steps run**"
  printf '## GPU: %s\n\n' "$(counts)"
  printf '%s%s\n\n' "$identity" "$remark"
  printf '| step | result | s | | log in results.tar.gz |\n|---|---|---|---|---|\n'
  for key in "${step_keys[@]}"; do
    [[ -n "${result[$key]:-}" ]] || continue
    printf '| %s | %s%s | %s | %s | %s.log |\n' "${heading[$key]}" "${result[$key]}" \
      "${from_earlier[$key]:+ (${when[$key]})}" "${seconds[$key]}" "${note[$key]}" "$key"
  done
  echo
  if [[ -n "$busy" ]]; then
    printf 'The GPU was busy for %s %% of the wall time of the pr run' "$busy"
    printf ' (nvidia-smi utilization).\n\n'
  fi
  summarize_lines mma '(: [0-9a-f]{8}$| instructions, )'
  summarize_lines record ' rows, [0-9]+ differ'
  summarize_lines special '( operands, | error 2\^)'
  summarize_speed
}
# Prints the lines of a step's log that match the pattern.
summarize_lines() {
  local line taken=""
  [[ -e "$results/$1.log" ]] || return 0
  while IFS= read -r line; do
    [[ ! "$line" =~ $2 ]] || taken+="$line"$'\n'
  done < <(tail -n +3 "$results/$1.log")
  [[ -z "$taken" ]] || printf '```\n%s```\n\n' "$taken"
}
summarize_speed() {
  local line started=0
  [[ -e "$results/speed.log" ]] || return 0
  while IFS= read -r line; do
    [[ "$line" != "What this GPU does"* ]] || started=1
    ((!started)) || echo "$line"
  done <"$results/speed.log"
}
figures() {
  local key
  printf 'schema = 1\n'
  printf '%s = "%s"\n' gpu "$gpu" arch "$arch" driver "$driver" toolkit "$toolkit" \
    date "$date" commit "$commit"
  printf 'quick = %s\n' "$( ((quick)) && echo true || echo false)"
  [[ -z "$busy" ]] || printf 'gpu_busy_share_of_pr_run = %d.%03d\n' \
    $((10#${busy/./} / 1000)) $((10#${busy/./} % 1000))
  for key in "${step_keys[@]}"; do
    [[ -n "${result[$key]:-}" ]] || continue
    printf '\n[[step]]\nname = "%s"\nresult = "%s"\nseconds = %d\ndate = "%s"\n' \
      "$key" "${result[$key]}" "${seconds[$key]}" "${when[$key]}"
  done
  cat "$results/speed.toml" 2>/dev/null || true
}

# Keeps the smallest files of failures/ up to the archive's limit, and lists the others.
limit_failures() {
  local size file kept=0
  [[ -d "$results/failures" ]] || return 0
  while read -r size file; do
    kept=$((kept + size))
    if ((kept > failures_limit)); then
      echo "${file##*/}: $size bytes" >>"$results/failures/left_out.txt"
      rm -f "$file"
    fi
  done < <(for file in "$results"/failures/*.safetensors; do
    [[ ! -e "$file" ]] || echo "$(wc -c <"$file") $file"
  done | sort -n)
}

# Replaces each file atomically: written under another name, then renamed.
write_results() {
  local key
  summary >"$out/.summary.md"
  mv "$out/.summary.md" "$out/summary.md"
  for key in "${step_keys[@]}"; do
    [[ -z "${result[$key]:-}" ]] ||
      printf '%s\t%s\t%s\t%s\t%s\n' \
        "$key" "${result[$key]}" "${seconds[$key]}" "${when[$key]}" "${note[$key]}"
  done >"$results/steps.tsv"
  [[ -z "$busy" ]] || echo "$busy" >"$results/busy"
  figures >"$results/figures.toml"
  limit_failures
  # A running step may change its files meanwhile, for which tar exits with 1. Compresses in a pipe,
  # because tar -z needs /bin/sh.
  if ! { tar -C "$results" -cf - . 2>"$work/tar.said" || (($? == 1)); } |
    gzip >"$out/.results.tar.gz"; then
    echo "   the results could not be written to $out: $(<"$work/tar.said")" >&2
    return 0
  fi
  mv "$out/.results.tar.gz" "$out/results.tar.gz"
}

print_end() {
  echo "$out/summary.md"
  echo "ci/gpu.sh: $(counts)"
  ((!$(count FAILED))) || echo "ci/gpu.sh: failed:$(named FAILED)"
  ((!$(count "cut off"))) || echo "ci/gpu.sh: cut off:$(named "cut off")"
  ((!$(count "not run"))) || echo "ci/gpu.sh: not run:$(named "not run")"
}
finish_results() {
  local code=0
  if [[ -n "$history" && -e "$results/gpu.db" ]]; then
    mkdir -p "$(dirname "$history")"
    if ! "$build/bin/plumbline" merge "$history" "$results/gpu.db"; then
      echo "ci/gpu.sh: $history was not extended; new runs are gpu.db in $out/results.tar.gz" >&2
      code=3
    fi
  fi
  print_end >&2
  (($(count FAILED) == 0)) || exit 1
  ((code == 0)) || exit $code
  (($(count "cut off") + $(count "not run") == 0)) || exit 5
  (($(count pass))) || end_with 5 "no step was run"
}
