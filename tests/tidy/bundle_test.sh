#!/bin/sh
# Does a bundle of this build hold, elsewhere than where it was made, and are breaches found?
#
# usage: bundle_test.sh ROOT BUILD SCRATCH
set -eu
root=$1 build=$2 scratch=$3
failures=0
rm -rf "$scratch"
mkdir -p "$scratch"

failed() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}
check() { sh "$root/deploy/check-bundle.sh" "$scratch/moved" >"$scratch/told" 2>&1; }
found() { grep -q "$1" "$scratch/told"; }
refused() { ! check && found "$1"; }

sh "$root/deploy/bundle.sh" "$build" "$scratch/made"
mv "$scratch/made" "$scratch/moved"
check || { cat "$scratch/told" >&2; failed "a bundle that was moved holds"; }
for program in gcoordd gcoordctl gcoord-demo gcoord-bench gcoord-parity; do
  [ -x "$scratch/moved/bin/$program" ] || failed "$program is in it"
done
[ "$(env -i "$scratch/moved/bin/gcoordd" --version)" = "$("$build/bin/gcoordd" --version)" ] || failed "it is this build"

# Breaches, one at a time.
library=$(find "$scratch/moved/lib" -name 'libfmt*' | head -n 1)
mv "$library" "$scratch/aside"
refused 'from outside\|does not start' || failed "a missing library is found"
mv "$scratch/aside" "$library"
head -c 72M /dev/zero >"$scratch/moved/large"
refused 'at most 72' || failed "a bundle that is too large is found"
rm "$scratch/moved/large"
mv "$scratch/moved/licences/gcoord" "$scratch/aside"
refused 'licences/gcoord is missing' || failed "a missing licence is found"
mv "$scratch/aside" "$scratch/moved/licences/gcoord"
check || failed "it holds again"

# A folder of somebody's is not overwritten.
mkdir "$scratch/precious"
! sh "$root/deploy/bundle.sh" "$build" "$scratch/precious" 2>/dev/null || failed "a folder that is no bundle is refused"
[ -d "$scratch/precious" ] || failed "and left alone"
rm -rf "$scratch"
exit "$((failures > 0))"
