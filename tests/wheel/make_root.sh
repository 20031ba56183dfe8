#!/usr/bin/env bash
# Makes a root of a Debian with Python and SQLite's shell, without a compiler, for tests to enter.
#   make_root.sh SUITE FOLDER [PACKAGE...]
# The root is FOLDER/SUITE, or FOLDER/SUITE-with if PACKAGEs are named. It is kept for the next
# call; its path is the last line.
# Exit code 77, with the reason, if a root cannot be made or entered here.
set -euo pipefail
suite="$1" root="$(realpath -m "$2")/$1"
more=("${@:3}")
((${#more[@]} == 0)) || root+=-with
skip() { echo "SKIPPED: $1"; exit 77; }

((EUID == 0)) || skip "a root cannot be entered: this is not root"
unshare --mount --pid --fork true 2>/dev/null ||
  skip "a root cannot be entered: no mount namespace may be made here (CAP_SYS_ADMIN)"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (ci/setup.sh)"
mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9
if [[ ! -e "$root/complete" || "$(<"$root/complete")" != "${more[*]}" ]]; then
  rm -rf "$root"
  # Unpacks the packages without configuring them, because their scripts need programs that the root
  # lacks. libstdc++6 is for NumPy, whose wheel uses the system's; plumbline's wheel contains its
  # own. A mirror's copy of unstable may be past its valid-until date.
  said="$(mmdebstrap --variant=extract --mode=root --aptopt='APT::Sandbox::User "root"' \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    --include=bash,coreutils,grep,sed,gawk,findutils,libc-bin,libstdc++6 \
    --include=python3,python3-venv,sqlite3 "${more[@]/#/--include=}" \
    "$suite" "$root" http://deb.debian.org/debian 2>&1)" ||
    skip "mmdebstrap makes no root of $suite here (no network?): $(tail -n 2 <<<"$said")"
  # Does the necessary part of what the packages' scripts would do.
  mkdir -p "$root/etc/ssl/certs" "$root/home/user" "$root/tmp"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  echo 'user:x:1000:1000::/home/user:/bin/bash' >>"$root/etc/passwd"
  echo 'user:x:1000:' >>"$root/etc/group"
  [[ -e "$root/usr/bin/awk" ]] || ln -s gawk "$root/usr/bin/awk"
  [[ -e "$root/usr/bin/sh" || -e "$root/bin/sh" ]] || ln -s bash "$root/bin/sh"
  chown 1000:1000 "$root/home/user"
  chmod 1777 "$root/tmp"
  echo "${more[*]}" >"$root/complete"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
echo "$root"
