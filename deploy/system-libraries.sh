# shellcheck shell=sh
# Libraries that a bundle takes from the machine it runs on; read by bundle.sh and check-bundle.sh.
#
# The C library belongs to the kernel and the loader of the machine. The runtime of g++ is part of every Ubuntu (apt
# itself needs it) and newer there than here, and two of them in one process do not agree.
is_system_library() {
  case $1 in
    linux-vdso.so.1 | */ld-linux-x86-64.so.2 | ld-linux-x86-64.so.2) return 0 ;;
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libresolv.so.2 | libutil.so.1) return 0 ;;
    libstdc++.so.6 | libgcc_s.so.1) return 0 ;;
    *) return 1 ;;
  esac
}
