#!/usr/bin/env bash
# Builds a container image of plumbline (OCI) with buildah, from both wheels and a Debian 12 root
# by mmdebstrap. The entry point is `plumbline`, and the user is not root.
#   ci/container.sh [--wheel FILE | --prefix DIR] [--out FILE] [--root TAR]
#   --wheel FILE   plumbline_attention-….whl of ci/wheel.sh (default: the newest in dist/);
#                  plumbline_attention_harness-….whl is next to it
#   --prefix DIR   instead of a wheel: an installation by `cmake --install BUILD --strip --prefix
#                  DIR`. The image then also gets the Debian packages that DIR links to
#   --out FILE     OCI archive (default: out/plumbline.oci.tar). podman load -i FILE,
#                  docker load -i FILE (Docker 25 and later), skopeo copy oci-archive:FILE …
#   --root TAR     keep the Debian root in this file, and use it if it exists
# Needs root, or a user with subordinate ids (/etc/subuid), and ci/setup.sh --container. Example:
#   podman run --rm --userns=keep-id --user "$(id -u)" -v "$PWD:/data" plumbline run mine.toml
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"
caller_directory="$PWD"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
absolute() { (cd "$caller_directory" && realpath -m -- "$1"); }

wheel="" prefix="" out="$PWD/out/plumbline.oci.tar" root=""
while (($#)); do
  case "$1" in
    --wheel | --prefix | --out | --root) require_value "a path" "$@" ;;&
    --wheel) wheel="$(absolute "$2")"; shift 2 ;;
    --prefix) prefix="$(absolute "$2")"; shift 2 ;;
    --out) out="$(absolute "$2")"; shift 2 ;;
    --root) root="$(absolute "$2")"; shift 2 ;;
    -h | --help) sed -n '2,/^#   podman/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    *) refuse "unknown option $1" ;;
  esac
done
if [[ -z "$wheel$prefix" ]]; then
  wheel="$(find dist -name 'plumbline_attention-*.whl' -printf '%T@ %p\n' 2>/dev/null |
    sort -n | tail -n 1 | cut -d' ' -f2-)"
  [[ -n "$wheel" ]] || end_with 2 "there is no wheel in dist/; remedy: run ci/wheel.sh, or name one"
  wheel="$(realpath "$wheel")"
fi
[[ -z "$wheel" || -f "$wheel" ]] ||
  end_with 2 "--wheel: $wheel is not a file; remedy: run ci/wheel.sh"
if [[ -n "$wheel" ]]; then
  source ci/wheel/pair.sh
  harness="$(harness_beside "$wheel")" || end_with 2 "--wheel: $harness"
fi
[[ -z "$prefix" || -x "$prefix/bin/plumbline" ]] ||
  end_with 2 "--prefix: there is no $prefix/bin/plumbline;" \
    "remedy: cmake --install BUILD --strip --prefix $prefix"
for program in mmdebstrap buildah; do
  command -v "$program" >/dev/null ||
    end_with 3 "$program is not installed; remedy: ci/setup.sh --container"
done
version="$(sed -n 's/^project(plumbline VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
commit="${PLUMBLINE_COMMIT:-$(git rev-parse HEAD 2>/dev/null || true)}"

scratch="$(mktemp -d)"
# Runs buildah with storage of its own, which needs no overlay file system and leaves the user's
# storage alone.
b() {
  buildah --root "$scratch/storage" --runroot "$scratch/run" --storage-driver vfs "$@"
}
trap 'b rm --all >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT

# The interpreter, trusted certificates and, for a prefix, the packages that own its libraries.
# Manuals and package tools stay out.
packages=(python3 ca-certificates libstdc++6)  # the last for NumPy, whose wheel lacks it
python_packages=()
if [[ -n "$wheel" ]]; then
  python_packages=("$wheel" "$harness")
