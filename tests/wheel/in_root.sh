#!/usr/bin/env bash
# The wheel in a root of another system, as somebody new would use it: no compiler, not root, from
# "/".
#   in_root.sh SUITE WHEELS FOLDER   SUITE: bullseye, bookworm, trixie or sid (Debian 11, 12, 13)
# Takes the newest wheel of the folder WHEELS, and the root that make_root.sh makes in FOLDER.
# Prints what Python and glibc it has, the processor time of the installation, and what was run.
# Exit code 77 where a root cannot be made or entered here, with the reason.
set -euo pipefail
suite="$1"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
install_limit=30  # seconds of processor time

fail() { echo "FAILED: $1" >&2; exit 1; }

wheel="$(find "$2" -name 'plumbline_attention-*.whl' -printf '%T@ %p\n' 2>/dev/null | sort -n |
  tail -n 1 | cut -d' ' -f2-)"
[[ -n "$wheel" ]] || { echo "SKIPPED: there is no wheel in $2 (wheel.make was skipped)"; exit 77; }
code=0
said="$("$here/make_root.sh" "$suite" "$3")" || code=$?
((code == 0)) || { echo "$said"; exit "$code"; }
root="$(tail -n 1 <<<"$said")"
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
