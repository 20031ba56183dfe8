#!/usr/bin/env bash
# Restores the history of the nights from the newest artifact "history" of this repository.
# For GitHub Actions; needs gh and unzip.
#   ci/restore_history.sh FILE
# Every night uploads its history as this artifact, even if the night failed. If FILE already
# exists (from a cache), the artifact replaces it. Without an artifact this script exits with 0. If
# FILE is missing too, ci/nightly.sh reports that and stops. Reads GITHUB_REPOSITORY,
# GITHUB_REF_NAME and, through gh, GH_TOKEN.
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
case "${1:-}" in
  -h | --help) sed -n '2,/^# GITHUB_REF_NAME/p' "$0" | cut -c3-; exit 0 ;;
  "") refuse "FILE is needed" ;;
  -*) refuse "unknown option $1" ;;
esac
refuse_surplus "${@:2}"
file="$(realpath -m -- "$1")"
: "${GITHUB_REPOSITORY:?is set by GitHub Actions}"
branch="${GITHUB_REF_NAME:-main}"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
newest=".artifacts | map(select((.expired | not) and .workflow_run.head_branch == \"$branch\"))
  | sort_by(.created_at) | last | .id // empty"
artifacts="repos/$GITHUB_REPOSITORY/actions/artifacts?name=history&per_page=100"
if ! id="$(gh api "$artifacts" --jq "$newest")"; then
  echo "ci/restore_history.sh: the artifacts of $GITHUB_REPOSITORY cannot be listed" \
    "(does the job have permission actions: read?)" >&2
  id=""
fi
if [[ -z "$id" ]]; then
  cached="$([[ -s "$file" ]] && echo "; the history in the cache is used" || true)"
  echo "no night of branch $branch has left its history as an artifact$cached"
  exit 0
fi
gh api "repos/$GITHUB_REPOSITORY/actions/artifacts/$id/zip" >"$scratch/history.zip"
unzip -q -o "$scratch/history.zip" -d "$scratch"
[[ -s "$scratch/history.db" ]] || {
  echo "ci/restore_history.sh: artifact $id holds no history.db" >&2
  exit 3
}
cp "$scratch/history.db" "$file.new"
mv "$file.new" "$file"
echo "history of artifact $id restored to $file"
