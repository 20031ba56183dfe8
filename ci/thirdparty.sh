#!/usr/bin/env bash
# Judges MLX, Keras on TensorFlow and OpenVINO in a virtual environment of their own.
#   ci/thirdparty.sh            make .venv-thirdparty (1.8 GB) if it is missing or old, then test
#   ci/thirdparty.sh --setup    make the environment only
#   ci/thirdparty.sh --check    say what is missing and exit 1; downloads nothing
#   ci/thirdparty.sh --night    test if the environment exists, otherwise say why not and exit 0
# The tests are those of CTest's label thirdparty. Without the environment they are skipped.
# Versions: ci/thirdparty_requirements.txt. Exit codes: those of ctest; 3: pip could not install.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
venv="$source_directory/.venv-thirdparty"
requirements="$source_directory/ci/thirdparty_requirements.txt"

run_tests() {
  build --target plumbline plumbline-worker plumbline_python plumbline_cpu test_thirdparty
  exec ctest --preset "$preset" -L '^thirdparty$'
}

missing="$(venv_lack)"
refuse_surplus "${@:2}"
case "${1:-}" in
  "") make_venv; run_tests ;;
  --setup) make_venv ;;
  --check)
    [[ -z "$missing" ]] || { echo "$missing; remedy: run ci/thirdparty.sh --setup"; exit 1; } ;;
  --night)
    [[ -z "$missing" ]] || {
      echo "skipped: MLX, Keras and OpenVINO: $missing (remedy: ci/thirdparty.sh --setup)" >&2
      exit 0
    }
    run_tests ;;
  -h | --help) sed -n '2,8p' "${BASH_SOURCE[0]}" | cut -c3- ;;
  *) refuse "unknown option $1" ;;
esac
