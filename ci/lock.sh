#!/usr/bin/env bash
# Writes the requirements that pip installs, with the SHA-256 of every file, from handwritten ones:
# each FILE.txt below ci/ from the FILE.in next to it.
#   ci/lock.sh              keep the versions that FILE.txt has, as far as FILE.in allows
#   ci/lock.sh --upgrade    the newest versions instead
# Needs uv (pip install uv==0.13.9), and PyPI. The versions are those for Python 3.11 on x86-64
# Linux. torch for CPUs is not on PyPI; uv finds it as ci/setup.sh does (ci/torch_requirements.txt).
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files=(ci/requirements ci/docs_requirements ci/thirdparty_requirements ci/wheel/requirements)
uv_version=0.13.9
upgrade=()
while (($#)); do
  case "$1" in
    -h | --help) sed -n '2,7p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    --upgrade) upgrade=(--upgrade) ;;
    *) refuse "unknown option $1" ;;
  esac
  shift
done
command -v uv >/dev/null || end_with 3 "no uv on the PATH; remedy: pip install uv==$uv_version"

# The index for torch: the folder in PIP_FIND_LINKS, otherwise PyTorch's index.
torch_index=(--index https://download.pytorch.org/whl/cpu --index-strategy first-index)
[[ -z "${PIP_FIND_LINKS:-}" ]] || torch_index=(--find-links "$PIP_FIND_LINKS")

lock() {
  local file="$1" torch=() where=()
  if [[ "$file" == ci/requirements ]]; then
    # Every virtual environment has pip, which cannot replace itself while it runs.
    torch=(--constraints ci/torch_requirements.txt --no-emit-package torch --no-emit-package pip)
    where=("${torch_index[@]}")
  fi
  UV_CUSTOM_COMPILE_COMMAND="ci/lock.sh, from ${file##*/}.in" uv pip compile --quiet --no-config \
    --generate-hashes --no-annotate --no-strip-extras "${upgrade[@]}" \
    --default-index https://pypi.org/simple "${where[@]}" "${torch[@]}" \
    --python-version 3.11 --python-platform x86_64-manylinux_2_36 \
    "$file.in" --output-file "$file.txt"
  echo "$file.txt: $(grep -c '==' "$file.txt") packages"
}
for file in "${files[@]}"; do lock "$file"; done
