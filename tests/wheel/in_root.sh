#!/usr/bin/env bash
# Tests the wheels in a root of another system, as a newcomer uses them: not as root, in "/".
#   in_root.sh SUITE WHEELS FOLDER [--tools]   SUITE: bullseye, bookworm, trixie or sid
# Takes the newest wheel of each package in the folder WHEELS, and the root that make_root.sh makes
# in FOLDER. Without --tools the root has no compiler, and only those pages of README and docs/start
# are run that need nothing from Debian. With --tools it has the Debian packages of all these pages,
# and all pages are run. Prints the versions of Python and glibc, the processor time of the
# installation, and each command.
# Exit code 77, with the reason, if a root cannot be made or entered here.
set -euo pipefail
suite="$1" wheels="$2" roots="$3" tools="${4:-}"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
install_limit=30  # seconds of processor time

fail() { echo "FAILED: $1" >&2; exit 1; }
newest() {
  find "$wheels" -name "$1-*.whl" -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 |
    cut -d' ' -f2-
}

files=()
for package in plumbline_attention plumbline_attention_harness; do
  file="$(newest "$package")"
  [[ -z "$file" ]] || files+=("$file")
done
((${#files[@]})) ||
  { echo "SKIPPED: there is no wheel in $wheels (wheel.make was skipped)"; exit 77; }

cd "$here/../.."
names() { python3 tests/docs/run_installed.py --debian-packages "$@"; }
all=(README.md docs/start/*.md) pages=() packages=()
if [[ "$tools" == --tools ]]; then
  pages=("${all[@]}")
  mapfile -t packages < <(names "${all[@]}")
  ((${#packages[@]})) || fail "no page names a package of Debian"
else
  for page in "${all[@]}"; do [[ -n "$(names "$page")" ]] || pages+=("$page"); done
fi
code=0
said="$("$here/make_root.sh" "$suite" "$roots" "${packages[@]}")" || code=$?
((code == 0)) || { echo "$said"; exit "$code"; }
root="$(tail -n 1 <<<"$said")"
rm -rf "$root/home/user/"* "$root/tmp/"*
around="$root/tmp/plumbline"
mkdir -p "$around"/{docs,tests/{docs,wheel},wheels}
cp README.md "$around"
cp -r docs/start "$around/docs"
cp tests/docs/{run_installed,page_commands}.py "$around/tests/docs"
cp tests/wheel/first_use.sh "$around/tests/wheel"
cp "${files[@]}" "$around/wheels"
chmod -R a+rX "$root/tmp"

# Runs a command in the root as user 1000.
enter() {
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1; shift
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
    exec chroot --userspec=1000:1000 "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home/user \
      PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 "$@"' \
    enter "$root" "$@"
}
[[ "$tools" == --tools ]] || enter bash -c '! command -v cc g++ gcc cmake' ||
  fail "there is a compiler in the root"
enter bash /tmp/plumbline/tests/wheel/first_use.sh "$install_limit" /tmp/plumbline/wheels \
  "${pages[@]}"
