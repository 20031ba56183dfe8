#!/usr/bin/env bash
# Installs the wheels and runs the commands of README and docs/start, like a newcomer. The machine
# has no checkout, only README.md, docs/start and tests/docs in a checkout's layout.
#   first_use.sh INSTALL_LIMIT WHEELS PAGE...   PAGE: relative to the folder that has README.md
set -euo pipefail
limit="$1" wheels="$2" pages=("${@:3}")
around="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd /
python3 -c 'import platform; print("Python", platform.python_version(), *platform.libc_ver())'

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# Prints the processor time of a command, in seconds.
spent() { "$folder/venv/bin/python" -c '
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.1f}")' "$@"; }
seconds="$(spent "$folder/venv/bin/pip" install --quiet --quiet "$wheels"/*.whl | tail -n 1)"
echo "installation: $seconds s of processor time, limit $limit"
"$folder/venv/bin/python" -c "import sys; sys.exit($seconds > $limit)" ||
  { echo "FAILED: the installation took longer" >&2; exit 1; }

plumbline="$folder/venv/bin/plumbline"
"$plumbline" --version
"$plumbline" doctor >"$folder/doctor.txt" || { cat "$folder/doctor.txt" >&2; exit 1; }
"$plumbline" run cases/smoke.toml --quiet --db "$folder/runs.db" | tail -n 2
# `report` needs the page, which is part of the harness.
"$plumbline" report --db "$folder/runs.db" -o "$folder/report.html"
[[ -s "$folder/report.html" ]]
cd "$around"
python3 tests/docs/run_installed.py --package "$folder/venv" --pip "${pages[@]}"
echo "first use: passed"
