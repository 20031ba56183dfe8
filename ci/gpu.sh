#!/usr/bin/env bash
# Runs every check that needs a GPU, the most informative first, so that ten minutes on a GPU give
# evidence. If a step fails, the next ones still run; results are rewritten after every step.
# docs/gpu.md describes what each step shows and what the figures mean.
#   ci/gpu.sh                   builds the dev preset, then runs every step on GPU 0; in an unpacked
#                               bundle it builds nothing
#   --deadline SECONDS          time for all steps, counted from the end of the build (default 560;
#                               0: none). A step is not started if too little time is left. Running
#                               steps are cut off at the deadline. Above 560, the time limits
#                               of all steps grow in proportion
#   --only STEP...              runs only these steps, even if they have results; --only list prints
#                               the steps
#   --again                     also runs steps that have a result in --out for the same GPU, commit
#                               and --quick
#   --out DIR                   summary.md, results.tar.gz and log.txt go there (default: out/gpu)
#   --history FILE              merges the runs into this database at the end (plumbline merge)
#   --quick                     only checks that steps run: no random MMAs, a 64th of the operands
#                               of ex2, few groups of cases, three runs per timing; no stories,
#                               sanitizer or nightly suite
#   --no-build [--build DIR]    uses an earlier build (default: build/dev), and so needs no compiler
#                               on this machine
#   --pack FILE [--arch 90a]... builds FILE (.tar.xz or .tar.gz), a bundle of what this script needs
#                               on a machine with a GPU; needs no GPU itself
# Exit codes: 0 every step passed, 1 some failed (they are named), 2 usage, 3 a program is missing
# or the merge into --history failed, 4 no GPU, 5 none failed, but some were cut off or not run.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null
source "$source_directory/ci/gpu/results.sh"
source "$source_directory/ci/gpu/steps.sh"

