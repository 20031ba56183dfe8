#!/usr/bin/env bash
# Counts lines of C, C++, CUDA, Python, TypeScript and shell that are neither blank nor comment, in
# harness/, emulator/, kernels/, python/, page/, evidence/ and ci/.
#   ci/lines.sh                 counts the files that git knows in this checkout
#   ci/lines.sh COMMIT          also counts those of a commit, and prints the difference
# Needs cloc (Debian's package).
# Example: ci/lines.sh 0323f29b~1
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" >/dev/null
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,7p' "$0" | cut -c3-; exit 0; }
[[ "${1:-}" != -* ]] || refuse "unknown option $1"
(($# < 2)) || refuse "too many arguments: $*"
command -v cloc >/dev/null || end_with 2 "cloc is missing; next: apt-get install cloc"

languages='C,C++,C/C++ Header,CUDA,Python,TypeScript,Bourne Shell,Bourne Again Shell'
folders='^(harness|emulator|kernels|python|page|evidence|ci)/'
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT

# count FOLDER: prints the lines of code of a folder's files.
count() {
  (cd "$1" && find . -type f -printf '%P\n' | grep -E "$folders" >"$copy/files" &&
    cloc --quiet --csv --timeout 0 --skip-uniqueness --include-lang="$languages" \
      --list-file="$copy/files") |
    awk -F, '$2 == "SUM" { print $5 }'
}

mkdir "$copy/now"
# cp prints errors for files that git knows but that are deleted.
git ls-files -z |
  xargs -0 cp --parents --no-dereference --target-directory="$copy/now" 2>/dev/null || true
now="$(count "$copy/now")"
echo "$now lines of code in this checkout"
if (($#)); then
  mkdir "$copy/then"
  git archive "$1" | tar -x -C "$copy/then" ||
    end_with 2 "git has no commit $1; next: git log, or git fetch"
  then="$(count "$copy/then")"
  echo "$then lines of code in $1, difference $((now - then))"
fi
