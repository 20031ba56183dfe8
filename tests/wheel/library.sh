#!/usr/bin/env bash
# Of the newest wheel in a folder: the same bits as another build's, a provider that is built
# against it, and the tests of the package's library.
#   library.sh PYTHON WHEELS SITE PLUMBLINE     installs into the folder SITE, which is made anew;
#                                               PLUMBLINE is the command of the other build
set -euo pipefail
python="$1" site="$3" other="$4"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
wheel="$(find "$2" -name 'plumbline_attention-*.whl' -printf '%T@ %p\n' 2>/dev/null | sort -n |
  tail -n 1 | cut -d' ' -f2-)"
[[ -n "$wheel" ]] || { echo "SKIPPED: there is no wheel in $2"; exit 77; }
"$python" -c "import pytest" 2>/dev/null || { echo "SKIPPED: $python lacks pytest"; exit 77; }
rm -rf "$site" "$site.sample" "$site".*.db
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --target "$site" \
  "$wheel"
export PYTHONPATH="$site" PYTHONDONTWRITEBYTECODE=1
[[ "$("$python" -c 'import plumbline; print(plumbline.__file__)')" == "$site"/* ]] ||
  { echo "FAILED: another plumbline than the wheel's is imported" >&2; exit 1; }
program="$site/plumbline/_native/bin/plumbline"
# clang with libc++ and g++ with libstdc++: inputs, outputs and verdicts of every case.
results() {
  "$1" run cases/smoke.toml --quiet --db "$site.$2.db" >/dev/null
  "$1" query "SELECT c.case_id, o.verdict, hex(o.problem_digest), hex(o.output_digest) FROM outcome
    AS o JOIN attention_case AS c USING (case_key) ORDER BY 1" --format csv --db "$site.$2.db"
}
results "$program" wheel >"$site.wheel.csv"
results "$other" build >"$site.build.csv"
diff "$site".{wheel,build}.csv >"$site.diff.txt" ||
  { echo "FAILED: the wheel's results are others:"; head -n 20 "$site.diff.txt"; exit 1; } >&2
(($(wc -l <"$site.wheel.csv") > 300)) || { echo "FAILED: too few cases ran" >&2; exit 1; }
echo "the same results as $other"
# A program that was linked with CUDA's run-time finds a device.
"$python" - "$("$program" --cudart-dir)" <<'END' || { echo "FAILED: libcudart.so" >&2; exit 1; }
import ctypes
import sys
folders = sys.argv[1].split(":")
for version, folder in zip((12, 13), folders, strict=True):
    library = ctypes.CDLL(f"{folder}/libcudart.so.{version}")
    count = ctypes.c_int()
    assert library.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1
    major = ctypes.c_int()  # 75: cudaDevAttrComputeCapabilityMajor
    assert library.cudaDeviceGetAttribute(ctypes.byref(major), 75, 0) == 0 and major.value >= 8
END
echo "CUDA's run-time on the emulator, in $("$program" --cudart-dir)"
cmake -S "$here/../sample_provider" -B "$site.sample" "-Dplumbline_DIR=$("$program" --cmake-dir)" \
  >"$site.sample.txt" 2>&1 && cmake --build "$site.sample" >>"$site.sample.txt" 2>&1 ||
  { cat "$site.sample.txt" >&2; exit 1; }
"$program" run cases/smoke.toml --no-store -q --provider "$site.sample/sample_provider.so" \
  --kernel 'sample/*' | tail -n 2
cd "$here/../python_package"
exec "$python" -m pytest -q -p no:cacheprovider test_library.py test_arrays.py
