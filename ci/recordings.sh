#!/usr/bin/env bash
# Fetches the public recordings of real tensor cores for `ctest -R Recordings`; see --help.
set -euo pipefail
command -v python3 >/dev/null || {
  echo "ci/recordings.sh: python3 is not on the PATH: install it (ci/setup.sh does)" >&2
  exit 3
}
exec python3 "$(dirname "${BASH_SOURCE[0]}")/recordings.py" "$@"
