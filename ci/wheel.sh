#!/usr/bin/env bash
# Makes the wheel: plumbline_attention-VERSION-py3-none-manylinux_2_28_x86_64.whl, with the command,
# the workers, all providers that need no GPU, the suites, the contracts, the page and the Python
# package; for Python 3.9 and newer on x86-64 Linux with glibc 2.28 or newer and AVX2.
#   ci/wheel.sh [-o FOLDER]    into FOLDER (default: dist); the path of the wheel is the last line
# The first time it builds the libraries that the wheel links (ci/wheel/dependencies.sh, four
# minutes on two cores); build/wheel keeps them.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null
folder="$source_directory/dist"
while (($#)); do
  case "$1" in
    -h | --help) sed -n '2,7p' "$0" | cut -c3-; exit 0 ;;
    -o | --output) require_value "a folder" "$@"; folder="$(absolute "$2")"; shift ;;
    *) refuse "unknown option $1" ;;
  esac
  shift
done

ci/setup.sh --wheel
ci/setup.sh --page ||
  echo "ci/wheel.sh: no node or npm (see above): the wheel has no page for \`plumbline report\`" >&2

work="$source_directory/build/wheel" tools="$source_directory/ci/wheel"
venv="$work/venv"
wanted="$(sha256sum "$tools/requirements.txt")"
if [[ ! -e "$venv/complete" || "$(<"$venv/complete")" != "$wanted" ]]; then
  echo "installing into ${venv#"$source_directory/"}: ziglang, scikit-build-core, auditwheel"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check \
    --requirement "$tools/requirements.txt"
  echo "$wanted" >"$venv/complete"
fi

PLUMBLINE_ZIG="$("$venv/bin/python" -c \
  'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')"
export PLUMBLINE_ZIG PLUMBLINE_WHEEL_PREFIX="$work/prefix"
export CC="$tools/zig-cc" CXX="$tools/zig-c++" AR="$tools/zig-ar" RANLIB="$tools/zig-ranlib"
export ZIG_GLOBAL_CACHE_DIR="$work/zig" ZIG_LOCAL_CACHE_DIR="$work/zig"
# ccache takes a script for a compiler of no kind it knows, and its content for its version.
CCACHE_COMPILERCHECK="string:$(cat "$tools/zig.sh" "$tools/requirements.txt" | sha256sum)"
export CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK
"$tools/dependencies.sh" "$PLUMBLINE_WHEEL_PREFIX"

echo "building the wheel"
rm -rf "$work/raw"
# The build folder stays, so that the next wheel compiles what has changed.
"$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --wheel-dir "$work/raw" --config-settings=build-dir="$work/build" \
  --config-settings=cmake.args="-DCMAKE_TOOLCHAIN_FILE=$tools/toolchain.cmake" \
  --config-settings=cmake.define.PLUMBLINE_PRECOMPILED_HEADERS=OFF \
  "$source_directory" >"$work/log.txt" 2>&1 || {
  grep -E "error|Error|FAILED" "$work/log.txt" | head -n 20 >&2
  echo "ci/wheel.sh: the build failed; all of what it said is in $work/log.txt" >&2
  exit 1
}
rm -rf "$work/repaired"
PATH="$venv/bin:$PATH" LD_LIBRARY_PATH="$PLUMBLINE_WHEEL_PREFIX/lib" \
  "$venv/bin/auditwheel" repair --plat manylinux_2_28_x86_64 --disable-isa-ext-check \
  --wheel-dir "$work/repaired" "$work"/raw/*.whl >"$work/auditwheel.txt" 2>&1 || {
  cat "$work/auditwheel.txt" >&2
  echo "ci/wheel.sh: the wheel needs more of a system than manylinux_2_28 has" >&2
  exit 1
}
mkdir -p "$folder"
wheel="$(basename "$work"/repaired/*.whl)"
mv "$work/repaired/$wheel" "$folder/$wheel"
bytes="$(stat -c %s "$folder/$wheel")"
((bytes <= 15000000)) || { echo "ci/wheel.sh: $bytes bytes, and 15 MB are allowed" >&2; exit 1; }
awk -v bytes="$bytes" 'BEGIN {printf "%.1f MB\n", bytes / 1e6}'
echo "$folder/$wheel"
