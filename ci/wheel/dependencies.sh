#!/usr/bin/env bash
# Builds the tools and libraries of both wheels in a cache outside the checkout:
#   ci/wheel/dependencies.sh           (called by ci/wheel.sh)
#   ci/wheel/dependencies.sh --path    prints the folder and builds nothing
# The folder is ${XDG_CACHE_HOME:-~/.cache}/plumbline/wheel/HASH. HASH covers the files that decide
# its content, so checkouts with the same files share it. It is built under another name and renamed
# when it is complete. It holds:
#   venv       clang (PyPI's ziglang), scikit-build-core and auditwheel
#   zig        clang's C and C++ libraries
#   include, lib   static libraries of OpenBLAS, oneTBB, fmt, SQLite, SQLiteCpp, zlib, xxHash, LZ4,
#              zstd's decompressor and Google Benchmark, from Debian's source packages; SLEEF is
#              Debian's shared library, which needs no newer glibc than 2.17; the headers of
#              header-only libraries come from Debian's packages
#   share/notices  for each of these: Debian's file "copyright", and the version of the source, in a
#              folder with the name of the source package (ci/notices/notices.py reads them)
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/environment.sh"
case "${1:-}" in
  --path) wheel_cache_folder; exit 0 ;;
  "") ;;
  *) echo "ci/wheel/dependencies.sh: unknown option $1; remedy: none, or --path" >&2; exit 2 ;;
esac
final="$(wheel_cache_folder)"
if [[ -d "$final" ]]; then
  echo "wheel dependencies: cached in $final"
  exit 0
fi
mkdir -p "$(dirname "$final")"
prefix="$(mktemp -d "$final.new.XXXXXX")"
trap 'rm -rf "$prefix"' EXIT
sources="$prefix/sources" log="$prefix/log"
mkdir -p "$prefix"/{include,lib/pkgconfig,lib/cmake} "$sources" "$log"
use_wheel_tools "$prefix"
export ZIG_LOCAL_CACHE_DIR="$sources/zig"

fail() { echo "ci/wheel/dependencies.sh: $*" >&2; exit 1; }

# Runs a step quietly and prints its time; shows its output if it fails.
steps_done=0
step() {
  local name="$1" begin=$SECONDS; shift
  ((++steps_done))
  printf 'wheel dependencies %2d of %d: %s ... ' "$steps_done" "$steps_wanted" "$name"
  ("$@") >"$log/$name.txt" 2>&1 &  # `set -e` has no effect on the left of `||`
  if wait $!; then
    echo "$((SECONDS - begin)) s"
    return
  fi
  echo "failed"
  tail -n 30 "$log/$name.txt" >&2
  case "$name" in
    tools) echo "ci/wheel/dependencies.sh: pip cannot install ci/wheel/requirements.txt;" \
      "remedy: connect to a network, or set PIP_INDEX_URL to an index of yours" >&2; exit 3 ;;
    sources) echo "ci/wheel/dependencies.sh: cannot download source packages from" \
      "deb.debian.org; remedy: connect to a network" >&2; exit 3 ;;
  esac
  fail "$name failed: $*"
}

make_tools() {
  python3 -m venv "$prefix/venv"
  "$prefix/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --require-hashes --requirement "$here/requirements.txt"
}

# Compiles clang's C++ library, which clang does when it first links. Programs and shared libraries
# need different objects of it.
make_cxx_library() {
  cd "$sources"
  echo 'int main() { return 0; }' >empty.cc
  "$CXX" -O2 empty.cc -o empty
  "$CXX" -O2 -fPIC -shared empty.cc -o empty.so
}

