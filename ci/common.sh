# Sourced by the scripts of this folder: the source directory, the preset and where its build lies.
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

# A path the caller gave, absolute: these scripts work in the source directory.
absolute() { (cd "$caller_directory" && realpath -m -- "$1"); }

build() {
  ci/setup.sh
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" "$@"
}

# phase NAME COMMAND…: runs a command of a script that has several phases. Prints the phase before
# it and its seconds after it.
phase() {
  local name="$1" begin=$SECONDS code=0
  shift
  echo "==> $name"
  "$@" || code=$?
  echo "==> $name: $((SECONDS - begin)) s$( ((code == 0)) || echo ", failed with exit code $code")"
  return "$code"
}
