# Sourced by ci/gpu.sh --pack: packs a bundle that runs on any x86-64-v3 Linux with glibc 2.35 and a
# driver. It has the programs, the provider libraries (for --arch only), their shared libraries
# except those of the system, the Python worker and providers, cases/, baselines/ and ci/gpu.sh. All
# paths in it are relative.

newest_glibc=2.35 newest_glibcxx=3.4.30
packed_limit=$((48 << 20)) unpacked_limit=$((192 << 20))  # bytes
# The machine's C and C++ runtimes, which are not packed because its other programs also use them.
system_libraries='^(linux-vdso|ld-linux-x86-64|libc|libm|libmvec|libpthread|libdl|librt|libresolv'
system_libraries+='|libgcc_s|libstdc\+\+)\.so'

python_support=lib/plumbline/python/plumbline_python_support.so  # of the Python worker

# Builds into a build directory of its own, for the requested architectures.
build_pack() {
  local names=(plumbline_python) program
  command -v nvcc >/dev/null || end_with 3 "no nvcc on the PATH to build with"
  build="$source_directory/build/pack"
  source "$source_directory/ci/instances.sh"
  "$source_directory/ci/setup.sh"
  cmake -S "$source_directory" -B "$build" -G Ninja \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPLUMBLINE_WERROR=ON -DPLUMBLINE_CUDA=ON \
    -DPLUMBLINE_CUDA_ARCHS="$(IFS=';'; echo "${architectures[*]}")" \
    -DPLUMBLINE_FLASH_ATTENTION_FILES="$full_flash_attention" \
    -DPLUMBLINE_FLASHINFER_INSTANCES="$full_flashinfer" -DPLUMBLINE_CUDA_BUNDLE=ON >/dev/null
  read_programs
  for program in "${programs[@]##*/}"; do names+=("${program%.so}"); done
  cmake --build "$build" --target "${names[@]}"
}
# Removes from `programs` those that the build lacks. The bundle's ci/gpu.sh names them and skips
# the steps that need them.
keep_present() {
  local program present=() absent=()
  for program in "${programs[@]}"; do
    if [[ -e "$build/$program" ]]; then present+=("$program"); else absent+=("$program"); fi
  done
  programs=("${present[@]}")
  ((${#absent[@]} == 0)) || echo "not in this build, and so not in the bundle: ${absent[*]}"
}

# Prints the paths of the libraries that the programs load, except system libraries and those of
# lib/plumbline.
carried_libraries() {
  local program line name
  for program in "${programs[@]}" "$python_support"; do
    (cd "$build" && loads "$program") || true
  done | while read -r name _ line _; do
    [[ "$line" != /* || "$name" =~ $system_libraries || "$line" == */lib/plumbline/* ]] ||
      echo "$line"
  done | sort -u
}

# Copies the files that compiled providers load from their folder: run-time libraries, and kernels
# for the emulator.
carry_compiled() {
  ((${#compiled[@]})) || return 0
  cp --parents compiled_providers.txt "$1"
  cp -rL --parents lib/plumbline/emulated lib/plumbline/cuda12 "$1"
  find "$1/lib/plumbline/emulated" -type f ! -name '*.so*' -delete
}

# Adds NOTICES.txt and the SBOM to the bundle. Needs the Python packages of .venv.
add_notices() {
  local bundle="$1" targets=() carried python
  python="${PLUMBLINE_PYTHON:-$source_directory/.venv/bin/python}"
  [[ -x "$python" ]] || end_with 3 "there is no $python, which makes the SBOM of the bundle;" \
    "remedy: run ci/setup.sh --python, or set PLUMBLINE_PYTHON"
  mapfile -t carried < <(carried_libraries)
  wait "$!"
  targets=("${programs[@]}" "$python_support")
  "$python" "$source_directory/ci/notices/notices.py" bundle "$bundle" --build "$build" \
    "${targets[@]}" --carried "${carried[@]}"
}

fill_bundle() {
  local bundle="$1" changed
  mkdir -p "$bundle/lib/shared" "$bundle/docs"
  (cd "$build" && cp --parents gpu_tests.txt "${programs[@]}" "$bundle" &&
    cp -r --parents lib/plumbline/python "$bundle" && carry_compiled "$bundle")
  carried_libraries | xargs -r cp -L -t "$bundle/lib/shared"
  find "$bundle" -name __pycache__ -prune -exec rm -rf {} +
  find "$bundle" -type f \( -perm -u+x -o -name '*.so*' \) \
    -exec sh -c 'strip --strip-unneeded "$@" 2>/dev/null' sh {} + || true
  (cd "$source_directory" && cp -r --parents ci/gpu.sh ci/gpu/results.sh ci/gpu/steps.sh \
    ci/common.sh ci/options.sh cases baselines docs/gpu.md LICENSE "$bundle")
  rm -rf "$bundle/baselines/gpu"
  changed="$(git -C "$source_directory" status --porcelain --untracked-files=no || true)"
  echo "${PLUMBLINE_COMMIT:-unknown}${changed:+ with changes}" >"$bundle/commit"
  {
    echo "A bundle of plumbline for a machine with a GPU: ./ci/gpu.sh runs it (docs/gpu.md)."
    printf 'commit %s\narchitectures %s\n' "$(<"$bundle/commit")" "${architectures[*]}"
  } >"$bundle/bundle.txt"
}

is_newer() { [[ "$1" != "$2" && "$(printf '%s\n%s\n' "$1" "$2" | sort -V | tail -n 1)" == "$1" ]]; }
# Prints a line per symbol that the bundle needs from the machine's C and C++ libraries: the file,
# and the symbol with its version.
symbols_of_the_system() {
  local file
  cd "$1" && find . -type f \( -perm -u+x -o -name '*.so*' \) | while read -r file; do
    readelf --dyn-syms -W "$file" 2>/dev/null | awk -v file="${file#./}" \
      '$7 == "UND" && $8 ~ /@GLIBC(XX)?_[0-9]/ {sub("@@", "@", $8); print file, $8}' || true
  done
}
# Prints the versions that the bundle needs of the machine's C and C++ libraries, and fails if a
# symbol needs a newer one than allowed.
check_requirements() {
  local bundle="$1" file symbol family version newest glibc=0 glibcxx=0 bad=0
  while read -r file symbol; do
    family="${symbol##*@}" version="${symbol##*_}"
    family="${family%%_*}"
    case "$family" in
      GLIBC) newest="$newest_glibc"
        is_newer "$version" "$glibc" && glibc="$version" ;;
      GLIBCXX) newest="$newest_glibcxx"
        is_newer "$version" "$glibcxx" && glibcxx="$version" ;;
      *) continue ;;
    esac
    if is_newer "$version" "$newest"; then
      echo "ci/gpu.sh: $file needs ${symbol%%@*} of $family $version" >&2
      bad=1
    fi
  done < <(symbols_of_the_system "$bundle")
  ((bad == 0)) ||
    end_with 1 "the bundle would not run where glibc is $newest_glibc and libstdc++ is" \
      "GLIBCXX_$newest_glibcxx: pack on an older system"
  echo "needs no symbol newer than GLIBC_$glibc and GLIBCXX_$glibcxx"
}
# Fails if a program of the bundle loads a library that is neither in the bundle nor of the system.
check_self_contained() {
  local bundle="$1" outside
  outside="$(cd "$bundle" && for program in "${programs[@]}" "$python_support"; do
    loads "$program" || true
  done | while read -r name _ path _; do
    [[ "$name" =~ $system_libraries || "$name" == /lib64/* ||
      "$path" == */shared/* || "$path" == */lib/plumbline/* || "$name" == ./* ]] || echo "$name"
  done | sort -u | paste -sd ' ')"
  [[ -z "$outside" ]] ||
    end_with 1 "the bundle would use libraries that are not in it: $outside"
}

mebibytes() { awk -v bytes="$1" 'BEGIN {printf "%.1f MiB", bytes / 1048576}'; }
pack_all() {
  local bundle="$work/plumbline-gpu" packed unpacked
  ((${#architectures[@]})) || architectures=(90a)
  ((build_first == 0)) || build_pack
  read_programs
  check_programs
  keep_present
  fill_bundle "$bundle"
  add_notices "$bundle"
  check_requirements "$bundle"
  check_self_contained "$bundle"
  mkdir -p "$(dirname "$pack")"
  case "$pack" in
    *.gz | *.tgz) tar -C "$work" -cf - plumbline-gpu | gzip -9 >"$pack" ;;
    *) tar -C "$work" -cf - plumbline-gpu | XZ_OPT="${XZ_OPT:--6}" xz -T1 >"$pack" ;;
  esac
  packed="$(wc -c <"$pack")" unpacked="$(du -sb --apparent-size "$bundle" | cut -f1)"
  echo "$pack: $(mebibytes "$packed") packed, $(mebibytes "$unpacked") unpacked," \
    "sm_${architectures[*]}"
  if ((packed > packed_limit || unpacked > unpacked_limit)); then
    end_with 1 "the bundle is too large: the limits are $(mebibytes $packed_limit) packed and" \
      "$(mebibytes $unpacked_limit) unpacked"
  fi
  echo "on the machine with the GPU: tar -xf ${pack##*/} && plumbline-gpu/ci/gpu.sh"
}
