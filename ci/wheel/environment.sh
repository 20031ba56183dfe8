# Sourced by ci/wheel.sh and ci/wheel/dependencies.sh: the wheels' cache, and the environment to use
# its tools.
wheel_scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

# Prints the cache's folder. Its name depends on the files that decide its content, the Debian
# packages that are copied into it, and the Python of its virtual environment.
wheel_cache_folder() {
  local hash
  hash="$( (
    cat "$wheel_scripts"/{dependencies.sh,environment.sh,zig.sh,cpu_model.c,toolchain.cmake} \
      "$wheel_scripts/requirements.txt"
    dpkg-query -W libsleef-dev nlohmann-json3-dev libcli11-dev libexpected-dev libtomlplusplus-dev
    python3 -c 'import sys; print(sys.version, sys.prefix)'
  ) 2>/dev/null | sha256sum)"
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/plumbline/wheel/${hash:0:16}"
}

# Sets the compiler and the prefix to those of a cache folder.
use_wheel_tools() {
  export PLUMBLINE_WHEEL_PREFIX="$1" PLUMBLINE_WHEEL_PYTHON="$1/venv/bin/python"
  export CC="$wheel_scripts/zig-cc" CXX="$wheel_scripts/zig-c++"
  export AR="$wheel_scripts/zig-ar" RANLIB="$wheel_scripts/zig-ranlib"
  export ZIG_GLOBAL_CACHE_DIR="$1/zig"
}
