#!/usr/bin/env bash
# Runs a night on Kubernetes: applies ci/fleet/kubernetes.yaml, or FILE, and starts its Jobs one
# after the other. Needs kubectl and a cluster.
#   ci/fleet/kubernetes.sh NIGHT [FILE] [-- options of kubectl, such as --namespace]
#   Exit codes: the night's, from the container of the last Job: 0 nothing failed, 1 a failure or
#   confirmed regression, 5 unconfirmed or ambiguous; 3 if a step failed.
# Example: ci/fleet/kubernetes.sh 2027-01-31 my-cluster.yaml -- --namespace numerics
source "$(dirname "${BASH_SOURCE[0]}")/../options.sh"
file="$(dirname "${BASH_SOURCE[0]}")/kubernetes.yaml"
case "${1:-}" in
  -h | --help) sed -n '2,/^# Example/p' "$0" | cut -c3-; exit 0 ;;
  "" | --) refuse "NIGHT is needed: the name of the night" ;;
  -*) refuse "unknown option $1: options of kubectl follow --" ;;
esac
night="$1"
shift
case "${1:---}" in
  --) ;;
  -*) refuse "unknown option $1: options of kubectl follow --" ;;
  *) file="$1"; shift ;;
esac
[[ "${1:---}" == -- ]] || refuse_surplus "$1"
[[ -f "$file" ]] ||
  end_with 2 "$file is not a file; remedy: name a copy of ci/fleet/kubernetes.yaml, or omit FILE"
options=("${@:2}")
command -v kubectl >/dev/null ||
  end_with 3 "there is no kubectl on the PATH;" \
    "remedy: install it, and configure your cluster (kubectl config get-contexts)"
kubectl() {
  command kubectl "${options[@]}" "$@" ||
    end_with 3 "kubectl ${*:1:2} failed, for the reason above;" \
      "remedy: check that the cluster answers (kubectl ${options[*]:+${options[*]} }cluster-info)" \
      "and accepts $file; started Jobs continue: kubectl get jobs"
}

kubectl delete job --ignore-not-found plumbline-shards plumbline-merge plumbline-confirm \
  plumbline-settle
kubectl create configmap plumbline-night --from-literal=NIGHTS=/nights \
  --from-literal="NIGHT=$night" --dry-run=client --output yaml | kubectl apply --filename -
kubectl apply --filename "$file"

# Waits until the Job is complete or has failed. Exits with 3 after six failed requests.
ends() {
  local job="$1" state unanswered=0
  while true; do
    if state="$(kubectl get job "$job" --output \
      'jsonpath={.status.conditions[?(@.status=="True")].type}')"; then
      unanswered=0
    else
      ((++unanswered < 6)) || exit 3
    fi
    [[ "$state" == *Complete* ]] && return 0
    [[ "$state" == *Failed* ]] && return 1
    sleep "${PLUMBLINE_FLEET_POLL:-10}"
  done
}
start() { kubectl patch job "$1" --patch '{"spec": {"suspend": false}}'; }

for job in plumbline-shards plumbline-merge plumbline-confirm; do
  [[ "$job" == plumbline-shards ]] || start "$job"
  ends "$job" || end_with 3 "$job failed; remedy: kubectl logs job/$job says why"
done
start plumbline-settle
ends plumbline-settle || true
code="$(kubectl get pods --selector step=settle --output \
  'jsonpath={.items[0].status.containerStatuses[0].state.terminated.exitCode}')"
exit "${code:-3}"
