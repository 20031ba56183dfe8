# Sourced by the scripts of this folder: the source directory, the preset and where its build lies.
set -euo pipefail
source_directory="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$source_directory"

# "dev" compiles the CUDA kernels, too; without nvcc they are left out, and that is said.
if command -v nvcc >/dev/null; then
  preset="${PLUMBLINE_PRESET:-dev}"
else
  preset="${PLUMBLINE_PRESET:-host}"
  echo "nvcc is not on the PATH: the CUDA kernels (kernels/attention) are left out of this build"
fi
build_directory="$source_directory/build/$preset"
plumbline="$build_directory/bin/plumbline"

build() {
  ci/setup.sh
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" "$@"
}
