// The calls of libc that change files, replaced: files of the faulty disk are written through their
// undo journal and fail as the nemesis wishes; everything else goes straight to the kernel.
//
// Calls that libc makes to itself (stdio) are not seen: what is written so is not on the faulty
// disk. Files written through a mapping are not seen either; no part of a node's directory is.
#include "chaos/live/shim/raw_calls.h"
#include "chaos/live/shim/shim_state.h"
#include "common/random.h"

#include <dlfcn.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <string>

namespace gcoord::chaos {

namespace {

constexpr std::size_t kSectorBytes = 512;

using Journal = std::shared_ptr<UndoJournal>;

ShimState& state() {
  return ShimState::of_process();
}

// Whether the countdown reached its end with this call.
bool is_due(std::atomic<std::uint32_t>& countdown) {
  std::uint32_t left = countdown.load(std::memory_order_relaxed);
  while (left != 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1;
}

int refuse(int error) {
  errno = error;
  return -1;
}

// What fits on a disk that the nemesis has given a size.
std::uint64_t free_bytes(std::uint64_t capacity_bytes) {
  return capacity_bytes - std::min(capacity_bytes, state().used_bytes());
}

// Whether so many bytes more must be refused now; counts it.
bool space_refused(std::uint64_t bytes) {
  ShimControl* control = state().control();
  if (control == nullptr) {
    return false;
  }
  const std::uint64_t capacity = control->capacity_bytes.load(std::memory_order_relaxed);
  const bool gone = control->space_is_gone.load(std::memory_order_relaxed) != 0;
  if (!gone && (capacity == 0 || bytes <= free_bytes(capacity))) {
    return false;
  }
  control->space_refusals.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Some sectors of the write reach the file, in no order; then the process is no more.
[[noreturn]] void tear(
    UndoJournal& journal, int fd, const std::byte* from, std::size_t bytes, off_t at) {
  ShimControl& control = *state().control();
  const std::uint64_t seed = control.tear_seed.load(std::memory_order_relaxed);
  for (std::size_t first = 0; first < bytes; first += kSectorBytes) {
    if ((random64(seed, static_cast<std::uint64_t>(at), first) & 1u) != 0) {
      journal.write(
          fd, from + first, std::min(kSectorBytes, bytes - first), at + static_cast<off_t>(first));
    }
  }
  control.writes_torn.fetch_add(1);
  for (;;) {
    ::kill(::getpid(), SIGKILL);
  }
}

// What was reserved beyond a file's end has its space already.
bool grows(int fd, std::size_t bytes, off_t at) {
  struct stat attributes {};

  if (::fstat(fd, &attributes) != 0) {
    return false;
  }
  const bool appends = at < 0 && (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
  const off_t from = appends ? attributes.st_size : at < 0 ? ::lseek(fd, 0, SEEK_CUR) : at;
  const off_t end = from + static_cast<off_t>(bytes);
  return end > attributes.st_size && end > static_cast<off_t>(attributes.st_blocks) * 512;
}

ssize_t write_file(const Journal& journal, int fd, const void* from, std::size_t bytes, off_t at) {
  ShimControl* control = state().control();
  const auto* first = static_cast<const std::byte*>(from);
  if (control != nullptr) {
    control->writes.fetch_add(1, std::memory_order_relaxed);
    if (grows(fd, bytes, at) && space_refused(bytes)) {
      return refuse(ENOSPC);
    }
    if (at >= 0 && journal->is_log_of_record() && is_due(control->write_tears_in)) {
      tear(*journal, fd, first, bytes, at);
    }
  }
  return journal->write(fd, first, bytes, at);
}

int sync_file(int fd, bool also_attributes) {
  const Journal journal = state().journal(fd);
  ShimControl* control = state().control();
  if (journal != nullptr && control != nullptr) {
    control->syncs.fetch_add(1, std::memory_order_relaxed);
    if (const auto delay_us = control->sync_delay_us.load(std::memory_order_relaxed);
        delay_us != 0) {
      const timespec delay{delay_us / 1'000'000, static_cast<long>(delay_us % 1'000'000) * 1000};
      ::nanosleep(&delay, nullptr);
      control->syncs_delayed.fetch_add(1, std::memory_order_relaxed);
    }
    if (is_due(control->sync_fails_in)) {
      control->syncs_failed.fetch_add(1, std::memory_order_relaxed);
      return refuse(EIO);
    }
  }
  if (journal != nullptr) {
    return journal->sync(fd, also_attributes);
  }
  const int result = also_attributes ? raw::fsync(fd) : raw::fdatasync(fd);
  if (result == 0) {
    state().directory_synced(fd);
  }
  return result;
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  const std::string on_disk = state().on_disk(folder, path);
  if (on_disk.empty() || (flags & O_DIRECTORY) != 0) {
    return raw::openat(folder, path, flags, mode);
  }
  const bool fresh = (flags & O_CREAT) != 0 && ::access(on_disk.c_str(), F_OK) != 0;
  if (fresh) {
    if (space_refused(0)) {
      return refuse(ENOSPC);
    }
    state().changing(DirectoryChange::Create, on_disk);
  }
  // What a truncation takes is remembered like any other change.
  const int fd = raw::openat(folder, path, flags & ~O_TRUNC, mode);
  if (fd < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return fd;
  }
  state().opened(fd, on_disk, fresh);
  if ((flags & O_TRUNC) != 0 && !fresh) {
    if (const Journal journal = state().journal(fd); journal != nullptr) {
      journal->truncate(fd, 0);
    }
  }
  return fd;
}

int reserve_file(int fd, int mode, off_t at, off_t bytes) {
  const Journal journal = state().journal(fd);
  if (journal == nullptr) {
    return raw::fallocate(fd, mode, at, bytes);
  }
  if (space_refused(static_cast<std::uint64_t>(bytes))) {
    return refuse(ENOSPC);
  }
  return mode == 0 ? journal->reserve(fd, at, bytes) : raw::fallocate(fd, mode, at, bytes);
}

int truncate_file(int fd, off_t size) {
  const Journal journal = state().journal(fd);
  return journal == nullptr ? raw::ftruncate(fd, size) : journal->truncate(fd, size);
}

using StatvfsCall = int (*)(int, struct statvfs*);

int tell_space(int fd, struct statvfs* into) {
  static const auto call = reinterpret_cast<StatvfsCall>(::dlsym(RTLD_NEXT, "fstatvfs"));
  const int result = call(fd, into);
  ShimControl* control = state().control();
  const std::uint64_t capacity =
      control == nullptr ? 0 : control->capacity_bytes.load(std::memory_order_relaxed);
  if (result == 0 && capacity != 0 && state().is_directory_of_disk(fd)) {
    into->f_frsize = 1;
    into->f_blocks = capacity;
    into->f_bfree = into->f_bavail = free_bytes(capacity);
  }
  return result;
}

int remove_file(int folder, const char* path, int flags) {
  const std::string on_disk = state().on_disk(folder, path);
  if (!on_disk.empty() && (flags & AT_REMOVEDIR) == 0) {
    state().changing(DirectoryChange::Remove, on_disk);
  }
  return raw::unlinkat(folder, path, flags);
}

int rename_file(int folder, const char* from, int target_folder, const char* to) {
  const std::string source = state().on_disk(folder, from);
  const std::string target = state().on_disk(target_folder, to);
  if (!source.empty() && !target.empty()) {
    state().changing(DirectoryChange::Rename, source, target);
  } else if (state().is_disk(folder, from)) {
    state().disk_put_aside();
  }
  return raw::renameat(folder, from, target_folder, to);
}

int make_folder(int folder, const char* path, mode_t mode) {
  const std::string on_disk = state().on_disk(folder, path);
  if (!on_disk.empty() && ::access(on_disk.c_str(), F_OK) != 0) {
    state().changing(DirectoryChange::Make, on_disk);
  }
  return raw::mkdirat(folder, path, mode);
}

int copy_descriptor(int fd, int copy, int flags) {
  if (fd == copy) {
    return flags == 0 ? copy : refuse(EINVAL);
  }
  state().closing(copy);
  const int made = raw::dup3(fd, copy, flags);
  state().copied(fd, made);
  return made;
}

ssize_t write_any(int fd, const void* from, std::size_t bytes, off_t at) {
  const Journal journal = state().journal(fd);
  if (journal != nullptr) {
    return write_file(journal, fd, from, bytes, at);
  }
  return at < 0 ? raw::write(fd, from, bytes) : raw::pwrite(fd, from, bytes, at);
}

ssize_t write_parts(int fd, const iovec* parts, int count) {
  const Journal journal = state().journal(fd);
  if (journal == nullptr) {
    return ::syscall(SYS_writev, fd, parts, count);
  }
  ssize_t written = 0;
  for (int part = 0; part < count; ++part) {
    const ssize_t now = write_file(journal, fd, parts[part].iov_base, parts[part].iov_len, -1);
    if (now < 0) {
      return written > 0 ? written : now;
    }
    written += now;
  }
  return written;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

}  // namespace gcoord::chaos

// Libc has two names for many calls, of files and of large files, which are one on this machine.
namespace live = gcoord::chaos;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = live::mode_of(flags, arguments);
  va_end(arguments);
  return live::open_file(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = live::mode_of(flags, arguments);
  va_end(arguments);
  return live::open_file(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = live::mode_of(flags, arguments);
  va_end(arguments);
  return live::open_file(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = live::mode_of(flags, arguments);
  va_end(arguments);
  return live::open_file(folder, path, flags, mode);
}

int close(int fd) {
  live::state().closing(fd);
  return live::raw::close(fd);
}

int dup2(int fd, int copy) noexcept {
  return live::copy_descriptor(fd, copy, 0);
}

int dup3(int fd, int copy, int flags) noexcept {
  return live::copy_descriptor(fd, copy, flags);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  return live::write_any(fd, from, bytes, -1);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  return live::write_parts(fd, parts, count);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return live::write_any(fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t at) {
  return live::write_any(fd, from, bytes, at);
}

int fsync(int fd) {
  return live::sync_file(fd, true);
}

int fdatasync(int fd) {
  return live::sync_file(fd, false);
}

int ftruncate(int fd, off_t size) noexcept {
  return live::truncate_file(fd, size);
}

int ftruncate64(int fd, off_t size) noexcept {
  return live::truncate_file(fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t bytes) {
  return live::reserve_file(fd, mode, at, bytes);
}

int fallocate64(int fd, int mode, off_t at, off_t bytes) {
  return live::reserve_file(fd, mode, at, bytes);
}

// Returns the error instead of setting it, as POSIX has it.
int posix_fallocate(int fd, off_t at, off_t bytes) {
  return live::reserve_file(fd, 0, at, bytes) == 0 ? 0 : errno;
}

int posix_fallocate64(int fd, off_t at, off_t bytes) {
  return live::reserve_file(fd, 0, at, bytes) == 0 ? 0 : errno;
}

int fstatvfs(int fd, struct statvfs* into) noexcept {
  return live::tell_space(fd, into);
}

int unlink(const char* path) noexcept {
  return live::remove_file(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return live::remove_file(folder, path, flags);
}

int remove(const char* path) noexcept {
  const int removed = live::remove_file(AT_FDCWD, path, 0);
  return removed == 0 || errno != EISDIR ? removed
                                         : live::remove_file(AT_FDCWD, path, AT_REMOVEDIR);
}

int rename(const char* from, const char* to) noexcept {
  return live::rename_file(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int folder, const char* from, int target_folder, const char* to) noexcept {
  return live::rename_file(folder, from, target_folder, to);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return live::make_folder(AT_FDCWD, path, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return live::make_folder(folder, path, mode);
}

}  // extern "C"