out="$source_directory/out/gpu" build="$source_directory/build/dev" pack="" history=""
quick=0 build_first=1 again=0 deadline=560 architectures=() only=()
# A bundle's root is also its build folder.
[[ -e "$source_directory/bundle.txt" ]] && build_first=0 build="$source_directory"
help() {
  local line
  while IFS= read -r line && [[ "$line" == \#* ]]; do
    [[ "$line" == \#!* ]] || echo "${line:2}"
  done <"${BASH_SOURCE[0]}"
}
while (($#)); do
  case "$1" in
    --out | --build | --pack | --history) [[ -n "${2:-}" ]] || refuse "$1 needs a path" ;;&
    --out) out="$(absolute "$2")"; shift 2 ;;
    --build) build="$(absolute "$2")"; shift 2 ;;
    --pack) pack="$(absolute "$2")"; shift 2 ;;
    --history) history="$(absolute "$2")"; shift 2 ;;
    --arch)
      [[ "${2:-}" =~ ^[0-9]+[af]?$ ]] || refuse "--arch needs an architecture such as 90a"
      architectures+=("$2")
      shift 2 ;;
    --deadline)
      [[ "${2:-}" =~ ^[0-9]+$ ]] || refuse "--deadline needs seconds"
      deadline=$((10#$2))
      shift 2 ;;
    --only)
      shift
      while (($#)) && [[ "$1" != -* ]]; do only+=("$1"); shift; done
      ((${#only[@]})) || refuse "--only needs steps: ${step_keys[*]}" ;;
    --again) again=1; shift ;;
    --quick) quick=1; shift ;;
    --no-build) build_first=0; shift ;;
    -h | --help) help; exit 0 ;;
    *) refuse "unknown option $1" ;;
  esac
done
[[ "${only[*]}" != list ]] || { list_steps; exit 0; }
for key in "${only[@]}"; do
  [[ -n "${heading[$key]:-}" ]] || refuse "there is no step $key; there are ${step_keys[*]}"
done
[[ -z "$pack" || -e "$source_directory/ci/gpu/pack.sh" ]] ||
  refuse "--pack needs a checkout: this is a bundle"
((${#architectures[@]} == 0)) || [[ -n "$pack" ]] || refuse "--arch goes with --pack"
((deadline == 0 || deadline > reserve)) ||
  refuse "--deadline $deadline: too short, because the last $reserve s are for writing the results"

# ---- Programs ----

core=(bin/plumbline bin/plumbline-worker lib/plumbline/plumbline_{cpu,emulated,cuda}.so)
# Each program is built by the target of its name.
read_programs() {
  tests=() compiled=()
  [[ ! -e "$build/gpu_tests.txt" ]] || mapfile -t tests <"$build/gpu_tests.txt"
  [[ ! -e "$build/compiled_providers.txt" ]] ||
    mapfile -t compiled <"$build/compiled_providers.txt"
  programs=("${core[@]}" lib/plumbline/plumbline_reference_cuda.so tests/gpu/hardware_speed
    tests/gpu/record_mma "${tests[@]}" "${compiled[@]}")
}
build_all() {
  command -v nvcc >/dev/null ||
    end_with 3 "no nvcc on the PATH to build with; --no-build uses what was built elsewhere"
  preset=dev
  cmake --preset "$preset" >/dev/null
  read_programs
  local names=(plumbline_python) program
  for program in "${programs[@]##*/}"; do names+=("${program%.so}"); done
  build --target "${names[@]}"
}
# Prints the libraries that the dynamic linker loads for a program, or for the worker with a
# library. Does not use ldd, which may be missing.
loads() {
  case "$1" in
    *.so) LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD="./$1" ./bin/plumbline-worker 2>&1 ;;
    *) LD_TRACE_LOADED_OBJECTS=1 "./$1" 2>&1 ;;
  esac
}
# Prints the libraries that the linker does not find for the programs, one per line.
missing_libraries() {
  local program line
  for program in "$@"; do
    while IFS= read -r line; do
      [[ "$line" != *"not found"* ]] || echo "${line#"${line%%[![:space:]]*}"}"
    done < <(cd "$build" && loads "$program")
  done | sort -u
}
check_programs() {
  local missing=() program libraries
  for program in "${core[@]}"; do [[ -e "$build/$program" ]] || missing+=("$program"); done
  if ((${#missing[@]})); then
    end_with 3 "$build lacks ${missing[*]}: build the dev preset, or unpack and use what" \
      "ci/gpu.sh --pack made on another machine"
  fi
  libraries="$(missing_libraries "${core[@]}" | paste -sd ';')"
  [[ -z "$libraries" ]] && return
  end_with 3 "the programs do not run on this machine: $libraries: install the packages of" \
    "ci/setup.sh, or use ci/gpu.sh --pack"
}

# ---- The GPU ----

no_gpu() {
  end_with 4 "there is no GPU here ($*), and this script needs one. Without a GPU," \
    "ci/check.sh checks the same kernels on the emulator"
}
# Called before a build that takes minutes. harness/provider/client/default_providers.cc uses the
# same test.
look_for_gpu() {
  case "${CUDA_VISIBLE_DEVICES-0}" in "" | -*) no_gpu "CUDA_VISIBLE_DEVICES hides it" ;; esac
  [[ ! -e /dev/dxg ]] || return 0
  [[ ! -e /dev/nvidiactl || -z "$(compgen -G '/dev/nvidia[0-9]*')" ]] || return 0
  [[ "$(nvidia-smi -L 2>/dev/null || true)" == GPU* ]] ||
    no_gpu "neither nvidia-smi nor /dev has one"
}
smi() {
  nvidia-smi ${bus:+-i "$bus"} --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1
}
# Sets gpu, arch, driver, toolkit and bus from the CUDA runtime, or from nvidia-smi if the build
# lacks tests/gpu/hardware_speed.
identify_gpu() {
  local facts code=0 version asks_cuda="$build/tests/gpu/hardware_speed"
  if [[ -e "$asks_cuda" ]]; then
    facts="$("$asks_cuda" --gpu 2>&1)" || code=$?
    ((code == 4)) && no_gpu "$facts"
    ((code == 0)) || end_with 3 "$asks_cuda does not run here: $facts"
    { read -r gpu; read -r arch; read -r driver; read -r toolkit; read -r bus || true; } <<<"$facts"
  else
    gpu="$(smi name)" && version="$(smi compute_cap)" && bus="$(smi pci.bus_id)" || true
    [[ -n "${gpu:-}" && -n "${version:-}" ]] ||
      no_gpu "nvidia-smi lists none, and the build lacks" \
        "tests/gpu/hardware_speed, which queries CUDA"
    arch="sm_${version//./}" toolkit=unknown driver=unknown
  fi
  version="$(smi driver_version)" && [[ -n "$version" ]] && driver="$version"
  date="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  # A bundle names the commit that it was built from. PLUMBLINE_COMMIT is also stored with the runs.
  [[ -e "$build/commit" ]] && PLUMBLINE_COMMIT="$(<"$build/commit")"
  commit="${PLUMBLINE_COMMIT:-unknown}"
  [[ -e "$build/commit" || -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ]] ||
    commit+=" with changes"
  identity="$gpu ($arch), driver $driver, toolkit $toolkit, $date, commit $commit"
}

# ---- Main ----

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
[[ -n "$pack" ]] || look_for_gpu
if [[ -n "$pack" ]]; then
  source "$source_directory/ci/gpu/pack.sh"
  pack_all
  exit 0
fi
((build_first == 0)) || build_all
read_programs
# Tests that find no GPU fail (tests/need_gpu.h).
export PLUMBLINE_REQUIRE_GPU=1
export PLUMBLINE_LIBRARY_DIRECTORY="$build/lib/plumbline"
check_programs
identify_gpu
echo "$identity"
take_up_earlier_results
trap 'stop_everything; exit 1' TERM INT HUP

warm_up_packages  # in the background: a cold import of torch takes a minute
step facts
start pr_emulated  # on the CPU, while the GPU runs the next steps
step mma
step record
step special
step reference
step pr_cuda
finish pr_emulated
start compiled_emulated
step bits
step compiled
step findings
finish compiled_emulated
step compiled_bits
step compiled_stories
step real
step stories
step s4
step speed
step tests
step memcheck
step racecheck
step lent
step nightly
finish_results
