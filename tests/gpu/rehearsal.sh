#!/usr/bin/env bash
# Runs the unmodified ci/gpu.sh on a simulated GPU machine. The machine is a bundle of this build
# with the stand-in provider "cuda" (tests/gpu/stand_in), in a root that contains only bash,
# coreutils, tar, gzip, python3, libstdc++6 and their dependencies.
#   rehearsal.sh root DIRECTORY           makes the root (mmdebstrap)
#   rehearsal.sh bundle BUILD DIRECTORY   makes the bundle
#   rehearsal.sh run DIRECTORY            every step, with a stand-in for compute-sanitizer
#   rehearsal.sh refused DIRECTORY WITHOUT_PIDFD
#        the kernel refuses pidfd_open, there is no compute-sanitizer, and the deadline passes
#   rehearsal.sh python DIRECTORY         Python kernels with a stand-in for PyTorch's GPU, on this
#                                         machine, because the root has no numpy
# Exit code 77, with the reason, if a root cannot be made or entered here.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source_directory="$(cd "$here/../.." && pwd)"
packages=bash,coreutils,tar,gzip,python3,libstdc++6

skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "FAILED: $1" >&2; exit 1; }
expect() { [[ "$1" == *"$2"* ]] || fail "expected \"$2\" in:"$'\n'"$1"; }

can_enter() {
  ((EUID == 0)) || skip "a root cannot be entered: this is not root"
  unshare --mount --pid --fork true 2>/dev/null ||
    skip "a root cannot be entered: no mount namespace may be made here (CAP_SYS_ADMIN)"
}
make_root() {
  local root="$1/root" said
  can_enter
  command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (ci/setup.sh)"
  [[ -e "$root/complete" ]] && return
  rm -rf "$root"
  mkdir -p "$1"
  # Packages are unpacked but not configured: their scripts would need more than the root contains.
  said="$(mmdebstrap --variant=extract --mode=root --include="$packages" bookworm "$root" 2>&1)" ||
    skip "mmdebstrap makes no root here (no network?): $(tail -n 2 <<<"$said")"
  touch "$root/complete"
}

# Copies this build for the bundle, with stand-ins for the programs that need a GPU.
stand_in_build() {
  local build="$1" to="$2"
  rm -rf "$to"
  mkdir -p "$to/bin" "$to/lib/plumbline" "$to/tests/kernels" "$to/tests/gpu"
  cp "$build"/bin/plumbline "$build"/bin/plumbline-worker "$to/bin"
  cp "$build"/lib/plumbline/plumbline_{cpu,emulated}.so "$to/lib/plumbline"
  cp "$build/tests/gpu/stand_in/lib/plumbline/plumbline_cuda.so" "$to/lib/plumbline"
  cp -r "$build/lib/plumbline/python" "$to/lib/plumbline"
  cp "$build/tests/gpu/stand_in/test_kernels_stand_in" "$to/tests/kernels/test_kernels_cuda"
  cp "$build/tests/emulator/record_emulated" "$to/tests/gpu/record_mma"
  printf '%s\n' tests/gpu/test_gpu_hardware_mma tests/gpu/test_gpu_special_functions \
    tests/kernels/test_kernels_cuda tests/reference_gpu/test_reference_cuda >"$to/gpu_tests.txt"
  # ci/notices reads from build.ninja how programs are linked. This one lists all files as copies,
  # so ci/notices looks at the libraries in the bundle.
  {
    printf 'rule copied\n  command = true\n'
    (cd "$to" && find bin lib tests -type f -printf 'build %p: copied\n')
  } >"$to/build.ninja"
}
make_bundle() {
  local python="${PLUMBLINE_PYTHON:-$source_directory/.venv/bin/python}"
  "$python" -c "import cyclonedx" 2>/dev/null ||
    skip "$python has no cyclonedx, which makes the SBOM of a bundle (ci/setup.sh --python)"
  mkdir -p "$2"
  stand_in_build "$1" "$2/build"
  "$source_directory/ci/gpu.sh" --no-build --build "$2/build" --pack "$2/bundle.tar.gz"
  tar -xzOf "$2/bundle.tar.gz" plumbline-gpu/NOTICES.txt >"$2/notices.txt"
  grep -q "^  OpenBLAS .*BSD-3-Clause$" "$2/notices.txt" ||
    fail "NOTICES.txt of the bundle does not name OpenBLAS"
  tar -xzOf "$2/bundle.tar.gz" plumbline-gpu/plumbline.cdx.json >"$2/sbom.json"
  "$python" -c "import sys; sys.path.insert(0, sys.argv[1]); import sbom
sys.exit(sbom.errors_of(open(sys.argv[2]).read()))" "$source_directory/ci/notices" "$2/sbom.json" ||
    fail "the SBOM of the bundle is not valid"
}

