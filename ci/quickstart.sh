#!/usr/bin/env bash
# Sets up, builds, then runs smoke and the five stories (reduced) on this machine's CPU. Leaves out/plumbline.db, out/junit.xml and
# out/summary.md.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,3p' "$0" | cut -c3-; exit 0; }
build --target plumbline plumbline_cpu
mkdir -p out
exec "$plumbline" run cases/smoke.toml cases/stories/*.toml --tier smoke --db out/plumbline.db --junit out/junit.xml \
  --markdown out/summary.md "$@"
