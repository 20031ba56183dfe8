#!/usr/bin/env bash
# Submits a night to Slurm: an array job of shards; when it has ended, a job that merges and judges;
# then one that asks fresh processes about what is open, on a machine of the shards' kind; then one
# that concludes. Prints the id of the last, whose exit code is the night's (docs/fleet.md).
#   ci/fleet/slurm.sh --shards N --directory DIR --history FILE [--first-night] [--night ID]
#       [--plumbline FILE] [--shard-options "…"] SUITE… [-- more options of `plumbline run`]
#   --shards N          tasks of the array
#   --shard-options S   of sbatch, for what needs the device: "--gres=gpu:h100:1 --cpus-per-task=8"
#   --wait              waits until the night is over, and ends with its exit code
# The other options are those of ci/fleet/night.sh.
# Example: ci/fleet/slurm.sh --shards 100 --directory /shared/night-1 --history /shared/history.db \
#   --shard-options "--gres=gpu:1" cases/nightly.toml cases/timed_gpu.toml
set -euo pipefail
fleet="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

shards="" wait=0 shard_options=() night_options=() directory=""
while (($#)); do
  case "$1" in
    --shards) shards="${2:?--shards needs a number}"; shift 2 ;;
    --shard-options) read -ra shard_options <<<"${2?--shard-options needs text}"; shift 2 ;;
    --directory)
      directory="$(realpath -m "${2:?--directory needs a directory}")"
      night_options+=(--directory "$directory"); shift 2 ;;
    --history)
      night_options+=(--history "$(realpath -m "${2:?--history needs a file}")"); shift 2 ;;
    --night | --plumbline) night_options+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
    --first-night) night_options+=(--first-night); shift ;;
    --wait) wait=1; shift ;;
    -h | --help) sed -n '2,/^#   --shard-options "--gres=gpu:1"/p' "$0" | cut -c3-; exit 0 ;;
    -*) echo "ci/fleet/slurm.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) break ;;
  esac
done
if [[ -z "$shards" || -z "$directory" ]] || (($# == 0)); then
  echo "ci/fleet/slurm.sh: --shards, --directory, --history and a suite are needed (see --help)" >&2
  exit 2
fi
mkdir -p "$directory"

# A job of one step, as text on sbatch's standard input; answers its id. What it prints lies in the
# night's directory.
submit() {  # NAME "OPTIONS OF SBATCH…" -- COMMAND…
  local name="$1" options=()
  shift
  while [[ "$1" != -- ]]; do options+=("$1"); shift; done
  shift
  printf '#!/usr/bin/env bash\nexec %s\n' "$*" |
    sbatch --parsable --job-name "plumbline-$name" --output "$directory/$name-%a.log" \
      --chdir "$PWD" "${options[@]}"
}
quoted() { printf '%q ' "$@"; }

step=("$fleet/night.sh" "${night_options[@]}")
# The dependent jobs start however the one before ended: merge tells which shards are missing.
shard="$(submit shard --array="1-$shards" "${shard_options[@]}" -- "$(quoted "${step[@]}" shard)" \
  "\$SLURM_ARRAY_TASK_ID" "$shards" "$(quoted "$@")")"
merge="$(submit merge --dependency="afterany:$shard" -- "$(quoted "${step[@]}" merge)")"
confirm="$(submit confirm --dependency="afterok:$merge" --kill-on-invalid-dep=yes \
  "${shard_options[@]}" -- "$(quoted "${step[@]}" confirm)")"
settle="$(submit settle --dependency="afterany:$confirm" --kill-on-invalid-dep=yes -- \
  "$(quoted "${step[@]}" settle)")"
echo "$settle"
((wait)) || exit 0

while [[ -n "$(squeue --noheader --jobs "$shard,$merge,$confirm,$settle" 2>/dev/null)" ]]; do
  sleep "${PLUMBLINE_FLEET_POLL:-10}"
done
if [[ ! -e "$directory/settled" ]]; then
  echo "ci/fleet/slurm.sh: the night did not end: see $directory/*.log" >&2
  exit 3
fi
exit "$(cat "$directory/settled")"
