#!/usr/bin/env bash
# A suite of third-party kernels passes under its contracts. With a block's threads in random order,
# each case has the same bits as in order and in reverse (the two runs of a case).
#   suite.sh PLUMBLINE PROVIDER SUITE EXCLUDED
set -euo pipefail
plumbline="$1" provider="$2" suite="$3" excluded="$4"
directory="$(mktemp -d)"
trap 'rm -rf "$directory"' EXIT
run() {
  "$plumbline" run "$suite" --no-default-provider --provider "$provider$1" --exclude "$excluded" \
    --db "$directory/a.db" -q
}
run ""
run ":schedule=random,seed=7"
"$plumbline" query --db "$directory/a.db" "SELECT count(*) || ' cases, ' ||
    count(DISTINCT a.kernel) || ' kernels on ' || count(DISTINCT a.device) || ' devices, ' ||
    sum(a.output_digest IS NOT b.output_digest OR a.repeat_equal IS NOT 1) ||
    ' with other bits in another order' AS schedules
  FROM v_history AS a JOIN v_history AS b USING (case_id)
  WHERE a.run_order < b.run_order AND a.status = 'ok' AND b.status = 'ok'"