nvidia_smi='#!/bin/bash
case "$*" in
  -L) echo "GPU 0: Stand-in GPU (UUID: GPU-0)" ;;
  *=name*) echo "Stand-in GPU" ;;
  *compute_cap*) echo 9.0 ;;
  *pci.bus_id*) echo 0000:19:00.0 ;;
  *driver_version*) echo 580.82.07 ;;
  *utilization*) while echo 50; do sleep 0.2; done ;;
  *) echo "a stand-in for nvidia-smi" ;;
esac'
compute_sanitizer='#!/bin/bash
case $2 in
  memcheck) echo "========= ERROR SUMMARY: 0 errors" ;;
  *) echo "========= RACECHECK SUMMARY: 0 hazards displayed" ;;
esac
shift 4
exec "$@"'
write_program() { echo "$2" >"$1" && chmod +x "$1"; }

# enter ROOT command…: runs a command in the root, with only an eighth of the kernels' tests. Other
# tests run all of these.
enter() {
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1; shift
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
    exec chroot "$root" /usr/bin/env -i PATH=/stand_in:/usr/bin:/bin HOME=/root \
      GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=0 "$@"' enter "$@"
}
# Unpacks the bundle in a separate root, so that two rehearsals can run at once.
prepare_machine() {
  local directory="$1" machine="$2"
  can_enter
  [[ -e "$directory/root/complete" ]] || skip "there is no root: see the test gpu.rehearsal.root"
  rm -rf "$machine"
  cp -a "$directory/root" "$machine"
  mkdir -p "$machine/stand_in" "$machine/gpu" "$machine/tmp"
  write_program "$machine/stand_in/nvidia-smi" "$nvidia_smi"
  cp "$directory/bundle.tar.gz" "$machine/gpu"
  enter "$machine" bash -c \
    'cd /gpu && tar -xzf bundle.tar.gz && echo rehearsed >plumbline-gpu/commit'
}

# run_gpu MACHINE EXPECTED_CODE prefix… -- options…: sets `said` and `summary`.
run_gpu() {
  local machine="$1" expected="$2" code=0 prefix=() out="$1/gpu/plumbline-gpu/out/gpu"
  shift 2
  while [[ "$1" != -- ]]; do prefix+=("$1"); shift; done
  shift
  prefix+=(/gpu/plumbline-gpu/ci/gpu.sh --quick)
  said="$(enter "$machine" "${prefix[@]}" "$@" 2>&1)" || code=$?
  echo "$said"
  ((code == expected)) || fail "exit code $code, not $expected"
  summary="$(<"$out/summary.md")"
  [[ "$(ls -A "$out")" == $'log.txt\nresults.tar.gz\nsummary.md' ]] ||
    fail "results are more than two files and the log"
}
archived() { gzip -dc <"$1/gpu/plumbline-gpu/out/gpu/results.tar.gz" | tar -xOf - "./$2"; }

