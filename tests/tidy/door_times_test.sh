#!/bin/sh
# Does ./gcoord say where the seconds went? On a machine without packages, where apt-get, cmake, ninja and the demo are
# stubs that move a clock of the test's own: download, installation, configuration, compilation and the demo, each apart.
# The demo's words, its exit code and its signals are the door's.
#
# usage: door_times_test.sh ROOT
# shellcheck disable=SC2317 # Functions are called by expect().
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
stubs=$folder/stubs
failures=0

expect() { # expect WHAT COMMAND ...: the command succeeds.
  what=$1
  shift
  if ! "$@"; then
    echo "FAILED: $what" >&2
    sed 's/^/    /' "$folder/err" >&2
    failures=$((failures + 1))
  fi
}

stub() { # stub NAME, its script on stdin.
  { echo '#!/bin/sh' && cat; } >"$stubs/$1"
  chmod +x "$stubs/$1"
}

make_machine() {
  mkdir -p "$folder/clone/deploy" "$stubs"
  cp "$root/gcoord" "$root/CMakePresets.json" "$folder/clone/"
  cp "$root/deploy/debian-packages.txt" "$folder/clone/deploy/"
  echo 1000 >"$folder/clock"
  stub date <<TEXT
cat $folder/clock
TEXT
  stub take <<TEXT
echo \$((\$(cat $folder/clock) + \$1)) >$folder/clock
TEXT
  printf 'exit 0\n' | stub dpkg-query # Nothing is installed.
  printf 'echo 0\n' | stub id
  printf 'exit 1\n' | stub nvidia-smi
  stub apt-get <<TEXT
echo "\$@" >>$folder/apt
case " \$* " in *" update "*) take 7 ;; *" --download-only "*) take 53 ;; *) take 41 ;; esac
TEXT
  stub cmake <<TEXT
take 5
mkdir -p build/cpu
touch build/cpu/build.ninja
TEXT
  stub ninja <<TEXT
take 200
mkdir -p build/cpu/bin
cp $folder/demo build/cpu/bin/gcoord-demo
TEXT
}

demo() { # demo, its script on stdin.
  { echo '#!/bin/sh' && cat; } >"$folder/demo"
  chmod +x "$folder/demo"
}

door() { (cd "$folder" && PATH=$stubs:$PATH clone/gcoord "$@") 2>"$folder/err" >"$folder/out"; }
last_line_is() { [ "$(tail -n 1 "$folder/err")" = "==> $1" ]; }
out_is() { [ "$(cat "$folder/out")" = "$1" ]; }
ended_with() { [ "$status" -eq "$1" ]; }

make_machine

printf 'take 12\necho "$@"\nexit 3\n' | demo
status=0
door demo --yes --seconds 5 || status=$?
expect "a bare machine's seconds" last_line_is "seconds: download 60, install 41, configure 5, compile 200, demo 12"
expect "the demo's words alone are on stdout" out_is "--seconds 5"
expect "the demo's exit code is the door's" ended_with 3
expect "the packages are named when they are installed" grep -q "^install .* ninja-build" "$folder/apt"

sed -n 's/^\([^#][^ ]*\) .*/echo "installed \1"/p' "$root/deploy/debian-packages.txt" | stub dpkg-query
door demo --yes || status=$?
expect "with packages and a build tree" last_line_is "seconds: download 0, install 0, configure 0, compile 200, demo 12"

# The demo waits for a signal at a pipe that nobody writes to; the door is stopped once the demo stands there.
mkfifo "$folder/ready" "$folder/never"
demo <<TEXT
cat <>$folder/never &
reader=\$!
trap 'kill \$reader; take 30; echo stopped; exit 4' TERM
echo >$folder/ready
wait
TEXT
(cd "$folder" && PATH=$stubs:$PATH exec clone/gcoord demo --yes) 2>"$folder/err" >"$folder/out" &
door_pid=$!
read -r _ <"$folder/ready"
kill -TERM "$door_pid"
status=0
wait "$door_pid" || status=$?
expect "a signal to the door stops the demo in its own way" out_is stopped
expect "and its exit code is the door's" ended_with 4
expect "and the seconds are said" last_line_is "seconds: download 0, install 0, configure 0, compile 200, demo 30"
exit "$((failures > 0))"
