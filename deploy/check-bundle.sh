#!/bin/sh
# Does a bundle hold? Every program starts from it with nothing but what is inside and the system's C and C++ runtime;
# no symbol is newer than Ubuntu 24.04 has; the folder is small, and every licence is there.
#
# usage: deploy/check-bundle.sh DIR
# exit codes: 0 it holds, 1 it does not (each breach is a line on stderr), 2 usage
set -eu

# Ubuntu 24.04: glibc 2.39, libstdc++ of g++ 14.
readonly versions_max="GLIBC_2.39 GLIBCXX_3.4.33 CXXABI_1.3.15 GCC_14.0.0"
readonly mib_max=72

if [ $# -ne 1 ] || [ ! -d "$1/bin" ]; then
  echo "usage: deploy/check-bundle.sh DIR" >&2
  exit 2
fi
# shellcheck source=deploy/system-libraries.sh
. "$(dirname "$0")/system-libraries.sh"
bundle=$(cd "$1" && pwd)
breaches=0

breach() {
  echo "check-bundle: $1" >&2
  breaches=$((breaches + 1))
}

# A program's environment may not help it: no LD_LIBRARY_PATH, no PATH.
for program in "$bundle"/bin/*; do
  name=$(basename "$program")
  # 2: it ran, and has no --help. The loader's own failure is 127.
  status=0
  env -i HOME=/nonexistent "$program" --help >/dev/null 2>&1 || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 2 ] || breach "$name does not start"
  for line in $(env -i ldd "$program" | awk '{ print $1 "," ($2 == "=>" ? $3 : "-") }'); do
    library=${line%%,*} path=${line#*,}
    ! is_system_library "$library" || continue
    case $path in
      "$bundle"/* | "$bundle"/bin/../lib/*) ;;
      *) breach "$name takes $library from outside: $path" ;;
    esac
  done
done

# needed FILE PREFIX: the newest version of that family that the file asks for.
needed() {
  objdump -p "$1" 2>/dev/null | awk -v prefix="$2_" '/Version References/ { on = 1 } on && index($4, prefix) == 1 { print $4 }' |
    sort -V | tail -n 1
}
newest=''
for file in "$bundle"/bin/* "$bundle"/lib/*; do
  [ -f "$file" ] || continue
  for limit in $versions_max; do
    version=$(needed "$file" "${limit%%_*}")
    [ -n "$version" ] || continue
    if [ "$(printf '%s\n%s\n' "$version" "$limit" | sort -V | tail -n 1)" != "$limit" ]; then
      breach "$(basename "$file") needs $version; Ubuntu 24.04 has $limit"
    fi
    [ "${limit%%_*}" != GLIBC ] || newest=$(printf '%s\n%s\n' "$newest" "$version" | sort -V | tail -n 1)
  done
done

for required in README.md licences/gcoord; do
  [ -s "$bundle/$required" ] || breach "$required is missing"
done
kib=$(du -sk "$bundle" | cut -f 1)
[ "$kib" -le $((mib_max * 1024)) ] || breach "it takes $((kib / 1024)) MiB; at most $mib_max are allowed"
[ "$breaches" -eq 0 ] || exit 1
echo "$(find "$bundle/bin" -type f | wc -l) programs, $(find "$bundle/lib" -type f | wc -l) libraries," \
  "$(awk -v kib="$kib" 'BEGIN { printf "%.1f", kib / 1024 }') MiB; newest symbol of the C library: $newest"
