#!/bin/sh
# Is shellcheck silent about every shell script of the tree? Scripts are what ends in .sh, and the other files that begin
# with a line for sh.
#
# usage: shell_scripts.sh ROOT; exits with 77 (skipped) where shellcheck is not installed.
set -eu
cd "$1"

if ! command -v shellcheck >/dev/null; then
  echo "SKIPPED: shellcheck is not installed, so no shell script was checked"
  exit 77
fi

# From the folder of the tree: `source=` in a script names a file from there.
set -- gcoord .ci/run
for script in deploy/*.sh tests/*/*.sh; do
  set -- "$@" "$script"
done
shellcheck --external-sources "$@"
echo "shellcheck is silent about $# scripts"
