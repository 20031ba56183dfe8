#!/usr/bin/env bash
# The wheel in a root of another system, as somebody new would use it: no compiler, not root, from
# "/".
#   in_root.sh SUITE WHEELS FOLDER   SUITE: bullseye, bookworm, trixie or sid (Debian 11, 12, 13, …)
# Takes the newest wheel of the folder WHEELS, and makes the root with mmdebstrap in FOLDER/SUITE
# (kept for the next call). Prints what Python and
# glibc it has, the processor time of the installation, and what was run. Exit code 77 where a root
# cannot be made or entered here, with the reason.
set -euo pipefail
suite="$1" root="$(realpath -m "$3")/$1"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
install_limit=30  # seconds of processor time

skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "FAILED: $1" >&2; exit 1; }

wheel="$(find "$2" -name 'plumbline_attention-*.whl' -printf '%T@ %p\n' 2>/dev/null | sort -n |
  tail -n 1 | cut -d' ' -f2-)"
[[ -n "$wheel" ]] || skip "there is no wheel in $2 (wheel.make was skipped)"
((EUID == 0)) || skip "a root cannot be entered: this is not root"
unshare --mount --pid --fork true 2>/dev/null ||
  skip "a root cannot be entered: no mount namespace may be made here (CAP_SYS_ADMIN)"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (ci/setup.sh)"
if [[ ! -e "$root/complete" ]]; then
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  # Unpacked, not configured: no package's scripts, which would need more than is there.
  # libstdc++6 is for NumPy, whose wheel takes it from the system; plumbline has its own.
  said="$(mmdebstrap --variant=extract --mode=root --aptopt='APT::Sandbox::User "root"' \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    --include=bash,coreutils,grep,sed,python3,python3-venv,libc-bin,libstdc++6 "$suite" "$root" \
    http://deb.debian.org/debian 2>&1)" ||
    skip "mmdebstrap makes no root of $suite here (no network?): $(tail -n 2 <<<"$said")"
  # What the packages' scripts would have done, as far as this needs it.
  mkdir -p "$root/etc/ssl/certs" "$root/home/user" "$root/tmp"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  echo 'user:x:1000:1000::/home/user:/bin/bash' >>"$root/etc/passwd"
  echo 'user:x:1000:' >>"$root/etc/group"
  chown 1000:1000 "$root/home/user"
  chmod 1777 "$root/tmp"
  touch "$root/complete"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
rm -rf "$root/home/user/"* "$root/tmp/"*
cp "$wheel" "$here"/{first_use.sh,first_use.py} "$root/tmp/"
python3 - "$here/../docs" "$root/tmp" <<'END'
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import fixtures
for name in ("mine.py", "mine.toml"):
    (pathlib.Path(sys.argv[2]) / name).write_text(fixtures.file_of_page(name), encoding="utf-8")
END
chmod -R a+rX "$root/tmp"

# Runs a command there as user 1000.
enter() {
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1; shift
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
    exec chroot --userspec=1000:1000 "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home/user \
      PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 "$@"' \
    enter "$root" "$@"
}
enter bash -c '! command -v cc g++ gcc cmake' || fail "there is a compiler in the root"
enter bash /tmp/first_use.sh "/tmp/$(basename "$wheel")" "$install_limit"