else
  mapfile -t libraries < <(find "$prefix/bin" "$prefix/lib" -type f \
    \( -perm -u+x -o -name '*.so' \) -exec ldd {} + 2>/dev/null |
    sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u || true)
  # Resolves links, because the name of BLAS is a Debian alternative, which no package owns.
  mapfile -t owners < <(for library in "${libraries[@]}"; do
    file="$(realpath "$library")"
    dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}" 2>/dev/null ||
      echo "ci/container.sh: warning: no package owns $file" >&2
  done | cut -d: -f1 | sort -u)
  wait "$!"
  packages+=("${owners[@]}")
fi
[[ -n "$root" ]] || root="$scratch/root.tar"
if [[ ! -s "$root" ]]; then
  mkdir -p "$(dirname "$root")"
  names="$(IFS=,; echo "${packages[*]}")"
  mode=(--mode=auto)
  ((EUID != 0)) || mode=(--mode=root)
  mmdebstrap --variant=essential "${mode[@]}" --include="$names" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook='rm -rf "$1"/var/cache/* "$1"/var/log/* "$1"/usr/share/info' \
    bookworm "$scratch/new.tar" >"$scratch/mmdebstrap.txt" 2>&1 ||
    end_with 3 "mmdebstrap made no Debian root: $(tail -n 2 "$scratch/mmdebstrap.txt")"
  mv "$scratch/new.tar" "$root"
fi

container="$(b from scratch)"
b add --quiet "$container" "$root" / >/dev/null
# The wheels of plumbline contain their libraries. This machine's pip unpacks them into a folder, so
# the image needs no pip.
if [[ -n "$wheel" ]]; then
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --target "$scratch/site" --python-version 3.11 --only-binary=:all: \
    --platform manylinux_2_28_x86_64 --implementation cp "${python_packages[@]}" ||
    end_with 3 "pip could not install $wheel;" \
      "remedy: connect to a network, or set PIP_INDEX_URL to an index of yours"
  mkdir -p "$scratch/tree/opt/plumbline"
  mv "$scratch/site" "$scratch/tree/opt/plumbline/site"
  mkdir -p "$scratch/tree/usr/local/bin"
  # pip writes scripts that name this machine's interpreter.
  for script in "$scratch"/tree/opt/plumbline/site/bin/*; do
    sed -i '1s|^#!.*|#!/usr/bin/python3|' "$script"
    ln -s "/opt/plumbline/site/bin/$(basename "$script")" "$scratch/tree/usr/local/bin/"
  done
  environment=(--env PYTHONPATH=/opt/plumbline/site)
else
  mkdir -p "$scratch/tree/opt" "$scratch/tree/usr/local/bin"
  cp -r "$prefix" "$scratch/tree/opt/plumbline"
  ln -s /opt/plumbline/bin/plumbline "$scratch/tree/usr/local/bin/plumbline"
  environment=()
fi
# Adds the user by one line per file, because the image lacks adduser.
b run --isolation chroot "$container" -- /bin/sh -c '
  echo "plumbline:x:1000:1000::/data:/bin/sh" >>/etc/passwd
  echo "plumbline:x:1000:" >>/etc/group
  mkdir -p /data && chown 1000:1000 /data'
b add --quiet "$container" "$scratch/tree" / >/dev/null
b config --entrypoint '["plumbline"]' --cmd "--help" --user 1000:1000 --workingdir /data \
  "${environment[@]}" \
  --label org.opencontainers.image.title=plumbline \
  --label "org.opencontainers.image.description=Judges attention kernels: rounding, or a bug?" \
  --label "org.opencontainers.image.version=$version" \
  --label "org.opencontainers.image.revision=$commit" \
  --label org.opencontainers.image.licenses=Apache-2.0 \
  --label org.opencontainers.image.base.name=debian:12 "$container"
mkdir -p "$(dirname "$out")"
rm -f "$out"
b commit --quiet --format oci --disable-compression=false "$container" \
  "oci-archive:$out:plumbline:$version" >/dev/null
echo "$out: $(($(stat -c %s "$out") / 1000000)) MB, plumbline:$version"