# Source packages need no root: apt keeps its lists in our own folder.
fetch_sources() {
  local apt=(-qq -o "Dir::Etc::SourceList=$sources/list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State=$sources/state" -o "Dir::Cache=$sources/cache" -o APT::Sandbox::User=
    -o Dir::State::Status=/var/lib/dpkg/status)
  mkdir -p "$sources"/{state/lists/partial,cache/archives/partial}
  local key=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb-src [signed-by=$key] http://deb.debian.org/debian bookworm main" >"$sources/list"
  apt-get "${apt[@]}" update
  cd "$sources"
  apt-get "${apt[@]}" source openblas onetbb fmtlib xxhash sqlitecpp zlib benchmark sqlite3 \
    cpp-httplib lz4 libzstd
}
folder_of() {
  local found=("$sources/$1"-[0-9]*/)
  [[ -d "${found[0]}" ]] || fail "no source of $1 in $sources"
  echo "${found[0]%/}"
}

# Keeps the notices of the source packages, and of the binary packages whose files are copied.
keep_notices() {
  local name folder package
  for name in openblas onetbb fmtlib xxhash sqlitecpp zlib benchmark sqlite3 cpp-httplib lz4 \
    libzstd; do
    folder="$(folder_of "$name")/debian"
    mkdir -p "$prefix/share/notices/$name"
    cp "$folder/copyright" "$prefix/share/notices/$name"
    sed -nE '1s/^[^ ]+ \(([^)]+)\).*/\1/p' "$folder/changelog" \
      >"$prefix/share/notices/$name/version"
  done
  for package in libsleef-dev nlohmann-json3-dev libcli11-dev libexpected-dev \
    libtomlplusplus-dev; do
    name="$(dpkg-query -W -f='${source:Package}' "$package")"
    mkdir -p "$prefix/share/notices/$name"
    cp -L "/usr/share/doc/$package/copyright" "$prefix/share/notices/$name"
    dpkg-query -W -f='${source:Version}\n' "$package" >"$prefix/share/notices/$name/version"
  done
}

with_cmake() {
  local name="$1"; shift
  cmake -S "$(folder_of "$name")" -B "$sources/build-$name" -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$here/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
  cmake --build "$sources/build-$name"
  cmake --install "$sources/build-$name"
}

pkgconfig() {  # pkgconfig NAME LIBS
  # The folder is renamed, so paths are relative to the .pc file.
  printf 'Name: %s\nDescription: of the wheel\nVersion: 0\nCflags: -I%s\nLibs: %s\n' \
    "$1" '${pcfiledir}/../../include' "$2" >"$prefix/lib/pkgconfig/$1.pc"
}

# Builds the part of OpenBLAS that is called: matrix products, in one thread. Every CPU uses the
# AVX2 kernels, so that only called code is linked and the reference has the same bits everywhere.
build_openblas() {
  local options=(ONLY_CBLAS=1 NO_LAPACK=1 NO_LAPACKE=1 NOFORTRAN=1 NO_SHARED=1 USE_THREAD=0
    USE_LOCKING=1 DYNAMIC_ARCH=0 TARGET=HASWELL BUILD_SINGLE=1 BUILD_DOUBLE=1 BUILD_COMPLEX=0
    BUILD_COMPLEX16=0 HOSTCC=cc CC="$CC" AR="$AR" RANLIB="$RANLIB")
  cd "$(folder_of openblas)"
  make -j"$(nproc)" "${options[@]}" libs
  make "${options[@]}" PREFIX="$prefix" OPENBLAS_LIBRARY_DIR="$prefix/lib" \
    OPENBLAS_INCLUDE_DIR="$prefix/include" install
}

build_sqlite() {
  cd "$(folder_of sqlite3)"
  mkdir -p build-wheel && cd build-wheel
  CC=cc ../configure --disable-shared --disable-readline --disable-tcl >/dev/null
  make sqlite3.c
  "$CC" -O2 -fPIC -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_FTS5 \
    -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_DBSTAT_VTAB \
    -DSQLITE_MAX_VARIABLE_NUMBER=250000 -c sqlite3.c -o sqlite3.o
  "$AR" rcs "$prefix/lib/libsqlite3.a" sqlite3.o
  cp sqlite3.h sqlite3ext.h "$prefix/include"
}

build_cpu_model() {
  "$CC" -O2 -fPIC -c "$here/cpu_model.c" -o "$sources/cpu_model.o"
  "$AR" rcs "$prefix/lib/libcpu_model.a" "$sources/cpu_model.o"
}

