#!/usr/bin/env bash
# Runs plumbline in continuous integration, for action.yml (GitHub) and ci/gitlab.yml (GitLab).
#   ci/action.sh install   installs a wheel, uses the plumbline on the PATH, or builds one here
#   ci/action.sh run       runs the suites, writes the reports, extends the history, comments
#   ci/action.sh comment   only writes the comment, after a run without PLUMBLINE_TOKEN
# On a pull or merge request, outcomes are compared with the history, which is not changed, and
# the summary becomes one comment, which later runs replace. Otherwise the run is a night
# (ci/nightly.sh) and extends the history. Inputs are environment variables. Lists are separated by
# blanks or line breaks; relative paths start at the caller's folder:
#   PLUMBLINE_WHEEL        wheel plumbline_attention-….whl to install: a file, or a pattern that
#                          matches one file; plumbline_attention_harness-….whl is next to it.
#                          Empty: the plumbline on the PATH, otherwise wheels of this checkout
#   PLUMBLINE_SUITES       suite files, required; one that does not exist in the caller's folder is
#                          taken from plumbline's checkout, for example cases/smoke.toml
#   PLUMBLINE_PROVIDERS    providers, FILE[:OPTIONS], separated by blanks or line breaks
#   PLUMBLINE_KERNELS      globs of kernels; empty: the kernels that the suites name
#   PLUMBLINE_OPTIONS      more options of `plumbline run`, quoted as for a shell
#   PLUMBLINE_HISTORY      database of earlier nights; empty: no history is kept
#   PLUMBLINE_FIRST_NIGHT  if the history is missing: auto starts one with a warning (default),
#                          yes starts one, no fails with exit code 3
#   PLUMBLINE_OUT          folder of junit.xml, summary.md, failures/ (default: out/plumbline)
#   PLUMBLINE_TOKEN        token that may write comments; without it there is no comment. Kernels do
#                          not inherit it, but they run as the job's user, who can read the
#                          environment of this script: pass the token to `comment`, not to `run`
# Exit codes: those of `plumbline run` or, for a night, `plumbline night close`; 3 after a signal.
source_directory="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# Unset before any process starts: only ci/comment.py gets the token.
token="${PLUMBLINE_TOKEN:-}"
unset PLUMBLINE_TOKEN
source "$source_directory/ci/options.sh"
caller_directory="$PWD"
# The environment of a plumbline installed here; all steps of a job share it.
venv="${RUNNER_TEMP:-${TMPDIR:-/tmp}}/plumbline-venv"

warn() {
  if [[ "${GITHUB_ACTIONS:-}" == true ]]; then
    echo "::warning title=plumbline::$1"
  else
    echo "ci/action.sh: warning: $1" >&2
  fi
}

