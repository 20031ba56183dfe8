#!/usr/bin/env bash
# Submits a night to Slurm: an array job of shards, then a job that merges and judges, then one that
# measures open findings again in fresh processes on a machine of the shards' kind, then one that
# concludes. Prints the id of the last job, whose exit code is the night's (docs/fleet.md).
#   ci/fleet/slurm.sh --shards N --directory DIR --history FILE [--first-night] [--night ID]
#       [--plumbline FILE] [--shard-options "…"] SUITE… [-- more options of `plumbline run`]
#   --shards N          tasks of the array
#   --shard-options S   sbatch options of the jobs that need the device, quoted as for a shell:
#                       "--gres=gpu:h100:1 --cpus-per-task=8"
#   --wait              waits until the night is over, and ends with its exit code
# The other options are those of ci/fleet/night.sh.
# Example: ci/fleet/slurm.sh --shards 100 --directory /shared/night-1 --history /shared/history.db \
#   --shard-options "--gres=gpu:1" cases/nightly.toml cases/timed_gpu.toml
fleet="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$fleet/../options.sh"

shards="" wait=0 shard_options=() night_options=() directory="" history=""
while (($#)); do
  case "$1" in
    --shards)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || refuse "--shards needs a whole number above 0"
      shards="$2"; shift 2 ;;
    --shard-options)
      (($# > 1)) || refuse "--shard-options needs options of sbatch"
      split_words --shard-options "$2"
      shard_options=("${words[@]}"); shift 2 ;;
    --directory)
      require_value "a folder" "$@"
      directory="$(realpath -m -- "$2")"
      night_options+=(--directory "$directory"); shift 2 ;;
    --history)
      require_value "a file" "$@"
      history="$(realpath -m -- "$2")"
      night_options+=(--history "$history"); shift 2 ;;
    --night | --plumbline)
      require_value "a value" "$@"
      night_options+=("$1" "$2"); shift 2 ;;
    --first-night) night_options+=(--first-night); shift ;;
    --wait) wait=1; shift ;;
    -h | --help) sed -n '2,/^#   --shard-options "--gres=gpu:1"/p' "$0" | cut -c3-; exit 0 ;;
    --) break ;;
    -*) refuse "unknown option $1" ;;
    *) break ;;
  esac
done
[[ -n "$shards" && -n "$directory" && -n "$history" && "${1:---}" != -- ]] ||
  refuse "--shards, --directory, --history and a suite are needed"
for program in sbatch squeue scancel; do
  command -v "$program" >/dev/null ||
    end_with 3 "there is no $program on the PATH;" \
      "remedy: call this where jobs are submitted to Slurm, or ci/fleet/night.sh step by step"
done
mkdir -p "$directory"

# Submits one step as a job, as text on sbatch's standard input, and adds its id to `jobs`. The
# job's output is in the night's directory. If sbatch refuses one of the four jobs, the earlier ones
# are cancelled.
jobs=()
submit() {  # NAME "OPTIONS OF SBATCH…" -- COMMAND…
  local name="$1" options=() id
  shift
  while [[ "$1" != -- ]]; do options+=("$1"); shift; done
  shift
  id="$(printf '#!/usr/bin/env bash\nexec %s\n' "$*" |
    sbatch --parsable --job-name "plumbline-$name" --output "$directory/$name-%a.log" \
      --chdir "$PWD" "${options[@]}")" || {
    ((${#jobs[@]} == 0)) || scancel "${jobs[@]}" || true
    end_with 3 "sbatch refused the job plumbline-$name, for the reason above; no job of the" \
      "night is queued; remedy: correct --shard-options; sbatch got: ${options[*]}"
  }
  jobs+=("$id")
}
quoted() { printf '%q ' "$@"; }

step=("$fleet/night.sh" "${night_options[@]}")
# merge starts even if a shard failed: it reports which shards are missing.
submit shard --array="1-$shards" "${shard_options[@]}" -- "$(quoted "${step[@]}" shard)" \
  "\$SLURM_ARRAY_TASK_ID" "$shards" "$(quoted "$@")"
submit merge --dependency="afterany:${jobs[0]}" -- "$(quoted "${step[@]}" merge)"
submit confirm --dependency="afterok:${jobs[1]}" --kill-on-invalid-dep=yes \
  "${shard_options[@]}" -- "$(quoted "${step[@]}" confirm)"
submit settle --dependency="afterany:${jobs[2]}" --kill-on-invalid-dep=yes -- \
  "$(quoted "${step[@]}" settle)"
echo "${jobs[3]}"
((wait)) || exit 0

while [[ -n "$(squeue --noheader --jobs "$(IFS=,; echo "${jobs[*]}")" 2>/dev/null)" ]]; do
  sleep "${PLUMBLINE_FLEET_POLL:-10}"
done
if [[ ! -e "$directory/settled" ]]; then
  end_with 3 "the night did not end: see $directory/*.log"
fi
exit "$(cat "$directory/settled")"
