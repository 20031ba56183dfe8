#!/usr/bin/env bash
# What somebody new does with the wheel; run where nothing of plumbline is. Beside it lie
# first_use.py, and mine.py and mine.toml of docs/plug-in-your-kernel.md.
#   first_use.sh WHEEL INSTALL_LIMIT [PYTHON]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
wheel="$1" limit="$2" python="${3:-python3}"
cd /
"$python" -c 'import platform; print("Python", platform.python_version(), *platform.libc_ver())'

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Processor time of the children of this shell, in seconds.
spent() { "$folder/venv/bin/python" -c '
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.1f}")' "$@"; }
seconds="$(spent "$folder/venv/bin/pip" install --quiet --quiet "$wheel" | tail -n 1)"
echo "installation: $seconds s of processor time, limit $limit"
"$folder/venv/bin/python" -c "import sys; sys.exit($seconds > $limit)" ||
  { echo "FAILED: the installation took longer" >&2; exit 1; }
export PATH="$folder/venv/bin:$PATH"

plumbline --version
cp "$here"/{first_use.py,mine.py,mine.toml} "$folder"
cd "$folder"
python first_use.py
code=0
plumbline check right.safetensors >right.txt || code=$?
head -n 2 right.txt
[[ $code == 0 && "$(head -n 1 right.txt)" == ROUNDING* ]]
plumbline check wrong.safetensors >wrong.txt || code=$?
head -n 2 wrong.txt
[[ $code == 1 && "$(head -n 1 wrong.txt)" == BUG* ]]
code=0
plumbline diff right.safetensors wrong.safetensors >diff.txt || code=$?
[[ $code == 1 ]]
plumbline doctor >doctor.txt || { cat doctor.txt >&2; exit 1; }
plumbline run cases/smoke.toml --no-store --quiet | tail -n 2
plumbline run mine.toml --no-store --quiet --provider mine.py | tail -n 2
plumbline run cases/smoke.toml --tier smoke --quiet --db history.db >/dev/null
plumbline report --db history.db -o report.html
[[ -s report.html ]]
echo "first use: passed"
