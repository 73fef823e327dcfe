// State of the shim in this process: its control block and the descriptors on the faulty disk.
// Found from the environment at first use; without it everything passes untouched. Thread-safe.
#pragma once

#include "chaos/live/shim/shim_control.h"
#include "chaos/live/shim/undo_format.h"
#include "chaos/live/shim/undo_journal.h"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace gcoord::chaos {

class ShimState {
 public:
  static ShimState& of_process();

  // nullptr without a nemesis.
  ShimControl* control() const { return control_; }

  // The file of a descriptor on the faulty disk, else nullptr.
  std::shared_ptr<UndoJournal> journal(int fd);

  // The absolute path if it lies on the faulty disk, else empty.
  std::string on_disk(int folder, const char* path) const;

  // Whether the path is the faulty disk itself.
  bool is_disk(int folder, const char* path) const;

  // Whether the descriptor is of the faulty disk, or of a directory there.
  bool is_directory_of_disk(int fd) const;

  // Of all files there.
  std::uint64_t used_bytes() const;

  // After the system opened `fd`; `fresh`: it did not exist before.
  void opened(int fd, const std::string& path, bool fresh);
  void closing(int fd);
  // After the system made `copy` another descriptor of the same file.
  void copied(int fd, int copy);

  // Before the change. A grave is made where a file would go.
  void changing(DirectoryChange change, const std::string& path, const std::string& target = {});
  // Before another directory takes the disk's place: names that the old one owes are not to be
  // taken from the new one.
  void disk_put_aside();
  // After a directory was synced.
  void directory_synced(int fd);

 private:
  ShimState();

  static std::string absolute(int folder, const char* path);
  std::uint64_t bury(const std::string& path);
  void append(DirectoryRecord record, std::string_view path, std::string_view target);

  static constexpr int kDescriptorsMax = 1 << 16;

  ShimControl* control_ = nullptr;
  std::string disk_;
  std::string undo_;
  std::unique_ptr<std::atomic<bool>[]> tracked_;  // By descriptor; quick to ask for sockets.
  std::mutex mutex_;
  std::map<int, std::shared_ptr<UndoJournal>> journals_;  // By descriptor.
  std::map<ino_t, std::weak_ptr<UndoJournal>> journal_of_inode_;
  std::uint64_t graves_ = 0;
  int directories_fd_ = -1;
};

}  // namespace gcoord::chaos