build_xxhash() {
  cd "$(folder_of xxhash)"
  "$CC" -O3 -fPIC -c xxhash.c -o xxhash.o
  "$AR" rcs "$prefix/lib/libxxhash.a" xxhash.o
  cp xxhash.h xxh3.h "$prefix/include"
}

build_lz4() {
  cd "$(folder_of lz4)/lib"
  "$CC" -O3 -fPIC -c lz4.c -o lz4.o
  "$AR" rcs "$prefix/lib/liblz4.a" lz4.o
  cp lz4.h "$prefix/include"
}

build_zstd() {
  local name
  cd "$(folder_of libzstd)/lib"
  for name in common/*.c decompress/*.c; do
    "$CC" -O3 -fPIC -DXXH_NAMESPACE=ZSTD_ -DZSTD_DISABLE_ASM -c "$name" -o "${name%.c}.o"
  done
  "$AR" rcs "$prefix/lib/libzstd.a" common/*.o decompress/*.o
  cp zstd.h zstd_errors.h "$prefix/include"
}

build_zlib() {
  cd "$(folder_of zlib)"
  CHOST=x86_64-linux-gnu CFLAGS="-O2 -fPIC" ./configure --static --prefix="$prefix"
  make -j"$(nproc)" libz.a
  cp libz.a "$prefix/lib"
  cp zlib.h zconf.h "$prefix/include"
}

# Copies headers that need no compiler, the files by which CMake finds them, and SLEEF.
take_from_debian() {
  cp -r /usr/include/{nlohmann,CLI,tl,toml++} "$prefix/include"
  cp -r /usr/share/cmake/{nlohmann_json,CLI11,tl-expected} "$prefix/lib/cmake"
  cp "$(folder_of cpp-httplib)/httplib.h" /usr/include/x86_64-linux-gnu/sleef.h "$prefix/include"
  cp -L /usr/lib/x86_64-linux-gnu/libsleef.so.3 "$prefix/lib"
  ln -sf libsleef.so.3 "$prefix/lib/libsleef.so"
}

# The number of steps below.
steps_wanted="$(grep -c '^step ' "${BASH_SOURCE[0]}")"
step tools make_tools
step cxx_library make_cxx_library
step sources fetch_sources
step headers take_from_debian
step notices keep_notices
step cpu_model build_cpu_model
step openblas build_openblas
step onetbb with_cmake onetbb -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF \
  -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
step fmt with_cmake fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
step xxhash build_xxhash
step lz4 build_lz4
step zstd build_zstd
step zlib build_zlib
step sqlite build_sqlite
step sqlitecpp with_cmake sqlitecpp -DSQLITECPP_INTERNAL_SQLITE=OFF -DSQLITECPP_RUN_CPPLINT=OFF \
  -DSQLITECPP_BUILD_TESTS=OFF -DSQLITE_ENABLE_COLUMN_METADATA=ON
step benchmark with_cmake benchmark -DBENCHMARK_ENABLE_TESTING=OFF -DBENCHMARK_ENABLE_LTO=OFF \
  -DBENCHMARK_ENABLE_WERROR=OFF -DGIT_VERSION=1.7.1 -DCMAKE_CXX_FLAGS=-Wno-c2y-extensions
pkgconfig openblas '-L${pcfiledir}/.. -lopenblas -lm'
pkgconfig sleef '-L${pcfiledir}/.. -lsleef'
pkgconfig libxxhash '-L${pcfiledir}/.. -lxxhash'
pkgconfig liblz4 '-L${pcfiledir}/.. -llz4'
pkgconfig libzstd '-L${pcfiledir}/.. -lzstd'
pkgconfig cpp-httplib ""
rm -rf "$sources"
chmod 755 "$prefix"
# Another process may have finished first; its result is the same.
mv -T "$prefix" "$final" 2>/dev/null || [[ -d "$final" ]] || fail "cannot rename $prefix to $final"
echo "wheel dependencies: built in $SECONDS s, cached in $final"
