#!/usr/bin/env bash
# Makes two wheels, NAME-VERSION-py3-none-manylinux_2_28_x86_64.whl:
#   plumbline_attention           the judge: `plumbline check`, `plumbline diff` of two dumps, the
#                                 Python package and the pytest plugin
#   plumbline_attention_harness   the rest: the whole program, its workers, plumbline-ptx, all
#                                 providers that need no GPU, the suites, the contracts and the page
# No file is in both, and the second requires the first. They are for Python 3.9 and newer on x86-64
# Linux with glibc 2.28 or newer and AVX2. Each carries the licences of what it links and an SBOM
# (ci/notices/notices.py).
#   ci/wheel.sh [--judge] [-o FOLDER]
#     --judge             only the first
#     -o, --output FOLDER into FOLDER (default: dist); the last lines are the paths of the wheels
# The first run builds the libraries that the wheels link (ci/wheel/dependencies.sh, four minutes on
# two cores) and keeps them in ${XDG_CACHE_HOME:-~/.cache}/plumbline/wheel.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null
folder="$source_directory/dist" wheels=(judge harness)
while (($#)); do
  case "$1" in
    -h | --help) sed -n '2,14p' "$0" | cut -c3-; exit 0 ;;
    --judge) wheels=(judge) ;;
    -o | --output) require_value "a folder" "$@"; folder="$(absolute "$2")"; shift ;;
    *) refuse "unknown option $1" ;;
  esac
  shift
done

ci/setup.sh --wheel
[[ "${wheels[*]}" == judge ]] || ci/setup.sh --page ||
  echo "ci/wheel.sh: no node or npm (see above): the wheel has no page for \`plumbline report\`" >&2

work="$source_directory/build/wheel" tools="$source_directory/ci/wheel"
source "$tools/environment.sh"
"$tools/dependencies.sh"
use_wheel_tools "$(wheel_cache_folder)"
export ZIG_LOCAL_CACHE_DIR="$work/zig"
# ccache cannot tell which compiler a script calls. Its version is a hash of the script and of the
# pinned packages.
CCACHE_COMPILERCHECK="string:$(cat "$tools/zig.sh" "$tools/requirements.txt" | sha256sum)"
export CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK

# Turns the lines of a build into timed phases: the configuration, then the compiled steps, every
# five seconds.
show_phases() {
  local line phase="configure" begin=$SECONDS next=0 last=""
  while IFS= read -r line; do
    [[ "$line" =~ ^\ *\[([0-9]+)/([0-9]+)\]\ (.*) ]] || continue
    if [[ "$phase" == configure ]]; then
      echo "  configured in $((SECONDS - begin)) s"
      phase="compile" begin=$SECONDS
    fi
    last="compiled and linked: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
    ((SECONDS < next)) || { echo "  $last, $((SECONDS - begin)) s"; next=$((SECONDS + 5)); }
  done
  [[ -z "$last" ]] || echo "  $last in $((SECONDS - begin)) s"
}

# make_wheel WHICH FOLDER_OF_ITS_PYPROJECT TARGET LIMIT_IN_BYTES
make_wheel() {
  local which="$1" project="$2" target="$3" limit="$4" begin=$SECONDS phase=$SECONDS wheel bytes
  local raw="$work/$which/raw" repaired="$work/$which/repaired" log="$work/$which/log.txt"
  echo "wheel of the $which"
  rm -rf "$raw" "$repaired"
  mkdir -p "$work/$which"
  # Each function is a section of its own, so that the linker leaves unused ones out.
  # Both wheels share one build folder, which is kept, so only new or changed files are compiled.
  if ! "$PLUMBLINE_WHEEL_PYTHON" -m pip wheel --verbose --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$raw" \
    --config-settings=build-dir="$work/build" \
    --config-settings=cmake.args="-DCMAKE_TOOLCHAIN_FILE=$tools/toolchain.cmake" \
    --config-settings=cmake.define.PLUMBLINE_PRECOMPILED_HEADERS=OFF \
    --config-settings=cmake.define.PLUMBLINE_DEBUG_INFO=-g0 \
    --config-settings=cmake.define.CMAKE_UNITY_BUILD=ON \
    --config-settings=cmake.define.CMAKE_UNITY_BUILD_BATCH_SIZE=8 \
    --config-settings=cmake.define.CMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections" \
    "$project" 2>&1 | tee "$log" | show_phases; then
    grep -E "error|Error|FAILED" "$log" | head -n 20 >&2
    end_with 1 "the build failed; all of its output is in $log"
  fi
  phase=$SECONDS
  PATH="$PLUMBLINE_WHEEL_PREFIX/venv/bin:$PATH" LD_LIBRARY_PATH="$PLUMBLINE_WHEEL_PREFIX/lib" \
    "$PLUMBLINE_WHEEL_PYTHON" -m auditwheel repair --plat manylinux_2_28_x86_64 \
    --disable-isa-ext-check --wheel-dir "$repaired" "$raw"/*.whl \
    >"$work/$which/auditwheel.txt" 2>&1 || {
    cat "$work/$which/auditwheel.txt" >&2
    end_with 1 "the wheel needs a newer system than manylinux_2_28"
  }
  echo "  repaired in $((SECONDS - phase)) s: its shared libraries are in it"
  "$PLUMBLINE_WHEEL_PYTHON" ci/notices/notices.py wheel "$repaired"/*.whl --build "$work/build" \
    --prefix "$PLUMBLINE_WHEEL_PREFIX" "$target" >"$work/$which/notices.txt" ||
    end_with 1 "the wheel has no notices and no SBOM"
  echo "  notices and SBOM of $(<"$work/$which/notices.txt")"
  mkdir -p "$folder"
  wheel="$(basename "$repaired"/*.whl)"
  mv "$repaired/$wheel" "$folder/$wheel"
  bytes="$(stat -c %s "$folder/$wheel")"
  awk -v bytes="$bytes" -v limit="$limit" -v seconds="$((SECONDS - begin))" 'BEGIN {
    printf "  %.1f MB of at most %.0f MB, made in %d s\n", bytes / 1e6, limit / 1e6, seconds}'
  ((bytes <= limit)) ||
    end_with 1 "$folder/$wheel exceeds $limit bytes; remedy: find what grew or raise the limit here"
  paths+=("$folder/$wheel")
}

paths=()
for which in "${wheels[@]}"; do
  case "$which" in
    judge) make_wheel judge "$source_directory" plumbline_check_library 4000000 ;;
    harness) make_wheel harness "$source_directory/python/harness" programs 11500000 ;;
  esac
done
echo "all in $SECONDS s"
printf '%s\n' "${paths[@]}"
