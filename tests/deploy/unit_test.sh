#!/bin/sh
# Is the systemd unit what its words say? systemd finds no mistake in it, with and without the drop-ins for devices and for TLS, and
# rates its exposure below 3.0 (with devices: below 4.0).
#
# usage: unit_test.sh ROOT GCOORDD SCRATCH
# exit codes: 0 it is, 1 it is not, 77 no systemd-analyze that reads files (252 or newer)
set -eu
root=$1 gcoordd=$2 scratch=$3

version=$(systemd-analyze --version 2>/dev/null | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
if [ "${version:-0}" -lt 252 ]; then
  echo "SKIPPED: systemd-analyze 252 or newer is not here"
  exit 77
fi

failures=0
# judge NAME TENTHS: systemd's verdict on the unit in $scratch/NAME.
judge() {
  unit=$scratch/$1/gcoordd.service
  if ! said=$(systemd-analyze verify --man=no "$unit" 2>&1) || [ -n "$said" ]; then
    echo "FAILED: verify of $1: $said" >&2
    failures=$((failures + 1))
  fi
  if ! said=$(systemd-analyze security --no-pager --offline=true --threshold="$2" "$unit" 2>&1); then
    echo "FAILED: exposure of $1 above $2 tenths" >&2
    printf '%s\n' "$said" | grep -v '^✓' >&2
    failures=$((failures + 1))
  fi
  printf '%s\n' "$said" | tail -n 1
}

rm -rf "$scratch"
mkdir -p "$scratch/plain" "$scratch/devices/gcoordd.service.d" "$scratch/tls/gcoordd.service.d"
for name in plain devices tls; do
  sed "s|^ExecStart=/usr/bin/gcoordd |ExecStart=$gcoordd |" "$root/deploy/gcoordd.service" >"$scratch/$name/gcoordd.service"
done
cp "$root/deploy/gcoordd-devices.conf" "$scratch/devices/gcoordd.service.d/"
cp "$root/deploy/gcoordd-tls.conf" "$scratch/tls/gcoordd.service.d/"
judge plain 29
judge tls 29
judge devices 39
[ "$failures" -eq 0 ]
