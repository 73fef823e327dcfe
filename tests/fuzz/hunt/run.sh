#!/bin/sh
# Runs fuzz targets that were built with libFuzzer, side by side, and says what came of it: ./gcoord fuzz, and machines
# that have no compiler.
#
# usage: run.sh SECONDS OUT BIN TARGET ...
#
# Every target has SECONDS of wall clock; cores that are left over run further workers of the same targets, which share
# what they reach. OUT/TARGET/corpus keeps inputs between runs, OUT/TARGET/found those that broke something, OUT/summary.txt
# a line per target. The environment variable GCOORD_FUZZ_RUN is put before each program. Exit code 1: something was found.
set -eu

[ $# -ge 4 ] || { sed -n '5s/^# //p' "$0" >&2; exit 2; }
seconds=$1 out=$2 bin=$3
shift 3
readonly crashes_max=10 # Per worker: after that it gives up, since the same thing is found again and again.

mkdir -p "$out"
out=$(cd "$out" && pwd)
bin=$(cd "$bin" && pwd)
rm -f "$out/summary.txt"

# worker TARGET NUMBER: until the time is over, again after each thing found.
worker() {
  folder=$out/$1 log=$out/$1/log-$2
  : >"$log"
  end=$(($(date +%s) + seconds)) crashes=0
  while left=$((end - $(date +%s))) && [ "$left" -gt 0 ] && [ "$crashes" -lt $crashes_max ]; do
    status=0
    # shellcheck disable=SC2086 # A list of words.
    TEST_TMPDIR="$folder/tmp-$2" ${GCOORD_FUZZ_RUN:-} "$bin/$1" -max_total_time="$left" -rss_limit_mb=4096 -timeout=30 \
      -print_final_stats=1 -artifact_prefix="$folder/found/" "$folder/corpus" >>"$log" 2>&1 || status=$?
    [ "$status" -eq 0 ] || crashes=$((crashes + 1))
  done
  rm -rf "$folder/tmp-$2"
  echo "$crashes" >"$folder/crashes-$2"
}

# The seeds of TARGET come from itself.
begin() {
  mkdir -p "$out/$1/corpus" "$out/$1/found"
  rm -f "$out/$1"/log-* "$out/$1"/crashes-*
  # shellcheck disable=SC2086
  TEST_TMPDIR="$out/$1/tmp" GCOORD_FUZZ_SEEDS="$out/$1/corpus" ${GCOORD_FUZZ_RUN:-} "$bin/$1" -runs=0 >"$out/$1/seeds.log" 2>&1 || {
    cat "$out/$1/seeds.log" >&2
    exit 2
  }
  rm -rf "$out/$1/tmp"
}

summary() {
  printf '%-22s %14s %8s %9s %9s %8s %6s\n' target executions seconds coverage features corpus found
  for target in "$@"; do
    cat "$out/$target"/log-* | awk -v target="$target" -v seconds="$seconds" \
      -v corpus="$(find "$out/$target/corpus" -type f | wc -l)" -v found="$(cat "$out/$target"/crashes-* | awk '{ n += $1 } END { print n }')" '
      /^stat::number_of_executed_units:/ { executions += $2 }
      { for (k = 1; k < NF; ++k) {
          if ($k == "cov:" && $(k + 1) > coverage) coverage = $(k + 1)
          if ($k == "ft:" && $(k + 1) > features) features = $(k + 1) } }
      END { printf "%-22s %14d %8d %9d %9d %8d %6d\n", target, executions, seconds, coverage, features, corpus, found }'
  done
}

for target in "$@"; do
  begin "$target"
done
cores=$(nproc) number=0
while [ "$number" -lt $# ] || [ "$number" -lt "$cores" ]; do
  for target in "$@"; do
    [ "$number" -lt $# ] || [ "$number" -lt "$cores" ] || break
    worker "$target" "$number" &
    number=$((number + 1))
  done
done
wait
summary "$@" | tee "$out/summary.txt"
! cat "$out"/*/crashes-* | grep -qv '^0$'
