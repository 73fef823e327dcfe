#include "chaos/live/shim/undo_journal.h"

#include "chaos/live/shim/raw_calls.h"

#include <algorithm>
#include <cerrno>

namespace gcoord::chaos {

namespace {

std::uint64_t size_of(int fd) {
  struct stat attributes {};

  return ::fstat(fd, &attributes) == 0 ? static_cast<std::uint64_t>(attributes.st_size) : 0;
}

}  // namespace

UndoJournal::UndoJournal(const std::string& folder, int file_fd, bool fresh, bool log_of_record)
    : log_of_record_(log_of_record) {
  struct stat attributes {};

  ::fstat(file_fd, &attributes);
  const std::string path = folder + "/" + std::to_string(attributes.st_ino) + kUndoSuffix;
  const std::string self = "/proc/self/fd/" + std::to_string(file_fd);
  old_fd_ = raw::openat(AT_FDCWD, self.c_str(), O_RDONLY | O_CLOEXEC, 0);
  const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_TRUNC : 0);
  fd_ = raw::openat(AT_FDCWD, path.c_str(), flags, 0600);
  if (size_of(fd_) < sizeof(UndoHeader)) {
    const UndoHeader header;
    raw::pwrite(fd_, &header, sizeof(header), 0);
  } else {
    UndoHeader header;
    raw::pread(fd_, &header, sizeof(header), 0);
    first_ = header.first;
    find_end();
  }
}

UndoJournal::~UndoJournal() {
  raw::close(fd_);
  raw::close(old_fd_);
}

// A process that was killed may have left half a record.
void UndoJournal::find_end() {
  const std::uint64_t size = size_of(fd_);
  UndoRecord record;
  while (end_ + sizeof(record) <= size) {
    raw::pread(fd_, &record, sizeof(record), static_cast<off_t>(end_));
    const std::uint64_t kept = record.kind == UndoKind::Bytes ? record.bytes : 0;
    if (record.magic != kUndoMagic || end_ + sizeof(record) + kept > size) {
      break;
    }
    end_ += sizeof(record) + kept;
  }
  raw::ftruncate(fd_, static_cast<off_t>(end_));
}

void UndoJournal::remember(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t size = size_of(fd);
  const std::uint64_t until = std::min(size, offset + bytes);
  UndoRecord record{
      .offset = offset, .bytes = until > offset ? until - offset : 0, .old_size = size};
  old_.resize(sizeof(record) + record.bytes);
  raw::pread(old_fd_, old_.data() + sizeof(record), record.bytes, static_cast<off_t>(offset));
  const auto old = old_.begin() + sizeof(record);
  const bool zeros = std::all_of(old, old_.end(), [](std::byte b) { return b == std::byte{0}; });
  record.kind = zeros ? UndoKind::Zeros : UndoKind::Bytes;
  std::copy_n(reinterpret_cast<const std::byte*>(&record), sizeof(record), old_.begin());
  const std::size_t kept = zeros ? sizeof(record) : old_.size();
  raw::pwrite(fd_, old_.data(), kept, static_cast<off_t>(end_));
  end_ += kept;
}

ssize_t UndoJournal::write(int fd, const std::byte* from, std::size_t bytes, off_t at) {
  const std::lock_guard lock{mutex_};
  off_t where = at;
  if (at < 0) {
    const bool appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    where = appends ? static_cast<off_t>(size_of(fd)) : ::lseek(fd, 0, SEEK_CUR);
  }
  remember(fd, static_cast<std::uint64_t>(where), bytes);
  return at < 0 ? raw::write(fd, from, bytes) : raw::pwrite(fd, from, bytes, at);
}

int UndoJournal::truncate(int fd, off_t size) {
  const std::lock_guard lock{mutex_};
  const std::uint64_t old_size = size_of(fd);
  const auto kept = static_cast<std::uint64_t>(size);
  remember(fd, kept, old_size > kept ? old_size - kept : 0);
  return raw::ftruncate(fd, size);
}

int UndoJournal::reserve(int fd, off_t at, off_t bytes) {
  const std::lock_guard lock{mutex_};
  remember(fd, size_of(fd), 0);
  return raw::fallocate(fd, 0, at, bytes);
}

int UndoJournal::sync(int fd, bool also_attributes) {
  std::uint64_t covered = 0;
  std::uint64_t emptied = 0;
  {
    const std::lock_guard lock{mutex_};
    covered = end_;
    emptied = emptied_;
  }
  if (const int failed = also_attributes ? raw::fsync(fd) : raw::fdatasync(fd); failed != 0) {
    return failed;
  }
  const std::lock_guard lock{mutex_};
  if (emptied != emptied_) {
    return 0;  // Another sync covered all of this one.
  }
  UndoHeader header;
  if (end_ == covered) {
    raw::pwrite(fd_, &header, sizeof(header), 0);
    raw::ftruncate(fd_, sizeof(header));
    first_ = end_ = sizeof(header);
    ++emptied_;
  } else if (covered > first_) {
    header.first = first_ = covered;
    raw::pwrite(fd_, &header, sizeof(header), 0);
  }
  return 0;
}

}  // namespace gcoord::chaos
