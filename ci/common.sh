# Sourced by the scripts of this folder: sets the source directory, the preset and its build
# directory.
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
caller_directory="$PWD"
source_directory="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$source_directory"

# Stored with a run, so that "since when does it fail" can name a commit.
export PLUMBLINE_COMMIT="${PLUMBLINE_COMMIT:-$(git rev-parse HEAD 2>/dev/null || true)}"

# The preset "ci" is a unity build. It compiles the CUDA kernels if nvcc is on the PATH.
preset="${PLUMBLINE_PRESET:-ci}"
if [[ "$preset" =~ ^(ci|dev)$ ]] && ! command -v nvcc >/dev/null; then
  [[ "$preset" != dev ]] || preset=host
  echo "nvcc is not on the PATH: the CUDA kernels (kernels/attention) are left out of this build"
fi
build_directory="$source_directory/build/$preset"
plumbline="$build_directory/bin/plumbline"

# Prints the absolute path of a caller's path: these scripts run in the source directory.
absolute() { (cd "$caller_directory" && realpath -m -- "$1"); }

build() {
  ci/setup.sh
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" "$@"
}

# phase NAME COMMAND…: runs a command of a script with several phases. Prints the phase's name
# before the command, and afterwards how many seconds it took.
phase() {
  local name="$1" begin=$SECONDS code=0
  shift
  echo "==> $name"
  "$@" || code=$?
  echo "==> $name: $((SECONDS - begin)) s$( ((code == 0)) || echo ", failed with exit code $code")"
  return "$code"
}

# Installs what the tests of a whole build need, and reports what is still missing.
set_up_for_tests() {
  ci/setup.sh
  ci/setup.sh --python ||
    echo "$0: the Python packages are not there (see above): tests of Python kernels and of" \
      "the Python package are left out or skipped" >&2
  ci/setup.sh --page ||
    echo "$0: node or npm is not there (see above): the page of \`plumbline report\` and" \
      "its tests are left out" >&2
  ci/setup.sh --browser ||
    echo "$0: chromium is not there: tests of the page are left out" >&2
  ci/setup.sh --providers ||
    echo "$0: the sources of others' kernels are not there (see above): those kernels and" \
      "their tests are left out" >&2
  ci/docs.sh --setup ||
    echo "$0: the site of docs/ is not built (see above): its test is skipped" >&2
  # CI installs Slurm, promtool and buildah for their tests. Elsewhere these tests run if the
  # program is already installed.
  if [[ -n "${CI:-}" ]]; then
    ci/setup.sh --slurm || echo "$0: Slurm is not there: its test is skipped" >&2
    ci/setup.sh --promtool || echo "$0: promtool is not there: its test is skipped" >&2
    ci/setup.sh --container || echo "$0: buildah is not there: its test is skipped" >&2
  fi
}
