#!/usr/bin/env bash
# Installs everything plumbline builds with (Debian 12 packages). Idempotent; quick and quiet when nothing is missing.
#   ci/setup.sh           install what is missing (needs root or sudo)
#   ci/setup.sh --check   list what is missing and exit 1; needs no root
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config git python3 sqlite3
  libgtest-dev libgmock-dev libbenchmark-dev libsqlite3-dev libsqlitecpp-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libfmt-dev libexpected-dev libtbb-dev libopenblas-pthread-dev libsleef-dev libxxhash-dev
  gcovr clang-format clang-tidy
)

case "${1:-}" in
  -h | --help) sed -n '2,4p' "$0" | cut -c3-; exit 0 ;;
  "" | --check) ;;
  *) echo "ci/setup.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing+=("$package")
done

if [[ "${1:-}" == --check ]]; then
  ((${#missing[@]} == 0)) && exit 0
  printf 'missing: %s\n' "${missing[@]}"
  echo "remedy: run ci/setup.sh as root, or apt-get install ${missing[*]}"
  exit 1
fi

((${#missing[@]} == 0)) && exit 0
command -v apt-get >/dev/null || { echo "ci/setup.sh: no apt-get here; install these by other means: ${missing[*]}" >&2; exit 3; }
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "ci/setup.sh: run as root; missing: ${missing[*]}" >&2; exit 3; }
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
