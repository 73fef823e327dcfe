// The directory in which a node keeps everything that must outlive it.
//
//   DIR/LOCK         held (flock) for the life of the process; names its process id
//   DIR/identity     who the directory belongs to (identity_file.h)
//   DIR/former       the cluster whose place its one took, if it did (former_file.h)
//   DIR/wal/         segments of the log of record (wal.h)
//   DIR/checkpoint/  the checkpoint store (checkpoint_store.h)
//   DIR/reserve      space that nobody else shall take (guard.h)
//   DIR/turn-N.sock  while a resident node waits for node N (socket_folder.h)
//
// open() refuses, with a message that says what to do: a directory in use (kDirectoryLocked), one
// that others than its owner may enter (kDirectoryPermissions), and one of another cluster, node or
// shard count; one that holds a log but no identity (kDirectoryIdentity); and one that a restore
// was to fill and did not (kRestoreUnfinished): it gives a directory its identity last. The lock
// goes with the process, also after kill -9. One thread at a time.
#pragma once

#include "common/status.h"
#include "ledger/directory/identity_file.h"
#include "ledger/disk/disk.h"
#include "ledger/space/guard.h"
#include "ledger/wal/options.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace gcoord::ledger {

struct DataDirectoryOptions {
  std::string path;
  NodeIdentity identity;
  // Drawn by the caller for each open, used when the directory is created; not 0.
  std::uint64_t random_id = 0;
  // Called when the directory is locked and complete, before the incarnation rises: what else can
  // refuse the start. Its failure is that of open(), and uses up no incarnation. May be empty.
  std::function<Status()> before_start = {};
  // Opened with the directory, before anything is written there; outlives it. nullptr: nobody
  // guards the directory's space.
  SpaceGuard* space = nullptr;
};

// Makes the directory (mode 0700) where it is absent. kDirectoryUnusable for a path that cannot be
// a directory of this user: a mistake in an option, and no failure of the disk.
Status make_data_directory(const std::string& path);

// The lock on a directory, held for the life of the object.
class DirectoryLock {
 public:
  // FailedPrecondition with kDirectoryLocked names the process that holds it.
  static Result<std::unique_ptr<DirectoryLock>> take(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int lock_fd) : lock_fd_(lock_fd) {}

  int lock_fd_;
};

class DataDirectory {
 public:
  // Creates the directory (mode 0700) when there is none; its parent exists. A link is refused
  // (kDirectoryUnusable): the caller has resolved it (real_directory.h).
  static Result<std::unique_ptr<DataDirectory>> open(const DataDirectoryOptions& options);

  // True when no log was ever opened here: the node has no promises to keep yet. Stays what it was
  // at open for the life of the object.
  bool created() const { return created_; }

  // For Wal::open: creating a log is right only in a directory that never had one.
  WalAbsence wal_absence() const { return created_ ? WalAbsence::Create : WalAbsence::Refuse; }

  // To be called when Wal::open succeeded, before the node promises anything; durable on return.
  Status mark_in_use() { return identity_->mark_in_use(); }

  std::uint64_t directory_id() const { return identity_->directory_id(); }

  Incarnation incarnation() const { return identity_->incarnation(); }

  // Peers that were met before; remember_peer is durable when it returns ok.
  IdentityFile& identity() { return *identity_; }

  // The disk of the log of record, DIR/wal.
  Disk& wal_disk() { return *wal_disk_; }

  std::string checkpoint_path() const { return path_ + "/checkpoint"; }

 private:
  explicit DataDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<DirectoryLock> lock_;
  bool created_ = false;
  std::unique_ptr<Disk> root_disk_;
  std::unique_ptr<Disk> wal_disk_;
  std::unique_ptr<IdentityFile> identity_;
};

}  // namespace gcoord::ledger
