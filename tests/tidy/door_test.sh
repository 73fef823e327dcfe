#!/bin/sh
# Does ./gcoord explain itself? Its verbs are named in --help, a wrong verb is usage (2), doctor names every package of
# the list with its purpose, and each line of that list says when the package is needed.
#
# usage: door_test.sh ROOT
# shellcheck disable=SC2317,SC2013 # Functions are called by expect(), and lists are of words.
set -eu
cd "$1"
failures=0

expect() { # expect WHAT COMMAND ...: the command succeeds.
  what=$1
  shift
  if ! "$@" >/dev/null; then
    echo "FAILED: $what" >&2
    failures=$((failures + 1))
  fi
}

help_names() { ./gcoord --help | grep -q "^  $1 "; }
wrong_verb_is_usage() {
  status=0
  ./gcoord no-such-verb 2>/dev/null || status=$?
  [ "$status" -eq 2 ]
}
bench_wants_a_name() {
  status=0
  ./gcoord bench 2>/dev/null || status=$?
  [ "$status" -eq 2 ]
}
unknown_bench_is_usage() { # Before anything is built: no cmake is called.
  stubs=$(mktemp -d)
  printf '#!/bin/sh\ntouch %s/called\nexit 1\n' "$stubs" >"$stubs/cmake"
  chmod +x "$stubs/cmake"
  status=0
  PATH=$stubs:$PATH ./gcoord bench no-such-benchmark 2>/dev/null || status=$?
  called=no
  [ ! -e "$stubs/called" ] || called=yes
  rm -r "$stubs"
  [ "$status" -eq 2 ] && [ "$called" = no ]
}
door_knows_bench() { # door_knows_bench NAME: the verb does not refuse it as unknown.
  sed -n '/^verb_bench()/,/^}/p' gcoord | grep -Eq "(^| )$1( |\\))"
}
list_is_well_formed() {
  awk '$1 !~ /^#/ && (NF < 3 || $2 !~ /^(build|test|bench|micro|judge|optional)(,(build|test|bench|micro|judge|optional))*$/ || seen[$1]++) { print; bad = 1 } END { exit bad }' \
    deploy/debian-packages.txt
}
doctor_names() { printf '%s\n' "$report" | grep -q "^  $1 "; }

expect "the shell accepts it" sh -n gcoord
for verb in demo test build check chaos bench judge fuzz bundle doctor clean --yes; do
  expect "--help names $verb" help_names "$verb"
done
expect "a wrong verb exits with 2" wrong_verb_is_usage
expect "bench without a name exits with 2" bench_wants_a_name
expect "a benchmark that there is not exits with 2, and builds nothing" unknown_bench_is_usage
for name in $(sed -n 's/^    {"\([a-z-]*\)",.*/\1/p' bench/main.cc); do
  expect "./gcoord bench knows $name" door_knows_bench "$name"
done
expect "every package says when and what for, once" list_is_well_formed
report=$(./gcoord doctor || true) # Its status says whether something is missing.
if command -v dpkg-query >/dev/null; then
  for package in $(awk '$1 !~ /^#/ { print $1 }' deploy/debian-packages.txt); do
    expect "doctor names $package" doctor_names "$package"
  done
fi
exit "$((failures > 0))"