# Installs packages that a bare container lacks: sqlite3 copies the history, venv provides pip.
install_packages() {
  local wanted=() as_root=()
  command -v sqlite3 >/dev/null || wanted+=(sqlite3)
  command -v python3 >/dev/null || wanted+=(python3)
  python3 -c 'import venv, ensurepip' 2>/dev/null || wanted+=(python3-venv)
  ((${#wanted[@]})) || return 0
  command -v apt-get >/dev/null ||
    end_with 3 "${wanted[*]} missing, and there is no apt-get here; remedy: use an image with them"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || end_with 3 "${wanted[*]} missing; remedy: install them as root"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
}

# install_wheel JUDGE: installs the judge's wheel and the harness's wheel next to it.
install_wheel() {
  local wheel="$1" harness
  [[ -f "$wheel" ]] ||
    end_with 2 "wheel: $wheel is not a file; remedy: name a wheel of ci/wheel.sh, or leave it empty"
  source "$source_directory/ci/wheel/pair.sh"
  harness="$(harness_beside "$wheel")" || end_with 2 "wheel: $harness"
  [[ -x "$venv/bin/python" ]] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" "$harness" ||
    end_with 3 "pip could not install $wheel;" \
      "remedy: connect to a network, or set PIP_INDEX_URL to an index of yours"
}

# Prints the plumbline that an earlier step installed, otherwise the one on the PATH; "" if none.
installed_program() {
  if [[ -x "$venv/bin/plumbline" ]]; then
    echo "$venv/bin/plumbline"
  else
    command -v plumbline || true
  fi
}

install() {
  local matches
  install_packages
  if [[ -n "${PLUMBLINE_WHEEL:-}" ]]; then
    mapfile -t matches < <(compgen -G "$PLUMBLINE_WHEEL" || true)
    ((${#matches[@]} <= 1)) ||
      end_with 2 "wheel: $PLUMBLINE_WHEEL matches ${#matches[@]} files; remedy: name one of them"
    install_wheel "${matches[0]:-$PLUMBLINE_WHEEL}"
  elif [[ -z "$(installed_program)" ]]; then
    [[ -x "$source_directory/ci/wheel.sh" ]] ||
      end_with 2 "no wheel is named, no plumbline is on the PATH, and $source_directory has no" \
        "ci/wheel.sh to build one; remedy: name a wheel"
    "$source_directory/ci/wheel.sh"
    mapfile -t matches < <(ls -t "$source_directory"/dist/plumbline_attention-*.whl)
    wait "$!"
    install_wheel "${matches[0]}"
  fi
  echo "$(installed_program): $("$(installed_program)" --version)"
  [[ -z "${GITHUB_PATH:-}" ]] || dirname "$(installed_program)" >>"$GITHUB_PATH"
}

absolute() { (cd "$caller_directory" && realpath -m -- "$1"); }
# Prints the path of a suite in the caller's folder, otherwise of plumbline's suite of that name.
suite_file() {
  if [[ -e "$1" || ! -e "$source_directory/$1" ]]; then absolute "$1"; else
    echo "$source_directory/$1"
  fi
}
# Prints FILE[:OPTIONS] with an absolute FILE; the name of a bundled provider stays as it is.
provider_argument() {
  local file="${1%%:*}"
  if [[ -e "$file" ]]; then echo "$(absolute "$file")${1#"$file"}"; else echo "$1"; fi
}
is_request() {
  [[ "${GITHUB_EVENT_NAME:-}" == pull_request* || -n "${CI_MERGE_REQUEST_IID:-}" ]]
}

suites=() options=()
read_inputs() {
  local words word
  read -r -d '' -a words <<<"${PLUMBLINE_SUITES:-}" || true
  for word in "${words[@]}"; do suites+=("$(suite_file "$word")"); done
  ((${#suites[@]})) || end_with 2 "no suite is named; remedy: name one, such as cases/smoke.toml"
  read -r -d '' -a words <<<"${PLUMBLINE_PROVIDERS:-}" || true
  for word in "${words[@]}"; do options+=(--provider "$(provider_argument "$word")"); done
  read -r -d '' -a words <<<"${PLUMBLINE_KERNELS:-}" || true
  for word in "${words[@]}"; do options+=(--kernel "$word"); done
  split_words PLUMBLINE_OPTIONS "${PLUMBLINE_OPTIONS:-}"
  options+=("${words[@]}")
}

# A run that leaves the history unchanged: for a pull or merge request, or if no history is kept.
run_once() {
  local arguments=(--db "$out/plumbline.db" --junit "$out/junit.xml" --markdown "$out/summary.md"
    --save-failures "$out/failures")
  [[ "${GITHUB_ACTIONS:-}" != true ]] || arguments+=(--annotations)
  if [[ -n "$history" && -s "$history" ]]; then
    arguments+=(--past "$history")
  elif [[ -n "$history" ]]; then
    warn "there is no history yet: nothing is compared with earlier nights"
  fi
  rm -f "$out/plumbline.db"
  "$plumbline" run "${suites[@]}" "${options[@]}" "${arguments[@]}"
}

run_night() {
  local first=()
  if [[ ! -s "$history" ]]; then
    case "${PLUMBLINE_FIRST_NIGHT:-auto}" in
      yes) first=(--first-night) ;;
      auto)
        warn "$history is missing: this night begins a new history, and finds no regression"
        first=(--first-night) ;;
      no) ;;
      *) end_with 2 "PLUMBLINE_FIRST_NIGHT is $PLUMBLINE_FIRST_NIGHT; remedy: auto, yes or no" ;;
    esac
  fi
  local suite arguments=()
  for suite in "${suites[@]}"; do arguments+=(--suite "$suite"); done
  PLUMBLINE_BINARY="$plumbline" "$source_directory/ci/nightly.sh" --history "$history" \
    "${first[@]}" --out "$out" "${arguments[@]}" -- "${options[@]}"
}

# say_incomplete HOW: writes a summary for a run that did not finish. Without it, the comment of an
# earlier push would look current, or an early summary could say "Fine".
say_incomplete() {
  local before=""
  mkdir -p "$out"
  if [[ -s "$out/summary.md" ]]; then
    before="$(<"$out/summary.md")"
    [[ "${before%%$'\n'*}" != *Incomplete* ]] || return 0
  fi
  {
    echo "## plumbline: Incomplete: $1$([[ -n "$before" ]] || echo ", no case was reported")"
    echo
    echo "Nothing is known of this commit: an earlier verdict does not hold for it. Next: read" \
      "the log of the job (exit code 137: memory probably ran out), then run the job again."
    [[ -z "$before" ]] || printf '\n%s\n' "$before"
  } >"$out/summary.md"
}

# GitHub truncates the summary of a step at 1 MiB.
publish() {
  [[ -z "${GITHUB_STEP_SUMMARY:-}" ]] || head -c 1000000 "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
  comment
}

comment() {
  [[ -n "$token" ]] && is_request || return 0
  # If this is a step of its own, the run may have been cancelled or have failed to start.
  [[ -s "$out/summary.md" ]] || say_incomplete "the run did not come to its end"
  PLUMBLINE_TOKEN="$token" python3 "$source_directory/ci/comment.py" "$out/summary.md" ||
    warn "the summary could not be written as a comment: see the log; the verdict stays"
}

reports_folder() { absolute "${PLUMBLINE_OUT:-out/plumbline}"; }

run() {
  plumbline="$(installed_program)"
  [[ -n "$plumbline" ]] ||
    end_with 3 "there is no plumbline; remedy: run ci/action.sh install first"
  read_inputs
  out="$(reports_folder)"
  history="${PLUMBLINE_HISTORY:+$(absolute "$PLUMBLINE_HISTORY")}"
  export PLUMBLINE_COMMIT="${PLUMBLINE_COMMIT:-${GITHUB_SHA:-${CI_COMMIT_SHA:-}}}"
  mkdir -p "$out"
  rm -rf "$out"/{summary.md,junit.xml,failures}
  local code=0
  if [[ -n "$history" ]] && ! is_request; then
    run_night || code=$?
  else
    run_once || code=$?
  fi
  local ended="the run ended with exit code $code"
  case $code in
    0 | 1 | 4 | 5) [[ -s "$out/summary.md" ]] || say_incomplete "$ended" ;;
    *) say_incomplete "$ended" ;;
  esac
  ((code < 128)) || code=3
  publish
  [[ -z "${GITHUB_OUTPUT:-}" ]] || echo "exit-code=$code" >>"$GITHUB_OUTPUT"
  exit "$code"
}

case "${1:-}" in
  install) refuse_surplus "${@:2}"; install ;;
  run) refuse_surplus "${@:2}"; run ;;
  comment) refuse_surplus "${@:2}"; out="$(reports_folder)"; comment ;;
  -h | --help) sed -n '2,/^# Exit codes/p' "${BASH_SOURCE[0]}" | cut -c3- ;;
  *) refuse "unknown step ${1:-}: install, run or comment" ;;
esac
