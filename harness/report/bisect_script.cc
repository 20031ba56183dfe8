// Writes the bisect script, section by section.
#include "harness/report/bisect_script.h"

#include <fmt/format.h>

#include "harness/report/format.h"

namespace plumbline {
namespace {

// Makes text safe for a one-line comment.
std::string without_controls(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

std::string what_is_bad(const BisectPlan& plan) {
  if (plan.by == BisectBy::verdict) return "fails";
  const char* what = plan.by == BisectBy::time ? "a time ratio" : "an rms error";
  std::string text = fmt::format("has {} above {}", what, number(plan.limit));
  if (plan.good_value > 0 && plan.bad_value > 0)
    text += fmt::format(" ({} before, {} after)", number(plan.good_value), number(plan.bad_value));
  return text;
}

std::string head(const BisectPlan& plan) {
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Finds the first commit at which a case {}:\n"
      "#   {}\n"
      "# Written by `plumbline bisect`.\n"
      "#\n"
      "#   bash SCRIPT        in the repository: checks that the regression is there, then "
      "bisects\n"
      "#   bash SCRIPT step   builds and measures the checkout; exit 0 good, 1 bad, 125 neither\n"
      "#\n"
      "# The variable PLUMBLINE names another plumbline to measure with. All steps should use the\n"
      "# same one, so do not name one that the steps build.\n"
      "set -uo pipefail\n\n"
      "case_id={}\ngood={}\nbad={}\nbuild={}\n"
      "plumbline=${{PLUMBLINE:-{}}}\n",
      what_is_bad(plan), without_controls(plan.case_id), shell_quoted(plan.case_id),
      shell_quoted(plan.good), shell_quoted(plan.bad), shell_quoted(plan.build),
      shell_quoted(plan.program));
}

constexpr const char* scratch_part = R"sh(
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
)sh";

std::string step_by_verdict(const BisectPlan& plan) {
  return fmt::format(
      R"sh(
step() {{
  bash -c "$build" >&2 || {{ echo "cannot be built: neither good nor bad" >&2; return 125; }}
  "$plumbline" run{} --case "$case_id" --no-store --quiet >&2
  local code=$?
  echo "plumbline exits $code" >&2
  ((code == 0 || code == 1)) || return 125
  return "$code"
}}
)sh",
      plan.arguments);
}

std::string step_by_value(const BisectPlan& plan) {
  const bool is_time = plan.by == BisectBy::time;
  return fmt::format(
      R"sh(limit={}

# Measures once, in new processes; prints nothing if there is no result.
measure() {{
  "$plumbline" run{} --case "$case_id"{} --db "$scratch/$1.db" --quiet > "$scratch/log" 2>&1
  "$plumbline" query --db "$scratch/$1.db" --format csv \
    "SELECT {} FROM v_history WHERE status = 'ok'" 2>> "$scratch/log" | tr -d '\r' | sed -n 2p
  rm -f "$scratch/$1.db"
}}

step() {{
  bash -c "$build" >&2 || {{ echo "cannot be built: neither good nor bad" >&2; return 125; }}
  local values=() value
  for i in {}; do
    value=$(measure "$i")
    if [[ -z $value ]]; then
      cat "$scratch/log" >&2
      echo "has no result: neither good nor bad" >&2
      return 125
    fi
    values+=("$value")
  done
  value=$(printf '%s\n' "${{values[@]}}" | sort -g | sed -n "$(((${{#values[@]}} + 1) / 2))p")
  echo "{} $value, limit $limit" >&2
  case $value in
    *[Nn]a[Nn]* | *[Ii]nf*) return 1 ;;
  esac
  awk -v value="$value" -v limit="$limit" 'BEGIN {{ exit value > limit ? 1 : 0 }}'
}}
)sh",
      number(plan.limit), plan.arguments, is_time ? " --timed" : "", is_time ? "time_ratio" : "rms",
      is_time ? "1 2 3" : "1", is_time ? "time ratio" : "rms");
}

constexpr const char* main_part = R"sh(
if [[ ${1:-} == step ]]; then
  step
  exit
fi

stop() {
  echo "$1" >&2
  [[ -z ${2:-} ]] || echo "  remedy: $2" >&2
  exit "${3:-1}"
}

top=$(git rev-parse --show-toplevel 2> /dev/null) ||
  stop "this is not a git repository" "run the script in the repository that has the commits" 2
self=$scratch/script
cp "${BASH_SOURCE[0]}" "$self"
cd "$top" || exit 3
for commit in "$good" "$bad"; do
  git rev-parse --quiet --verify "$commit^{commit}" > /dev/null ||
    stop "the repository has no commit $commit" "fetch it, or use the repository that has it" 2
done
git merge-base --is-ancestor "$good" "$bad" ||
  stop "the good commit $good is not an ancestor of the bad one $bad" \
    "name an earlier good commit (--good)" 2
[[ -z $(git status --porcelain --untracked-files=no) ]] ||
  stop "the checkout has changes that are not committed" "commit or stash them" 2
start=$(git symbolic-ref --quiet --short HEAD || git rev-parse HEAD)
trap 'git bisect reset > /dev/null 2>&1; git checkout --quiet "$start"; rm -rf "$scratch"' EXIT

# Measures a commit, which must give the expected exit code.
check() {
  local name=$1 commit=$2 expected=$3 code
  git checkout --quiet --detach "$commit" || exit 3
  echo "== the $name commit $commit" >&2
  bash "$self" step
  code=$?
  ((code != expected)) || return 0
  ((code != 125)) || stop "the $name commit cannot be built or measured" "see the lines above" 3
  if [[ $name == bad ]]; then
    stop "the regression is not there: the bad commit is fine here" \
      "measure on the kind of machine that showed it; it may come from the machine, not the code"
  fi
  stop "the good commit is also bad here" \
    "name an earlier good commit (--good), or measure on the machine class on which it was good"
}
check bad "$bad" 1
check good "$good" 0

git bisect start "$bad" "$good" > /dev/null || exit 3
git bisect run bash "$self" step
code=$?
((code == 0)) || stop "git bisect found no single commit" "see the lines above" 3
echo
echo "first bad commit: $(git log -1 --format='%H %s' refs/bisect/bad)"
)sh";

}  // namespace

std::string bisect_script(const BisectPlan& plan) {
  const std::string step =
      plan.by == BisectBy::verdict ? step_by_verdict(plan) : step_by_value(plan);
  return head(plan) + scratch_part + step + main_part;
}

}  // namespace plumbline
