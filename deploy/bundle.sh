#!/bin/sh
# Puts what was built into a folder that runs on another machine: bin/, lib/, licences/, README.md.
#
# usage: deploy/bundle.sh BUILD DIR
#   BUILD  a build folder with the programs of the install component `bundle`
#   DIR    made anew; must be absent, or a bundle of before
#
# Libraries are copied as they are found here, but for those that every Ubuntu 24.04 has and that must fit its kernel
# and compiler: the C library and the runtime of g++. Whether the result holds is judged by check-bundle.sh, at the end.
# UCX is not in it: gcoordd opens it when --peer-transport ucx asks for it, and says so where it is missing.
set -eu

fail() {
  echo "bundle: $1" >&2
  exit "${2:-1}"
}

[ $# -eq 2 ] || fail "usage: deploy/bundle.sh BUILD DIR" 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
tree=$1
target=$2
[ -f "$tree/CMakeCache.txt" ] || fail "$tree is no build folder" 2
[ ! -e "$target" ] || [ -f "$target/licences/gcoord" ] || fail "$target is in the way and no bundle; name another folder" 2

part=$target.part
rm -rf "$part"
mkdir -p "$part/lib" "$part/licences"
# Strips the programs, and points each at ../lib.
DESTDIR='' cmake --install "$tree" --component bundle --strip --prefix "$part" >"$part/install.log" 2>&1 ||
  { cat "$part/install.log" >&2; rm -rf "$part"; fail "cmake --install failed"; }
rm "$part/install.log"

# shellcheck source=deploy/system-libraries.sh
. "$here/system-libraries.sh"

for program in "$part"/bin/*; do
  ldd "$program" | awk '$2 == "=>" { print $1, $3 }'
done | sort -u | while read -r name path; do
  ! is_system_library "$name" || continue
  [ -f "$path" ] || { echo "bundle: $name is not found here" >&2; exit 1; }
  cp -L "$path" "$part/lib/$name"
  chmod 644 "$part/lib/$name"
  strip --strip-unneeded "$part/lib/$name"
done

# ---- licences of everything inside ------------------------------------------------------------------------------------

cp "$root/LICENSE" "$part/licences/gcoord"
package_of() { # The Debian package that a library came from; its path may have lost or gained /usr.
  dpkg-query -S "$1" "/usr$1" "${1#/usr}" 2>/dev/null | sed -n '1s/:.*//p'
}
copy_licence() {
  [ ! -f "/usr/share/doc/$1/copyright" ] || cp -L "/usr/share/doc/$1/copyright" "$part/licences/$1"
}
if command -v dpkg-query >/dev/null; then
  for library in "$part"/lib/*; do
    found=$(ldconfig -p | awk -v name="$(basename "$library")" '$1 == name { print $NF; exit }')
    package=$(package_of "$found")
    [ -n "$package" ] || fail "no package owns $found, so its licence is not known"
    copy_licence "$package"
  done
  # Linked in: the checkpoint store, and libraries that are headers.
  for package in librocksdb-dev libcli11-dev nlohmann-json3-dev libasio-dev; do
    copy_licence "$package"
  done
fi
cuda=$(sed -n 's/^GCOORD_CUDA:BOOL=//p' "$tree/CMakeCache.txt")
device='on CPUs only: it was built without CUDA'
if [ "$cuda" = ON ]; then
  device='on CPUs, and on NVIDIA GPUs of compute capability 9.0 (H100, H200) where the driver knows CUDA 13'
  cat >"$part/licences/cuda-runtime" <<'TEXT'
The programs contain the CUDA runtime library (cudart_static), (c) NVIDIA Corporation, which attachment A of the CUDA
Toolkit's End User License Agreement allows to distribute inside an application: https://docs.nvidia.com/cuda/eula/
TEXT
fi

# ---- how to start -----------------------------------------------------------------------------------------------------

version=$("$part/bin/gcoordd" --version | head -n 1)
cat >"$part/README.md" <<TEXT
# $version

Locks, leases and elections over very many Raft shards. Runs on x86-64 with the C library of Ubuntu 24.04 or newer,
$device. Nothing is to be installed, and the folder may lie anywhere.

    bin/gcoord-demo               # three nodes here, a load, a kill -9, every answer checked; on a GPU if there is one
    bin/gcoord-demo --device cpu  # the same without a GPU

    bin/gcoordd dev               # one node to try; another terminal: bin/gcoordctl lock acquire my-lock --ttl 30s
    bin/gcoordd --device cuda:0 --data-dir /var/lib/gcoord ...   # a node of a cluster, its shards on a GPU
    bin/gcoordctl status

Every program has --help. gcoord-bench measures a cluster of processes here (bin/gcoord-bench --help), gcoord-parity
compares the step on CPU and GPU. The licences of what is inside are in licences/.
TEXT

sh "$here/check-bundle.sh" "$part"
rm -rf "$target"
mv "$part" "$target"
