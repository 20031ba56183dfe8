#!/usr/bin/env bash
# Everything that needs a GPU: tensor cores against their models, the tests with label gpu, each kernel bit for bit against the emulator
# over cases/pr.toml, speed, compute-sanitizer. A step that fails does not keep the next from running. docs/gpu.md says what figures mean.
#   ci/gpu.sh                   builds the dev preset, then runs everything on GPU 0
#   --out DIR                   where summary.md, figures.toml and a log of each step go (default: out/gpu)
#   --quick                     to see that everything runs: no random MMAs, two groups of the cases, three runs of a timing, no sanitizer
#   --no-build [--build DIR]    uses what was built before (default: build/dev), also where there is no compiler
#   --pack FILE                 builds, and packs what --no-build needs elsewhere into FILE (tar.gz, to be unpacked as DIR); needs no GPU
# Exit codes: 0 every step passed, 1 some did not (they are named), 2 usage, 3 something it runs is missing, 4 there is no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null

out="$source_directory/out/gpu" quick=0 build_first=1 pack="" build="$source_directory/build/dev"
usage() { echo "ci/gpu.sh: $1 (see --help)" >&2; exit 2; }
while (($#)); do
  case "$1" in
    --out | --build | --pack) [[ -n "${2:-}" ]] || usage "$1 needs a path" ;;&
    --out) out="$(absolute "$2")"; shift 2 ;;
    --build) build="$(absolute "$2")"; shift 2 ;;
    --pack) pack="$(absolute "$2")"; shift 2 ;;
    --quick) quick=1; shift ;;
    --no-build) build_first=0; shift ;;
    -h | --help) sed -n '2,9p' "$0" | cut -c3-; exit 0 ;;
    *) usage "unknown option $1" ;;
  esac
done

# ---- What it runs ----

needed=(bin/plumbline bin/plumbline-worker lib/plumbline/plumbline_{cpu,emulated,cuda,reference_cuda}.so tests/gpu/hardware_speed)
read_tests() {
  mapfile -t tests < <(cat "$build/gpu_tests.txt" 2>/dev/null)
  programs=("${needed[@]}" "${tests[@]}")
}
build_all() {
  command -v nvcc >/dev/null || { echo "ci/gpu.sh: no nvcc on the PATH to build with; --no-build uses what was built elsewhere" >&2; exit 3; }
  preset=dev
  cmake --preset "$preset" >/dev/null
  read_tests
  local names=() program
  for program in "${programs[@]##*/}"; do names+=("${program%.so}"); done
  build --target "${names[@]}"
}
shared_libraries() { (cd "$build" && ldd "${programs[@]}" 2>/dev/null) || true; }  # ldd fails where one of them is a script
check_programs() {
  local missing=() program libraries
  [[ -s "$build/gpu_tests.txt" ]] || missing+=(gpu_tests.txt)
  for program in "${programs[@]}"; do [[ -e "$build/$program" ]] || missing+=("$program"); done
  if ((${#missing[@]})); then
    echo "ci/gpu.sh: $build lacks ${missing[*]}: build the dev preset, or unpack there what ci/gpu.sh --pack made on another machine" >&2
    exit 3
  fi
  libraries="$(shared_libraries | awk '/not found/ {print $1}' | sort -u | tr '\n' ' ')"
  [[ -z "$libraries" ]] && return
  echo "ci/gpu.sh: shared libraries are missing on this machine: $libraries- install the packages of ci/setup.sh, or use ci/gpu.sh --pack" >&2
  exit 3
}
pack_all() {
  mkdir -p "$work/pack/lib/shared" "$(dirname "$pack")"
  (cd "$build" && cp --parents gpu_tests.txt "${programs[@]}" "$work/pack")
  (cd "$work/pack" && strip --strip-unneeded "${programs[@]}" 2>/dev/null) || true
  # The C library belongs to the machine.
  shared_libraries | awk '$2 == "=>" && $3 ~ "^/" {print $3}' | sort -u |
    { grep -vE '/lib(c|m|pthread|dl|rt|resolv)\.so' || true; } | xargs -r cp -L -t "$work/pack/lib/shared"
  echo "$PLUMBLINE_COMMIT" >"$work/pack/commit"
  tar -C "$work/pack" -czf "$pack" .
  echo "packed $pack: on the machine with the GPU, in the same commit, unpack it as DIR and run ci/gpu.sh --no-build --build DIR"
}

# ---- The GPU ----

no_gpu() {
  echo "ci/gpu.sh: there is no GPU here ($1): this script passes with one only. Without one ci/check.sh checks the same kernels on the emulator" >&2
  exit 4
}
look_for_gpu() {  # before a build that takes minutes
  case "${CUDA_VISIBLE_DEVICES-0}" in "" | -*) no_gpu "CUDA_VISIBLE_DEVICES hides it" ;; esac
  [[ "$(nvidia-smi -L 2>/dev/null || true)" == GPU* || -e /dev/nvidiactl ]] || no_gpu "neither nvidia-smi nor /dev has one"
}
identify_gpu() {
  local facts code=0 version
  facts="$("$build/tests/gpu/hardware_speed" --gpu 2>&1)" || code=$?
  ((code == 4)) && no_gpu "$facts"
  ((code == 0)) || { echo "ci/gpu.sh: $build/tests/gpu/hardware_speed does not run here: $facts" >&2; exit 3; }
  { read -r gpu; read -r arch; read -r driver; read -r toolkit; read -r bus || true; } <<<"$facts"
  version="$(nvidia-smi -i "$bus" --query-gpu=driver_version --format=csv,noheader 2>/dev/null)" && driver="$version"
  date="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  # What was built elsewhere says itself what it was built from. PLUMBLINE_COMMIT is stored with the runs, too.
  [[ -e "$build/commit" ]] && PLUMBLINE_COMMIT="$(<"$build/commit")"
  commit="${PLUMBLINE_COMMIT:-unknown}"
  [[ -e "$build/commit" || -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ]] || commit+=" with changes"
  identity="$gpu ($arch), driver $driver, toolkit $toolkit, $date, commit $commit"
}

# ---- Steps ----

rows="" failed=() busy="" prefix=()
say() { echo "$*" >>"$work/note"; }

# step KEY HEADING command…: exit code 77 of the command says that it could not be run here, which fails nothing.
step() {
  local key="$1" heading="$2" code=0 begin=$SECONDS result=pass seconds note
  shift 2
  echo "== $heading"
  : >"$work/note"
  printf '# %s\n# %s\n' "$heading" "$identity" >"$out/$key.log"
  "$@" >>"$out/$key.log" 2>&1 || code=$?
  seconds=$((SECONDS - begin))
  case $code in
    0) ;;
    77) result="not run" ;;
    *) result=FAILED; failed+=("$key"); sed 1,2d "$out/$key.log" | tail -n 12 | sed 's/^/   | /' ;;
  esac
  note="$(tr '|' '/' <"$work/note" | paste -sd ';')"
  echo "   $result in $seconds s${note:+: }$note"
  rows+="| $heading | $result | $seconds | $note | [$key.log]($key.log) |"$'\n'
  printf '\n[[step]]\nname = "%s"\nresult = "%s"\nseconds = %d\n' "$key" "$result" "$seconds" >>"$work/steps.toml"
  write_results
}

