#!/usr/bin/env bash
# Builds the site of README and docs/ into out/site: static pages that also open from a disk and
# load nothing from the network.
#   ci/docs.sh             make .venv-docs if it is missing or old, then build
#   ci/docs.sh --out DIR   build into this folder
#   ci/docs.sh --setup     make .venv-docs only
#   ci/docs.sh --check     print what is missing, exit 1 if anything is; download nothing
# Links to missing pages, anchors and files fail the build (mkdocs build --strict);
# `ctest -R docs.site` checks the HTML. The navigation is in mkdocs.yml. Exit code 3: pip could not
# install ci/docs_requirements.txt.
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
caller_directory="$PWD"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out="$PWD/out/site"
venv="$PWD/.venv-docs"
requirements=ci/docs_requirements.txt

case "${1:-}" in
  --out) require_value "a folder" "$@"; refuse_surplus "${@:3}" ;;
  *) refuse_surplus "${@:2}" ;;
esac
case "${1:-}" in
  "") ;;
  --out) out="$(cd "$caller_directory" && realpath -m -- "$2")" ;;
  --setup) make_venv; exit 0 ;;
  --check)
    missing="$(venv_lack)"
    [[ -z "$missing" ]] || { echo "$missing; remedy: run ci/docs.sh --setup"; exit 1; }
    exit 0 ;;
  -h | --help) sed -n '2,/^# install/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
  *) refuse "unknown option $1" ;;
esac
make_venv
pages="$(mktemp -d)"
trap 'rm -rf "$pages"' EXIT
python3 ci/docs_pages.py "$pages"
PLUMBLINE_PAGES="$pages" NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -m mkdocs build --strict --quiet \
  --config-file mkdocs.yml --site-dir "$out"
echo "$out/index.html"
