#!/usr/bin/env bash
# Installs everything needed to build plumbline (Debian 12 packages). Idempotent; quick and quiet if
# nothing is missing.
#   ci/setup.sh                     install what is missing (needs root or sudo)
#   ci/setup.sh --numpy             also the minimum for Python kernels: .venv with numpy and
#                                   ml_dtypes
#   ci/setup.sh --python            also for Python kernels and the Python package: .venv, pinned
#                                   with hashes by ci/requirements.txt
#   ci/setup.sh --fuzz              also for ci/fuzz.sh: clang with libFuzzer
#   ci/setup.sh --slurm             also for tests/fleet: Slurm and munge, whose services are not
#                                   started
#   ci/setup.sh --page              also to build the page of `plumbline report`: node, npm and the
#                                   packages of page/package-lock.json
#   ci/setup.sh --browser           also for tests of the page: chromium, unless $CHROMIUM names a
#                                   browser
#   ci/setup.sh --promtool          also to check the text for Prometheus: Debian's package
#                                   prometheus, whose service is not started
#   ci/setup.sh --wheel             also for ci/wheel.sh: Debian's tools that unpack and prepare
#                                   source packages
#   ci/setup.sh --container         also for ci/container.sh: buildah
#   ci/setup.sh --providers         also to compile third-party kernels for the emulator: clang-19,
#                                   and sources from PyPI, pinned in ci/providers.py, in .providers
#                                   (not part of plumbline)
#   ci/setup.sh --check [the same options]
#        list what is missing and exit 1; needs no root
set -euo pipefail
ci="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
venv="$(dirname "$ci")/.venv"

packages=(
  g++ cmake ninja-build ccache pkg-config git python3 sqlite3
  libgtest-dev libgmock-dev libbenchmark-dev libsqlite3-dev libsqlitecpp-dev libcli11-dev
  libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libexpected-dev libtbb-dev
  libopenblas-pthread-dev libsleef-dev libxxhash-dev zlib1g-dev liblz4-dev libzstd-dev
  libcpp-httplib-dev libflint-arb-dev
  gcovr clang-format clang-tidy shellcheck codespell mmdebstrap
  groff-base  # needed by tests of the manual pages
)
numpy_packages=(python3-venv)
python_packages=(python3-venv python3-dev)
slurm_packages=(slurmctld slurmd slurm-client munge)
fuzz_packages=(clang-19 libclang-rt-19-dev)  # Debian's clang 14 has no std::source_location

check=0 numpy=0 python=0 fuzz=0 slurm=0 page=0 browser=0 promtool=0 wheel=0 container=0 providers=0
parts=(numpy python fuzz slurm page browser promtool wheel container providers)
for option in "$@"; do
  if [[ "$option" == -h || "$option" == --help ]]; then
    sed -n '2,25p' "$0" | cut -c3-
    exit 0
  fi
  if ! [[ "$option" =~ ^--[a-z]+$ && " check ${parts[*]} " == *" ${option#--} "* ]]; then
    echo "ci/setup.sh: unknown option $option (see --help)" >&2
    exit 2
  fi
  printf -v "${option#--}" 1
done
((numpy)) && packages+=("${numpy_packages[@]}")
((python)) && packages+=("${python_packages[@]}")
((fuzz)) && packages+=("${fuzz_packages[@]}")
((slurm)) && packages+=("${slurm_packages[@]}")
((promtool)) && packages+=(prometheus)
((wheel)) && packages+=(dpkg-dev tcl python3-venv)
((container)) && packages+=(buildah)
((providers)) && packages+=(clang-19 python3)
# Any node will do, but Debian's npm needs Debian's node.
if ((page)); then
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
fi
if ((browser)) && [[ -z "${CHROMIUM:-}" ]]; then
  command -v chromium >/dev/null || packages+=(chromium)
