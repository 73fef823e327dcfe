// The kernel's own calls, past every function that the shim replaces. As their namesakes: -1 and
// errno on failure. Linux on x86-64; thread-safe.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace gcoord::chaos::raw {

inline ssize_t pread(int fd, void* into, std::size_t bytes, off_t at) {
  return ::syscall(SYS_pread64, fd, into, bytes, at);
}

inline ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) {
  return ::syscall(SYS_pwrite64, fd, from, bytes, at);
}

inline ssize_t write(int fd, const void* from, std::size_t bytes) {
  return ::syscall(SYS_write, fd, from, bytes);
}

inline int openat(int folder, const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

inline int close(int fd) {
  return static_cast<int>(::syscall(SYS_close, fd));
}

inline int dup3(int fd, int copy, int flags) {
  return static_cast<int>(::syscall(SYS_dup3, fd, copy, flags));
}

inline int fsync(int fd) {
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

inline int fdatasync(int fd) {
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

inline int ftruncate(int fd, off_t bytes) {
  return static_cast<int>(::syscall(SYS_ftruncate, fd, bytes));
}

inline int fallocate(int fd, int mode, off_t at, off_t bytes) {
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, at, bytes));
}

inline int unlinkat(int folder, const char* path, int flags) {
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

inline int renameat(int folder, const char* from, int target_folder, const char* to) {
  return static_cast<int>(::syscall(SYS_renameat, folder, from, target_folder, to));
}

inline int mkdirat(int folder, const char* path, mode_t mode) {
  return static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
}

}  // namespace gcoord::chaos::raw
