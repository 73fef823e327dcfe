#!/bin/sh
# Fetches etcd 3.5 for `./gcoord bench vs`, since Debian 12 has only 3.4: unpacks one package of Debian 13 into a folder and
# installs nothing. Prints the path of the program. What is there already is taken; a download that differs from the
# checksum is refused.
#
# Usage: etcd35.sh FOLDER
set -eu

readonly folder="$1"
readonly package=etcd-server_3.5.16-4_amd64.deb
readonly sha256=0875921bb0d023f2af9b8e15cdfbe417a03e65731345fb832c40f9c2dd72967b
# The mirrors that this machine has, whose pool is that of all releases, and then one that keeps what they have replaced.
# shellcheck disable=SC2016 # The braces are for apt-get.
mirrors=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' | sort -u || true)
readonly mirrors="$mirrors https://snapshot.debian.org/archive/debian/20250901T000000Z/"

program=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")/usr/bin/etcd
if [ ! -x "$program" ]; then
  if [ "$(dpkg --print-architecture)" != amd64 ]; then
    echo "etcd35.sh: $package is for amd64; name a program with --etcd35" >&2
    exit 1
  fi
  mkdir -p "$folder"
  for mirror in $mirrors; do
    curl -fsSL --max-time 300 -o "$folder/$package" "${mirror}pool/main/e/etcd/$package" && break
    rm -f "$folder/$package"
  done
  if ! echo "$sha256  $folder/$package" | sha256sum -c --quiet - >&2; then
    echo "etcd35.sh: $package was not fetched" >&2
    rm -f "$folder/$package"
    exit 1
  fi
  dpkg-deb -x "$folder/$package" "$folder"
  rm -f "$folder/$package"
fi
echo "$program"
