#!/usr/bin/env bash
# A commit-msg hook: the subject is "scope: verb ...", at most 72 columns, and the body follows an
# empty line. `pre-commit install --hook-type commit-msg` installs it.
#   ci/commit_message.sh FILE    exit code 1 if the message in FILE breaks one of these rules
# Example: ci/commit_message.sh .git/COMMIT_EDITMSG
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { sed -n '2,/^# Example/p' "$0" | cut -c3-; exit 0; }
[[ "${1:-}" != -* ]] || refuse "unknown option $1"
(($# == 1)) || refuse "name one file"
[[ -r "$1" ]] || end_with 2 "$1 cannot be read; next: name the file of a commit message"
mapfile -t lines < <(grep -v '^#' "$1" || true)
subject="${lines[0]:-}" wrong=""
[[ ! "$subject" =~ ^(Merge|Revert|fixup!|squash!) ]] || exit 0
((${#subject} <= 72)) || wrong+="the subject has ${#subject} columns, more than 72; "
[[ "$subject" =~ ^[a-z0-9_/,\ .-]+:\ [a-z] ]] || wrong+='the subject is not "scope: verb ..."; '
[[ -z "${lines[1]:-}" ]] || wrong+="the second line is not empty; "
[[ -z "$wrong" ]] || end_with 1 "${wrong}next: write it again (CONTRIBUTING.md, Before a commit)"