write_results() {
  {
    printf '## GPU: %s\n\n' "$gpu"
    printf '%s%s\n\n' "$identity" "$( ((quick)) && echo '. **--quick: only whether everything runs**')"
    printf '| step | result | s | | log |\n|---|---|---|---|---|\n%s\n' "$rows"
    [[ -n "$busy" ]] && printf 'The GPU was busy for %s %% of the wall time of the pr run (nvidia-smi utilization).\n\n' "$busy"
    sed -nE '3,$ { /: [0-9a-f]{8}$/p; / instructions, /p }' "$out/mma.log" | sed '1s/^/```\n/; $s/$/\n```\n/'
    [[ ! -e "$out/speed.log" ]] || sed -n '/^What this GPU does/,$p' "$out/speed.log"
  } >"$out/summary.md"
  {
    printf 'schema = 1\ngpu = "%s"\narch = "%s"\ndriver = "%s"\ntoolkit = "%s"\n' "$gpu" "$arch" "$driver" "$toolkit"
    printf 'date = "%s"\ncommit = "%s"\nquick = %s\n' "$date" "$commit" "$( ((quick)) && echo true || echo false)"
    [[ -n "$busy" ]] && awk -v busy="$busy" 'BEGIN {printf "gpu_busy_share_of_pr_run = %.3f\n", busy / 100}'
    cat "$work/steps.toml" "$work/speed.toml"
  } >"$out/figures.toml"
}

# A GoogleTest program, behind the command `prefix`. Here a test that was skipped has failed, and so have none at all.
gtest() {
  local name="${1##*/}" code=0 passed skipped
  timeout 1800 "${prefix[@]}" "$build/$1" "${@:2}" >"$work/gtest.log" 2>&1 || code=$?
  cat "$work/gtest.log"
  passed="$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\..*/\1/p' "$work/gtest.log")"
  skipped="$(sed -nE 's/^\[  SKIPPED \] ([0-9]+) tests?, listed below.*/\1/p' "$work/gtest.log")"
  if ((code)); then
    say "$name: exit code $code"
  elif [[ -n "$skipped" ]]; then
    say "$name: $skipped skipped"
  else
    say "$name: ${passed:-0} passed"
    ((${passed:-0} > 0)) && return 0
  fi
  return 1
}

hardware_mma() {
  local only=()
  ((quick)) && only=('--gtest_filter=HardwareMma.*')
  gtest tests/gpu/test_gpu_hardware_mma "${only[@]}"
}
other_tests() {
  local code=0 program
  for program in "${tests[@]}"; do
    case "$program" in */test_gpu_hardware_mma | */test_reference_cuda) continue ;; esac
    gtest "$program" || code=1
  done
  return $code
}

