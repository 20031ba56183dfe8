#!/usr/bin/env bash
# Tests the newest wheels of a folder: the judge alone, then with the harness. They share no file,
# give the same bits as another build, and a provider can be built against them.
#   library.sh PYTHON WHEELS SITE PLUMBLINE     installs into the folder SITE, which is made anew;
#                                               PLUMBLINE is the command of the other build
set -euo pipefail
python="$1" site="$3" other="$4"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
fail() { echo "FAILED: $*" >&2; exit 1; }
newest() {
  find "$2" -name "$1-*.whl" -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d' ' -f2-
}
judge="$(newest plumbline_attention "$2")" harness="$(newest plumbline_attention_harness "$2")"
[[ -n "$judge" && -n "$harness" ]] || { echo "SKIPPED: $2 lacks a wheel"; exit 77; }
"$python" -c "import pytest" 2>/dev/null || { echo "SKIPPED: $python lacks pytest"; exit 77; }
rm -rf "$site" "$site".{harness,sample} "$site".*.db
"$python" - "$judge" "$harness" <<'END'
import email, pathlib, sys, zipfile
judge, harness = map(zipfile.ZipFile, sys.argv[1:])
both = set(judge.namelist()) & set(harness.namelist())
assert not both, f"in both wheels: {sorted(both)[:5]}"
def metadata(wheel):
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))
version = metadata(judge)["Version"]
assert metadata(harness).get_all("Requires-Dist") == [f"plumbline-attention=={version}"]
wanted = metadata(judge).get_all("Requires-Dist")
assert any("plumbline-attention-harness" in line and "run" in line for line in wanted), wanted
assert pathlib.Path(sys.argv[1]).stat().st_size < 4_000_000
print("no file is in both wheels, of", len(judge.namelist()), "and", len(harness.namelist()))
END

# --target would replace existing files, so the harness is installed elsewhere and copied.
install() {
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index \
    --target "$1" "$2"
}
first_verdict() {
  install "$site" "$judge"
  PYTHONPATH="$site" "$python" "$here/first_verdict.py" "$site.right.safetensors"
}
export PYTHONDONTWRITEBYTECODE=1
first_verdict_limit=10  # seconds of processor time, which other work on the machine does not change
TIMEFORMAT='%R %U %S'
{ spent="$( { time first_verdict >&3 2>&4; } 2>&1)"; } 3>&1 4>&2
read -r wall user system <<<"$spent"
echo "judge: from pip install to the first verdict in $wall s, $user + $system s of processor time"
awk -v used="$user $system" -v limit="$first_verdict_limit" \
  'BEGIN {split(used, part, " "); exit part[1] + part[2] > limit}' ||
  fail "the first verdict took more than $first_verdict_limit s of processor time"
command="$site/bin/plumbline"
export PYTHONPATH="$site"
[[ "$("$command" check "$site.right.safetensors" | head -n 1)" == ROUNDING* ]] ||
  fail "plumbline check does not explain a right output"
code=0
said="$("$command" run cases/smoke.toml 2>&1)" || code=$?
[[ "$code" == 2 && "$said" == *"plumbline-attention[run]"* ]] ||
  fail "plumbline run of the judge does not name the harness, but ends with $code: $said"
# The library runs in one process with PyTorch, and exports the symbols of its header.
(cd "$here/../python_package" && "$python" -m pytest -q -p no:cacheprovider test_library.py \
  test_arrays.py)

install "$site.harness" "$harness"
cp -r "$site.harness/." "$site"
[[ "$("$python" -c 'import plumbline; print(plumbline.__file__)')" == "$site"/* ]] ||
  fail "another plumbline than the wheel's is imported"
program="$site/plumbline/_native/bin/plumbline"
[[ "$("$command" --version)" == "$("$program" --version)" ]] ||
  fail "the command is not the program of the harness"
# Compares clang with libc++ and g++ with libstdc++: inputs, outputs and verdicts of every case.
results() {
  "$1" run cases/smoke.toml --quiet --db "$site.$2.db" >/dev/null
  "$1" query "SELECT c.case_id, o.verdict, hex(o.problem_digest), hex(o.output_digest) FROM outcome
    AS o JOIN attention_case AS c USING (case_key) ORDER BY 1" --format csv --db "$site.$2.db"
}
results "$program" wheel >"$site.wheel.csv"
results "$other" build >"$site.build.csv"
diff "$site".{wheel,build}.csv >"$site.diff.txt" ||
  { echo "FAILED: the wheel's results are others:"; head -n 20 "$site.diff.txt"; exit 1; } >&2
(($(wc -l <"$site.wheel.csv") > 300)) || fail "too few cases ran"
echo "the same results as $other"
# A program linked with CUDA's run-time library finds a device.
"$python" - "$("$program" --cudart-dir)" <<'END' || fail "libcudart.so"
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
[[ "$("$site/bin/plumbline-ptx" --help)" == *"plumbline-ptx census"* ]] ||
  fail "plumbline-ptx does not run"
