# Sourced by the scripts of this folder and by ci/common.sh: functions to read and refuse options.
# Changes no directory and prints nothing.
set -euo pipefail

# The name of the running script in messages, such as ci/fleet/slurm.sh.
script_name="$(realpath -- "${BASH_SOURCE[-1]}")"
script_name="ci/${script_name#"$(realpath -- "$(dirname "${BASH_SOURCE[0]}")")/"}"

# end_with CODE words…: prints the words and ends the script.
end_with() { echo "$script_name: ${*:2}" >&2; exit "$1"; }
refuse() { end_with 2 "$* (see --help)"; }
refuse_surplus() { (($# == 0)) || refuse "unexpected argument $1"; }

# require_value WHAT OPTION [VALUE…]: refuses an option whose value is missing or empty.
require_value() { [[ -n "${3:-}" ]] || refuse "$2 needs $1"; }

# The virtual environment `venv` keeps a copy of the file `requirements` from which it was made.
# venv_lack prints how the two differ; make_venv installs the requirements if they do.
venv_lack() {
  if [[ ! -x "$venv/bin/python" ]]; then
    echo "there is no ${venv##*/}"
  elif ! cmp -s "$requirements" "$venv/installed.txt"; then
    echo "${venv##*/} does not match ${requirements#"$PWD/"}"
  fi
}
make_venv() {
  [[ -n "$(venv_lack)" ]] || return 0
  [[ -x "$venv/bin/python" ]] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --require-hashes --requirement "$requirements" ||
    end_with 3 "pip could not install $requirements;" \
      "remedy: connect to a network, or set PIP_INDEX_URL to an index of yours"
  cp "$requirements" "$venv/installed.txt"
}

# split_words NAME TEXT: fills the array `words` with the words of TEXT, quoted as for a shell.
# Nothing in TEXT is expanded or executed. NAME is the option that error messages name.
split_words() {
  local quoted
  quoted="$(python3 -c '
import shlex, sys
try:
    print(shlex.join(shlex.split(sys.argv[1])))
except ValueError as error:
    sys.exit(str(error).lower())' "$2" 2>&1)" ||
    end_with 2 "$1 cannot be split into words: ${quoted:-python3 failed}: $2" $'\n'" " \
      "remedy: close every quote, and write \\\\ for a backslash at the end"
  eval "words=($quoted)"
}
