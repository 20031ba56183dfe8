#!/usr/bin/env bash
# Formats C++ and CUDA sources with clang-format: FILE…, by default files that differ from HEAD.
#   ci/format.sh [--check] [FILE…]   --check changes nothing, exit 1 if a file would change
#   ci/format.sh [--check] --all     every source of the repository
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
check=0 all=0 files=()
while (($#)); do
  case "$1" in
    --check) check=1 ;;
    --all) all=1 ;;
    -h | --help) sed -n '2,4p' "$0" | cut -c3-; exit 0 ;;
    --) shift; files+=("$@"); break ;;
    -*) refuse "unknown option $1" ;;
    *) files+=("$1") ;;
  esac
  shift
done
((!all || ${#files[@]} == 0)) || refuse "name files or --all, not both"

sources=('*.cc' '*.h' '*.hpp' '*.cu' '*.cuh')
if ((${#files[@]} == 0)); then
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  if ((all)); then
    mapfile -t -d '' files < <(git ls-files -z -- "${sources[@]}")
    wait "$!"
  else
    mapfile -t -d '' files < <(git diff -z --name-only --diff-filter=d HEAD -- "${sources[@]}" &&
                               git ls-files -z --others --exclude-standard -- "${sources[@]}")
    wait "$!"
  fi
fi
((${#files[@]})) || exit 0

if ((check)); then
  exec clang-format --dry-run --Werror "${files[@]}"
fi
exec clang-format -i "${files[@]}"
