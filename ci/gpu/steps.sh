# Sourced by ci/gpu.sh: the steps. A step is a function step_KEY that runs in a process of its own.
# `say` adds text to the step's row of the table; its other output becomes the step's log. Exit code
# 77: the step cannot run here.

# ---- Python packages ----

# A provider file, and the package that it needs in addition to numpy.
python_providers=("torch_kernels torch" "transformers_kernels transformers"
  "xformers_kernels xformers" "flashinfer_kernels flashinfer" "flash_attn_kernels flash_attn"
  "jax_kernels jax" "onnxruntime_kernels onnxruntime")

# Imports each package once, so that workers find it in the disk's cache. Writes a file per package:
# its version, "absent", or why it does not load.
import_packages() {
  local entry package said packages=(numpy)
  for entry in "${python_providers[@]}"; do packages+=("${entry#* }"); done
  mkdir -p "$work/packages"
  for package in "${packages[@]}"; do
    said="$work/packages/.$package"
    timeout 200 "$PLUMBLINE_PYTHON" - "$package" >"$said" 2>/dev/null <<'PYTHON' ||
import importlib, importlib.metadata, importlib.util, sys
name = sys.argv[1]
if importlib.util.find_spec(name) is None:
    print("absent")
else:
    try:
        module = importlib.import_module(name)
        if name == "torch":
            module.zeros(1).to("cuda:0")
        print(getattr(module, "__version__", "of unknown version"))
    except BaseException as error:
        print("does not load:", type(error).__name__, *str(error).splitlines()[:1])
PYTHON
      echo "does not load: exit code $?" >"$said"
    mv "$said" "$work/packages/$package"
  done
}
warm_up_packages() {
  local own="$source_directory/.venv/bin/python"
  [[ -n "${PLUMBLINE_PYTHON:-}" ]] ||
    for PLUMBLINE_PYTHON in "$own" "$(command -v python3 || true)"; do
      [[ ! -x "$PLUMBLINE_PYTHON" ]] || break
    done
  [[ -n "$PLUMBLINE_PYTHON" ]] || return 0
  export PLUMBLINE_PYTHON
  set -m
  import_packages </dev/null >/dev/null 2>&1 &
  warming=$!
  disown "$warming"
  set +m
  trap 'kill -KILL -- "-$warming" 2>/dev/null || true; rm -rf "$work"' EXIT
}
# package_state NAME: waits until the package has been imported.
package_state() {
  while [[ ! -e "$work/packages/$1" ]] && kill -0 "${warming:-0}" 2>/dev/null; do sleep 0.1; done
  cat "$work/packages/$1" 2>/dev/null || echo "absent"
}
# Fills `providers` with options for the packages that load; reports the measured and the missing
# ones.
choose_python_providers() {
  local entry file package state have=() lack=()
  providers=()
  [[ -n "${PLUMBLINE_PYTHON:-}" ]] || { say "not measured: there is no python3"; return 1; }
  state="$(package_state numpy)"
  if [[ "$state" == absent || "$state" == does* ]]; then
    say "not measured: every Python provider needs numpy ($state)"
    return 1
  fi
  for entry in "${python_providers[@]}"; do
    file="${entry% *}" package="${entry#* }"
    state="$(package_state "$package")"
    if [[ "$state" == absent || "$state" == does* ]]; then
      lack+=("$package ($state)")
    else
      have+=("$package $state")
      providers+=(--provider "$file.py")
    fi
  done
  ((${#lack[@]} == 0)) || say "not measured: $(joined "${lack[@]}")"
  ((${#have[@]})) || return 1
  say "measured: $(joined "${have[@]}")"
}
joined() { local IFS=,; echo "$*" | { IFS= read -r line; echo "${line//,/, }"; }; }

# ---- Plumbline and the test programs ----

# run_suites DEVICE suite… [options]: runs suites into KEY.db and judges them; with --history, also
# against the past in that database. DEVICE "": the devices of the suites. The last line of the
# report goes into the table. Each worker on a GPU holds a context and, in Python, a framework, so
# steps with Python providers use four workers (-j 4).
run_suites() {
  local device="$1" code=0 line said="" past=()
  shift
  [[ -z "$history" || ! -e "$history" ]] || past=(--past "$history")
  "$build/bin/plumbline" run "$@" ${device:+--device "$device"} "${past[@]}" \
    --baselines "$source_directory/baselines" --db "$results/$current.db" --purpose gpu \
    --junit "$results/$current.xml" --markdown "$results/$current.md" \
    --save-failures "$results/failures" -q 2>&1 | tee "$work/$current.run" || code=$?
  while IFS= read -r line; do
    case "$line" in "run "*) said="$line" ;; "not measured, "*) say "$line" ;; esac
  done <"$work/$current.run"
  say "${said:-plumbline run: exit code $code}"
  return $code
}
needs() { [[ -e "$build/$1" ]] || { say "$1 is not in this build"; return 77; }; }
needs_cases() { [[ -e "$source_directory/$1" ]] || { say "$1 is not here"; return 77; }; }

# gtest PROGRAM [options]: runs a GoogleTest program, under the command in `prefix` if there is one.
# Fails if a test is skipped or none runs.
prefix=()
gtest() {
  local name="${1##*/}" code=0 passed=0 skipped="" line
  "${prefix[@]}" "$build/$1" "${@:2}" 2>&1 | tee "$work/$current.gtest" || code=$?
  while IFS= read -r line; do
    [[ ! "$line" =~ ^\[\ \ PASSED\ \ \]\ ([0-9]+)\ test ]] || passed="${BASH_REMATCH[1]}"
    [[ ! "$line" =~ ^\[\ \ SKIPPED\ \]\ ([0-9]+)\ tests?,\ listed ]] || skipped="${BASH_REMATCH[1]}"
  done <"$work/$current.gtest"
  if ((code)); then
    say "$name: exit code $code"
  elif [[ -n "$skipped" ]]; then
    say "$name: $skipped skipped"
  else
    say "$name: $passed passed"
    ((passed > 0)) && return 0
  fi
  return 1
}

# ---- The steps ----

step_facts() {
  local code=0
  nvidia-smi -q -i "$bus" 2>&1 || echo "nvidia-smi -q: exit code $?"
  echo "processors: $(nproc); Python: ${PLUMBLINE_PYTHON:-none}"
  "$build/bin/plumbline" doctor --baselines "$source_directory/baselines" 2>&1 ||
    say "plumbline doctor: exit code $?"
  # Runs one case without --memory-limit and --timeout, so with the limits that a user gets.
  "$build/bin/plumbline" run --case "cuda/prefill_simt/fp16/b1-h2-s33-d64/device=cuda:0" \
    --baselines "$source_directory/baselines" || code=$?
  ((code == 0)) || say "a first case under the default limits: exit code $code"
  return $code
}
step_mma() {
  local only_quick=()
  needs tests/gpu/test_gpu_hardware_mma || return 77
  ((!quick)) || only_quick=('--gtest_filter=HardwareMma.*')
  gtest tests/gpu/test_gpu_hardware_mma "${only_quick[@]}"
}
# Writes files for baselines/gpu, which `ctest -R Recordings` replays without a GPU.
step_record() {
  local code=0
  needs tests/gpu/record_mma || return 77
  rm -rf "$results/recordings"
  "$build/tests/gpu/record_mma" --out "$results/recordings" || code=$?
  ((code != 4)) || { say "the emulator has no model of $arch to compare with"; return 77; }
  local file count=0
  for file in "$results"/recordings/*.csv.gz; do [[ ! -e "$file" ]] || count=$((count + 1)); done
  say "$count files in recordings/"
  return $code
}
# Results for later study go into the archive; the largest, which do not fit, are put next to it.
step_special() {
  local code=0 only_quick=() file size kept=0
  needs tests/gpu/test_gpu_special_functions || return 77
  rm -rf "$results/special"
  if ((quick)); then
    only_quick=('--gtest_filter=SpecialFunctions.Every64thEx2OperandMatchesModel')
  else
    export PLUMBLINE_SPECIAL_DUMP="$results/special"
  fi
  gtest tests/gpu/test_gpu_special_functions "${only_quick[@]}" || code=$?
  while read -r size file; do
    kept=$((kept + size))
    if ((kept > special_limit)); then
      mv "$file" "$out"
      say "${file##*/} is beside results.tar.gz"
    fi
  done < <(for file in "$results"/special/*.gz; do
    [[ ! -e "$file" ]] || echo "$(wc -c <"$file") $file"
  done | sort -n)
  return $code
}
step_reference() {
  needs tests/reference_gpu/test_reference_cuda || return 77
  gtest tests/reference_gpu/test_reference_cuda
}

pr_options() {
  options=(cases/pr.toml --tier pr)
  ((!quick)) || options+=(--match 'pr/tile_edges/*' --match 'pr/fp32_output/*')
}
# Also samples the GPU's utilization with nvidia-smi, which includes the reference's work.
step_pr_cuda() {
  local code=0 sampler options
  pr_options
  stdbuf -oL nvidia-smi -i "$bus" --query-gpu=utilization.gpu --format=csv,noheader,nounits \
    -lms 200 >"$results/utilization.txt" 2>/dev/null &
  sampler=$!
  run_suites cuda:0 "${options[@]}" || code=$?
  kill "$sampler" 2>/dev/null || true
  wait "$sampler" 2>/dev/null || true
  return $code
}
step_pr_emulated() {
  local options
  pr_options
  # Half the processors: the other half serves the steps on the GPU meanwhile.
  run_suites "emulated:$arch" "${options[@]}" --reference cpu -j "$((($(nproc) + 1) / 2))"
}
# Prints the first digits of the id of the run that a step made.
run_of() {
  local line
  while IFS= read -r line; do
    [[ ! "$line" =~ ^run\ ([0-9a-f]+) ]] || { echo "${BASH_REMATCH[1]}"; return; }
  done < <(cat "$results/$1.log" 2>/dev/null)
}
step_bits() { compare_bits pr_cuda pr_emulated; }
# Compares the cases of a step on cuda:0 with those of another step on the emulator.
compare_bits() {
  local code=0 cuda emulated line equal=0 all=0
  cuda="$(run_of "$1")" emulated="$(run_of "$2")"
  if [[ -z "$cuda" || -z "$emulated" ]]; then
    say "nothing to compare: the run of $1 or $2 is missing"
    return 77
  fi
  "$build/bin/plumbline" matrix "$cuda" "$emulated" --db "$results/gpu.db" \
    --expect-equal "emulated:$arch=cuda:0" --format markdown \
    >"$results/$current.md" 2>"$work/bits.said" || code=$?
  cat "$results/$current.md" "$work/bits.said"
  # Rows of the table: | emulated:sm_90 | cuda:0 | tensor cores | cases | equal |
  while IFS= read -r line; do
    [[ ! "$line" =~ cuda:0\ .*\|\ *([0-9]+)\ *\|\ *([0-9]+)\ *\|$ ]] ||
      all=$((all + BASH_REMATCH[1])) equal=$((equal + BASH_REMATCH[2]))
  done <"$results/$current.md"
  say "$equal of $all cases have the same bits"
  ((code != 0 || all > 0)) || code=1
  ((code != 1)) || save_differing_case || true
  return $code
}
# Saves the tensors of the first case with different bits, from both sides.
save_differing_case() {
  local providers=() line pattern="^reproduce: .* --case '?([^' ]+)'? --case '?([^' ]+)'?$"
  while IFS= read -r line; do
    [[ "$line" =~ $pattern ]] || continue
    [[ "$current" != compiled_bits ]] || choose_compiled_providers _cuda ""
    if ! "$build/bin/plumbline" run --case "${BASH_REMATCH[1]}" --case "${BASH_REMATCH[2]}" \
      "${providers[@]}" --baselines "$source_directory/baselines" \
      --save-outputs "$results/failures" -q; then
      say "the tensors of ${BASH_REMATCH[1]} could not be saved"
      return 0
    fi
    say "the tensors of ${BASH_REMATCH[1]} are in failures/"
    return
  done <"$work/bits.said"
}

# Third-party kernels, compiled from source. choose_compiled_providers SUFFIX… fills `providers`
# with the libraries of this build whose names end in a suffix ("_cuda": for GPUs; "": for the
# emulator).
choose_compiled_providers() {
  local name suffix
  providers=()
  for name in flash_attention flashinfer cutlass; do
    for suffix in "$@"; do
      [[ ! -e "$build/lib/plumbline/plumbline_compiled_$name$suffix.so" ]] ||
        providers+=(--provider "compiled_$name$suffix")
    done
  done
  ((${#providers[@]})) && return
  say "no third-party kernels are in this build (CMake's PLUMBLINE_COMPILED_CUDA)"
  return 1
}
compiled_suites=(cases/compiled/{flash_attention,flashinfer,cutlass}.toml)
step_compiled() {
  local providers
  needs_cases cases/compiled || return 77
  choose_compiled_providers _cuda || return 77
  run_suites cuda:0 "${compiled_suites[@]}" "${providers[@]}" --memory-limit 0
}
step_compiled_emulated() {
  local providers
  needs_cases cases/compiled || return 77
  choose_compiled_providers "" || return 77
  run_suites "emulated:$arch" "${compiled_suites[@]}" "${providers[@]}" --reference cpu \
    -j "$((($(nproc) + 1) / 2))"
}
step_compiled_bits() { compare_bits compiled compiled_emulated; }
# Runs on the GPU the cases that these kernels get wrong on the emulator. Here they may pass or
# fail; neither fails the step.
step_findings() {
  local code=0 providers
  needs_cases cases/compiled || return 77
  choose_compiled_providers _cuda || return 77
  run_suites cuda:0 cases/compiled/*_findings.toml "${providers[@]}" --memory-limit 0 || code=$?
  ((code <= 1)) || return $code
}
step_compiled_stories() {
  local providers
  needs_cases cases/stories/compiled || return 77
  choose_compiled_providers _cuda || return 77
  run_suites cuda:0 cases/stories/compiled/s{1,2,4,5}_*.toml cases/compiled/gpu.toml --tier full \
    "${providers[@]}" --timeout 200 --memory-limit 0
}
step_real() {
  local providers part=(--tier nightly)
  needs_cases cases/foreign.toml || return 77
  choose_python_providers || return 77
  ((!quick)) || part=(--tier smoke --match 'foreign/padded/*')
  run_suites cuda:0 cases/foreign.toml "${part[@]}" "${providers[@]}" -j 4 --timeout 200 \
    --memory-limit 0
}
step_stories() {
  local providers
  needs_cases cases/stories || return 77
  choose_python_providers || return 77
  run_suites "" cases/stories/*.toml --tier full --match '*device=cuda:0*' "${providers[@]}" \
    -j 4 --timeout 200 --memory-limit 0
}
step_s4() {
  needs_cases cases/gpu.toml || return 77
  run_suites cuda:0 cases/gpu.toml --memory-limit 0
}
step_speed() {
  local options=()
  needs tests/gpu/hardware_speed || return 77
  ((!quick)) || options=(--quick)
  "$build/tests/gpu/hardware_speed" --library "$build/lib/plumbline/plumbline_cuda.so" \
    --toml "$results/speed.toml" "${options[@]}"
}
step_tests() {
  local code=0 program ran=0
  for program in "${tests[@]}"; do
    case "${program##*/}" in  # these have steps of their own
      test_gpu_hardware_mma | test_gpu_special_functions | test_reference_cuda) continue ;;
    esac
    [[ -e "$build/$program" ]] || { say "$program is not in this build"; continue; }
    ran=1
    gtest "$program" || code=1
  done
  ((ran)) || { say "no test program is in this build"; return 77; }
  return $code
}
step_memcheck() { sanitizer memcheck; }
step_racecheck() { sanitizer racecheck; }
sanitizer() {
  local code=0 filter="" name tool line clean=0 cases=(MoreQueriesThanKeysLeaveRowsWithoutKeys
    PrefillOverSeveralTiles DecodeOverManyTilesAndSplits)
  needs tests/kernels/test_kernels_cuda || return 77
  tool="$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer || true)"
  [[ -n "$tool" ]] || { say "compute-sanitizer is not on the PATH"; return 77; }
  for name in "${cases[@]}"; do filter+="All/GpuKernels.$name/*:"; done
  prefix=("$tool" --tool "$1" --error-exitcode 9)
  gtest tests/kernels/test_kernels_cuda "--gtest_filter=$filter" || code=$?
  # The tool must have printed a summary with 0 errors.
  while IFS= read -r line; do
    [[ ! "$line" =~ (ERROR|RACECHECK)\ SUMMARY:\ 0\  ]] || clean=1
  done <"$work/$current.gtest"
  ((clean)) || { say "$1: its output has no summary with 0 errors"; code=1; }
  return $code
}
# For a GPU that is lent for a short time: a part of nightly within five minutes.
step_lent() {
  local part=()
  needs_cases cases/lent_gpu.toml || return 77
  ((!quick)) || part=(--match 'reach_emulated/group_of_sixteen/*')
  run_suites cuda:0 cases/lent_gpu.toml --tier nightly "${part[@]}" --memory-limit 0
}
step_nightly() {
  needs_cases cases/nightly.toml || return 77
  run_suites cuda:0 cases/nightly.toml --tier nightly --memory-limit 0
}
