#!/usr/bin/env bash
# Runs a night on Kubernetes: applies ci/fleet/kubernetes.yaml, or FILE, and starts its Jobs one
# after the other. Needs kubectl and a cluster.
#   ci/fleet/kubernetes.sh NIGHT [FILE] [-- options of kubectl, --namespace say]
#   Exit codes: the night's, as the container of the last Job ended: 0, 1 a confirmed regression,
#   5 unconfirmed or ambiguous; 3 where a step failed.
# Example: ci/fleet/kubernetes.sh 2027-01-31 my-cluster.yaml -- --namespace numerics
set -euo pipefail
[[ "${1:-}" == -h || "${1:-}" == --help || -z "${1:-}" ]] &&
  { sed -n '2,/^# Example/p' "$0" | cut -c3-; [[ -n "${1:-}" ]] && exit 0; exit 2; }
night="$1"
shift
file="$(dirname "${BASH_SOURCE[0]}")/kubernetes.yaml"
if (($#)) && [[ "$1" != -- ]]; then file="$1"; shift; fi
(($# == 0)) || shift
options=("$@")
kubectl() { command kubectl "${options[@]}" "$@"; }

kubectl delete job --ignore-not-found plumbline-shards plumbline-merge plumbline-confirm \
  plumbline-settle
kubectl create configmap plumbline-night --from-literal=NIGHTS=/nights \
  --from-literal="NIGHT=$night" --dry-run=client --output yaml | kubectl apply --filename -
kubectl apply --filename "$file"

# Until the Job is complete or has failed.
ends() {
  local job="$1" state
  while true; do
    state="$(kubectl get job "$job" --output \
      'jsonpath={.status.conditions[?(@.status=="True")].type}')"
    [[ "$state" == *Complete* ]] && return 0
    [[ "$state" == *Failed* ]] && return 1
    sleep "${PLUMBLINE_FLEET_POLL:-10}"
  done
}
start() { kubectl patch job "$1" --patch '{"spec": {"suspend": false}}'; }

for job in plumbline-shards plumbline-merge plumbline-confirm; do
  [[ "$job" == plumbline-shards ]] || start "$job"
  ends "$job" || { echo "ci/fleet/kubernetes.sh: $job failed: kubectl logs job/$job" >&2; exit 3; }
done
start plumbline-settle
ends plumbline-settle || true
code="$(kubectl get pods --selector step=settle --output \
  'jsonpath={.items[0].status.containerStatuses[0].state.terminated.exitCode}')"
exit "${code:-3}"