# run_cases KEY DEVICE SUITE [options]
run_cases() {
  local code=0
  "$build/bin/plumbline" run "$3" --device "$2" "${@:4}" --baselines "$source_directory/baselines" --db "$out/gpu.db" --purpose gpu \
    --junit "$out/$1.xml" --markdown "$out/$1.md" --save-failures "$out/failures" -q >"$work/run.log" 2>&1 || code=$?
  cat "$work/run.log"
  say "$(grep -E '^run ' "$work/run.log" | tail -n 1)"
  return $code
}
# The GPU alone runs meanwhile; what the reference computes there is part of it.
run_cases_sampled() {
  local code=0 sampler=""
  stdbuf -oL nvidia-smi -i "$bus" --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 200 >"$work/busy" 2>/dev/null &
  sampler=$!
  run_cases "$@" || code=$?
  kill "$sampler" 2>/dev/null || true
  wait "$sampler" 2>/dev/null || true
  busy="$(awk '/^ *[0-9]+ *$/ {sum += $1; n++} END {if (n) printf "%.1f", sum / n}' "$work/busy")"
  [[ -n "$busy" ]] || say "nvidia-smi gave no utilization"
  return $code
}
equal_bits() {
  local code=0
  "$build/bin/plumbline" matrix latest latest~1 --db "$out/gpu.db" --expect-equal "emulated:$arch=cuda:0" --format markdown \
    >"$work/matrix.md" 2>&1 || code=$?
  cat "$work/matrix.md"
  say "$(awk -F'|' '/cuda:0/ && $5 + 0 > 0 {all += $5; equal += $6} END {print equal + 0, "of", all + 0}' "$work/matrix.md") cases have the same bits"
  return $code
}
measure_speed() {
  local options=()
  ((quick)) && options=(--quick)
  "$build/tests/gpu/hardware_speed" --library "$build/lib/plumbline/plumbline_cuda.so" --toml "$work/speed.toml" "${options[@]}"
}
sanitizer() {
  local code=0 tests="MoreQueriesThanKeysLeaveRowsWithoutKeys PrefillOverSeveralTiles DecodeOverManyTilesAndSplits" filter="" name tool
  ((quick)) && { say "left out by --quick"; return 77; }
  tool="$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer || true)"
  [[ -n "$tool" ]] || { say "compute-sanitizer is not on the PATH"; return 77; }
  for name in $tests; do filter+="All/GpuKernels.$name/*:"; done
  prefix=("$tool" --tool "$1" --error-exitcode 9)
  gtest tests/kernels/test_kernels_cuda "--gtest_filter=$filter" || code=$?
  prefix=()
  # The tool says what it saw; where it says nothing it saw nothing.
  grep -qE '(ERROR|RACECHECK) SUMMARY: 0 ' "$work/gtest.log" || { say "$1: no summary of 0 errors or hazards"; code=1; }
  return $code
}

# ---- In this order ----

work="$(mktemp -d)"
: >"$work/speed.toml"
trap 'rm -rf "$work"' EXIT
[[ -n "$pack" ]] || look_for_gpu
((build_first == 0)) || build_all
read_tests
[[ -d "$build/lib/shared" ]] && export LD_LIBRARY_PATH="$build/lib/shared${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PLUMBLINE_LIBRARY_DIRECTORY="$build/lib/plumbline"
check_programs
[[ -z "$pack" ]] || { pack_all; exit 0; }
identify_gpu
echo "$identity"
mkdir -p "$out"
rm -f "$out"/*.log "$out"/gpu.db*

part=()
((quick)) && part=(--match 'pr/tile_edges/*' --match 'pr/fp32_output/*')
step mma "Tensor cores: fingerprint, disputed corners, random MMAs against the model" hardware_mma
step tests "Tests with label gpu" other_tests
step reference "GPU reference against the CPU's" gtest tests/reference_gpu/test_reference_cuda
step pr_cuda "cases/pr.toml on cuda:0" run_cases_sampled pr_cuda cuda:0 cases/pr.toml --tier pr "${part[@]}"
step pr_emulated "cases/pr.toml on emulated:$arch" run_cases pr_emulated "emulated:$arch" cases/pr.toml --tier pr "${part[@]}"
step bits "The same bits on GPU and emulator" equal_bits
step s4 "Story S4 at its own size (cases/gpu.toml)" run_cases s4 cuda:0 cases/gpu.toml --memory-limit 0
step speed "Speed: kernels as shares of bandwidth and matrix peak" measure_speed
step memcheck "compute-sanitizer memcheck" sanitizer memcheck
step racecheck "compute-sanitizer racecheck" sanitizer racecheck

echo "$out/summary.md"
((${#failed[@]} == 0)) || { echo "ci/gpu.sh: failed: ${failed[*]}" >&2; exit 1; }
