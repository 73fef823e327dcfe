// Remembers what a file was before each write, until it is synced. The shim's; see undo_format.h.
//
// One object per file that is open, shared by all its descriptors. Thread-safe: a change of the
// file and its record happen under one lock, so a sync never covers half of the two. Functions that
// change the file return what the system call did.
#pragma once

#include "chaos/live/shim/undo_format.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::chaos {

class UndoJournal {
 public:
  // Of the file that `file_fd` has open. `fresh`: it was just created, whatever a file of its inode
  // once was. `log_of_record` is for those who ask.
  UndoJournal(const std::string& folder, int file_fd, bool fresh, bool log_of_record);
  ~UndoJournal();
  UndoJournal(const UndoJournal&) = delete;
  UndoJournal& operator=(const UndoJournal&) = delete;

  // Writes [at, at + bytes); at < 0: at the descriptor's own place.
  ssize_t write(int fd, const std::byte* from, std::size_t bytes, off_t at);
  int truncate(int fd, off_t size);
  // Makes the file at least so long, as fallocate without flags does.
  int reserve(int fd, off_t at, off_t bytes);
  int sync(int fd, bool also_attributes);

  bool is_log_of_record() const { return log_of_record_; }

 private:
  void find_end();
  void remember(int fd, std::uint64_t offset, std::uint64_t bytes);

  std::mutex mutex_;
  int fd_ = -1;
  int old_fd_ = -1;  // The file itself, for reading: those of its user may be for writing only.
  std::uint64_t first_ = sizeof(UndoHeader);
  std::uint64_t end_ = sizeof(UndoHeader);
  std::uint64_t emptied_ = 0;  // How often nothing was left that is not durable.
  bool log_of_record_;
  std::vector<std::byte> old_;  // Kept warm.
};

}  // namespace gcoord::chaos