fi
page_folder="$(dirname "$ci")/page"
# npm writes this file last; it lists the installed packages.
page_is_there() {
  local installed="$page_folder/node_modules/.package-lock.json"
  [[ -e "$installed" && ! "$page_folder/package-lock.json" -nt "$installed" ]]
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" ||
    missing+=("$package")
done

# Prints the required lines of the pinned requirements in pip's format, with hashes: all of them, or
# with only --numpy those of numpy and ml_dtypes. torch comes first, see below.
wanted_requirements() {
  if ((python)); then
    cat "$ci/torch_requirements.txt" "$ci/requirements.txt"
  else
    awk '/^[a-z]/ {wanted = /^(numpy|ml-dtypes)==/} wanted' "$ci/requirements.txt"
  fi
}

# Prints a line for each package that .venv lacks; without a .venv, for all of them.
missing_requirements() {
  local interpreter="$venv/bin/python"
  [[ -x "$interpreter" ]] || {
    wanted_requirements | sed -nE 's/^([a-z][^ ]*==[^ ]*).*/\1/p'
    return
  }
  "$interpreter" - <(wanted_requirements) <<'END'
import re
import sys
from importlib.metadata import PackageNotFoundError, version

# Lines with hashes are indented; "name[extra]==1.0 \\" begins a package.
package = re.compile(r"(?P<name>[a-z][\w.-]*)(?:\[[^\]]*\])?==(?P<wanted>\S+)")
for line in open(sys.argv[1], encoding="utf-8"):
    match = package.match(line)
    if match is None:
        continue
    try:
        found = version(match["name"])
    except PackageNotFoundError:
        found = None
    if found != match["wanted"]:
        print(match[0] + (f" (there is {found})" if found else ""))
END
}
requirements=()
if ((python + numpy)); then
  mapfile -t requirements < <(missing_requirements)
  wait "$!"
fi

sources="$(dirname "$ci")/.providers"
if ((check)); then
  if ((providers)) && ! python3 "$ci/providers.py" "$sources" --check >/dev/null; then
    python3 "$ci/providers.py" "$sources" --check | sed 's/^/missing in .providers: /'
    echo "remedy: run ci/setup.sh --providers (as root only if a Debian package is missing)"
    ((${#missing[@]} + ${#requirements[@]} == 0)) && exit 1
  fi
  if ((page)) && ! page_is_there; then
    echo "missing: the packages of page"
    echo "remedy: run ci/setup.sh --page (as root only if a Debian package is missing)"
    ((${#missing[@]} + ${#requirements[@]} == 0)) && exit 1
  fi
  ((${#missing[@]} + ${#requirements[@]} == 0)) && exit 0
  ((${#missing[@]})) && printf 'missing: %s\n' "${missing[@]}"
  ((${#requirements[@]})) && printf 'missing in .venv: %s\n' "${requirements[@]}"
  if ((${#missing[@]})); then
    options=""
    for part in "${parts[@]}"; do ((!${!part})) || options+=" --$part"; done
    echo "remedy: run ci/setup.sh$options as root, or apt-get install ${missing[*]}"
  fi
  if ((${#requirements[@]})); then
    option=--numpy
    ((!python)) || option=--python
    echo "remedy: run ci/setup.sh $option (as root only if a Debian package is missing)"
  fi
  exit 1
fi

if ((${#missing[@]})); then
  command -v apt-get >/dev/null || {
    echo "ci/setup.sh: no apt-get here; install these by other means: ${missing[*]}" >&2
    exit 3
  }
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "ci/setup.sh: run as root; missing: ${missing[*]}" >&2
      exit 3
    }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # Prevents apt from starting the installed daemons: tests start and end the daemons that they
  # need.
  policy=/usr/sbin/policy-rc.d
  if ((slurm + promtool)) && [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod +x $policy
    trap '"${as_root[@]}" rm -f $policy' EXIT
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

((providers)) && python3 "$ci/providers.py" "$sources"

if ((page)) && ! page_is_there; then
  echo "installing the packages of page"
  (cd "$page_folder" && npm ci --silent --no-audit --no-fund)
  touch "$page_folder/node_modules/.package-lock.json"
fi

if ((${#requirements[@]})); then
  echo "installing into .venv: ${#requirements[@]} of the packages in ci/requirements.txt"
  [[ -x "$venv/bin/python" ]] || python3 -m venv "$venv"
  install=("$venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check
    --require-hashes)
  if ((!python)); then
    "${install[@]}" --requirement <(wanted_requirements)
    exit 0
  fi
  # Only torch may come from PyTorch's index, and only if no other source has it.
  torch=(--no-deps --requirement "$ci/torch_requirements.txt")
  "${install[@]}" "${torch[@]}" 2>/dev/null ||
    "${install[@]}" "${torch[@]}" --extra-index-url https://download.pytorch.org/whl/cpu
  "${install[@]}" --requirement "$ci/requirements.txt"
fi
