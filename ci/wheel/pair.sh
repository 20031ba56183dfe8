# Sourced by ci/action.sh and ci/container.sh, which install both wheels.

# harness_beside JUDGE: prints the path of the harness's wheel of the same version in the same
# folder. If JUDGE is not the judge's wheel or has none next to it, prints a sentence with a remedy
# and returns 1.
harness_beside() {
  local name folder version found
  name="$(basename -- "$1")" folder="$(dirname -- "$1")"
  version="${name#plumbline_attention-}"
  if [[ "$version" == "$name" ]]; then
    echo "$1 is not the judge's wheel; remedy: name plumbline_attention-VERSION-….whl, and keep" \
      "plumbline_attention_harness-VERSION-….whl beside it"
    return 1
  fi
  version="${version%%-*}"
  found=("$folder/plumbline_attention_harness-$version-"*.whl)
  if [[ ! -f "${found[0]}" ]]; then
    echo "$1 only judges dumps, and $folder has no plumbline_attention_harness-$version-….whl;" \
      "remedy: put both files of ci/wheel.sh there"
    return 1
  fi
  echo "${found[0]}"
}