rehearse() {
  local machine="$1/machine"
  prepare_machine "$1" "$machine"
  write_program "$machine/stand_in/compute-sanitizer" "$compute_sanitizer"
  run_gpu "$machine" 5 -- --history /gpu/night.db \
    --only facts mma record special reference pr_cuda pr_emulated bits real speed tests memcheck \
    racecheck lent
  expect "$said" "ci/gpu.sh: 9 steps passed, 0 failed, 0 cut off, 5 not run"
  expect "$said" "ci/gpu.sh: not run: mma special reference real speed"
  [[ "$summary" =~ ([0-9]+)\ of\ ([0-9]+)\ cases\ have\ the\ same\ bits ]] ||
    fail "no bits were compared"
  ((BASH_REMATCH[1] == BASH_REMATCH[2] && BASH_REMATCH[1] > 30)) ||
    fail "other bits: ${BASH_REMATCH[0]}"
  expect "$summary" "Stand-in GPU (sm_90), driver 580.82.07"
  # A group of lent_gpu.toml's includes, 8 problems for 3 kernels.
  [[ "$(archived "$machine" lent.log)" =~ no\ failure\ in\ 24\ cases ]] ||
    fail "the step lent did not run its 24 cases"
  expect "$summary" "16 files in recordings/"
  expect "$summary" "sm_90-bf16_f32_k16: 1000 rows, 0 differ from the model"
  expect "$(archived "$machine" recordings/recording.toml)" 'gpu = "emulator"'
  expect "$summary" "every Python provider needs numpy (absent)"
  expect "$summary" "The GPU was busy for 50.0 %"
  expect "$(archived "$machine" figures.toml)" $'name = "bits"\nresult = "pass"'
  [[ -s "$machine/gpu/night.db" ]] || fail "the history was not written"
  archived "$machine" gpu.db | cmp -s - /dev/null && fail "gpu.db is empty"
  # A second call continues where the first one ended.
  run_gpu "$machine" 5 -- --deadline 20
  expect "$said" "skipped: pass on 20"
}
refused() {
  local machine="$1/machine_refused"
  prepare_machine "$1" "$machine"
  cp "$2" "$machine/stand_in"
  run_gpu "$machine" 5 without_pidfd ENOSYS -- \
    --only facts pr_cuda pr_emulated bits memcheck racecheck
  expect "$said" "ci/gpu.sh: 4 steps passed, 0 failed, 0 cut off, 2 not run"
  expect "$summary" "compute-sanitizer is not on the PATH"
  # The emulator needs longer for story S4.
  run_gpu "$machine" 5 without_pidfd ENOSYS -- --only s4 --deadline 30
  expect "$said" "ci/gpu.sh: cut off: s4"
  expect "$summary" "by the deadline of 30 s"
}

# The bundle's build with this machine's .venv; tests/foreign/stand_in_torch simulates a GPU for it.
python_kernels() {
  local machine="$1/machine_python" code=0 python="$source_directory/.venv/bin/python"
  local torch="$source_directory/tests/foreign/stand_in_torch"
  [[ -x "$python" ]] || skip "there is no .venv (ci/setup.sh --python)"
  [[ -d "$torch" ]] || skip "there is no tests/foreign/stand_in_torch"
  "$python" -c 'import torch' 2>/dev/null || skip "torch is not in .venv"
  rm -rf "$machine"
  mkdir -p "$machine/stand_in"
  write_program "$machine/stand_in/nvidia-smi" "$nvidia_smi"
  said="$(env -u CUDA_VISIBLE_DEVICES PATH="$machine/stand_in:$PATH" OMP_NUM_THREADS=1 \
    PYTHONPATH="$torch" "$source_directory/ci/gpu.sh" --no-build --build "$1/build" \
    --out "$machine/out" --quick --only facts real --deadline 170 2>&1)" || code=$?
  echo "$said"
  summary="$(<"$machine/out/summary.md")"
  expect "$summary" "measured: torch 2."
  expect "$summary" "xformers (absent)"
  [[ "$summary" =~ run\ [0-9a-f]{8}:\ no\ failure\ in\ [1-9][0-9]*\ cases ]] ||
    fail "no case of a Python kernel was measured"
  ((code == 0)) || fail "exit code $code, not 0"
}

verb="${1:-}"
shift || true
case "$verb" in
  root) make_root "$1" ;;
  bundle) make_bundle "$1" "$2" ;;
  run) rehearse "$1" ;;
  refused) refused "$1" "$2" ;;
  python) python_kernels "$1" ;;
  *) echo "usage: $0 root|bundle|run|refused|python …" >&2; exit 2 ;;
esac
