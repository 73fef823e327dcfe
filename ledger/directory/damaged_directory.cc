#include "ledger/directory/damaged_directory.h"

#include "common/assert.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/directory/real_directory.h"
#include "ledger/disk/posix_disk.h"
#include "ledger/space/guard.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

namespace gcoord::ledger {
namespace {

Status check_free(const std::string& path) {
  if (!is_taken(path)) {
    return Status{};
  }
  return Status{
      StatusCode::FailedPrecondition,
      "the data directory is damaged again, and the previously moved directory is still at " +
          path + "; replace the disk, or remove that directory after inspection",
      kDirectoryDamagedTwice};
}

Status move_aside(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return Status{StatusCode::Unavailable,
                  "the damaged data directory " + from + " cannot be moved to " + to + ": " +
                      std::strerror(errno) + "; empty it by hand and start the node again",
                  kDirectoryUnusable};
  }
  const std::string parent = std::filesystem::path(to).parent_path().string();
  GCOORD_TRY(const auto disk, PosixDisk::open_directory(parent.empty() ? "." : parent));
  return disk->sync_directory();
}

// None if it cannot be read: then the peers know better.
std::unique_ptr<IdentityFile> readable_identity(Disk& disk) {
  auto identity = IdentityFile::read(disk);
  return identity.ok() ? std::move(identity.value()) : nullptr;
}

// Whether the directory at `path` is one that was made in place of `old` and has not become its
// successor yet.
Result<bool> awaits_succession(const std::string& path, const IdentityFile& old) {
  GCOORD_TRY(const auto disk, PosixDisk::open_directory(path));
  GCOORD_TRY(const bool begun, disk->exists("wal"));
  const std::unique_ptr<IdentityFile> fresh = readable_identity(*disk);
  if (fresh == nullptr) {
    return !begun && !is_taken(path + "/identity");
  }
  return !fresh->established() && !fresh->rejoining() &&
         fresh->directory_id() != old.directory_id() &&
         generation_of(fresh->incarnation()) <= generation_of(old.incarnation());
}

}  // namespace

std::string damaged_path(const std::string& directory) {
  return without_slash(directory) + ".damaged";
}

Status replace_damaged(const DataDirectoryOptions& options) {
  GCOORD_ASSERT(options.random_id != 0);
  const std::string path = without_slash(options.path);
  GCOORD_TRY_STATUS(check_free(damaged_path(path)));
  std::unique_ptr<PosixDisk> old_disk;
  GCOORD_TRY(old_disk, PosixDisk::open_directory(path));
  // Held while it moves, so that no other process finds half of it.
  GCOORD_TRY(const auto lock, DirectoryLock::take(path));
  const std::unique_ptr<IdentityFile> old = readable_identity(*old_disk);
  GCOORD_TRY_STATUS(old_disk->remove(kReserveName));  // Evidence of nothing, and large.
  GCOORD_TRY_STATUS(move_aside(path, damaged_path(path)));
  GCOORD_TRY(const auto fresh, DataDirectory::open(options));
  return old == nullptr ? Status{} : fresh->identity().succeed(*old, options.random_id);
}

Status resume_replacement(const DataDirectoryOptions& options) {
  const std::string path = without_slash(options.path);
  if (!is_taken(damaged_path(path))) {
    return Status{};
  }
  GCOORD_TRY(const auto old_disk, PosixDisk::open_directory(damaged_path(path)));
  const std::unique_ptr<IdentityFile> old = readable_identity(*old_disk);
  const bool same_node = old != nullptr && old->identity().node == options.identity.node &&
                         old->identity().cluster == options.identity.cluster;
  if (!same_node) {
    return Status{};
  }
  GCOORD_TRY(const bool awaits, awaits_succession(path, *old));
  if (!awaits) {
    return Status{};
  }
  GCOORD_TRY(const auto fresh, DataDirectory::open(options));
  return fresh->identity().succeed(*old, options.random_id);
}

}  // namespace gcoord::ledger
