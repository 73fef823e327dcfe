#include "server/force/swap.h"

#include "ledger/directory/former_file.h"
#include "ledger/directory/identity_file.h"
#include "ledger/directory/real_directory.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace gcoord::server {
namespace {

Status blocked(const std::string& why) {
  return protocol::make_error(protocol::ErrorCode::ForceBlocked, why);
}

Status remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? blocked(path + " cannot be removed: " + error.message() + "; remove it")
               : Status{};
}

// What a directory says of itself.
struct Owner {
  ledger::NodeIdentity identity;
  std::optional<ledger::FormerCluster> former;

  bool follows(const Owner& other) const {
    return former && former->cluster == other.identity.cluster &&
           identity.node == other.identity.node;
  }
};

Result<Owner> read_owner(const std::string& path) {
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(path));
  GCOORD_TRY(const auto identity, ledger::IdentityFile::read(*disk));
  Owner owner{.identity = identity->identity(), .former = {}};
  GCOORD_TRY(owner.former, ledger::read_former(*disk));
  return owner;
}

// Nothing for what is no directory of a node.
std::optional<Owner> owner_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return std::nullopt;
  }
  auto owner = read_owner(path);
  return owner.ok() ? std::optional(std::move(owner).value()) : std::nullopt;
}

}  // namespace

DirectorySwap::DirectorySwap(const std::string& directory)
    : directory_(ledger::without_slash(directory)) {}

std::string DirectorySwap::kept(ClusterId cluster) const {
  return directory_ + ".before-force-" + std::to_string(cluster.value);
}

Result<std::optional<std::string>> DirectorySwap::settle() {
  std::optional<std::string> kept_now;
  if (ledger::is_taken(ready())) {
    const auto self = owner_of(directory_);
    const auto other = owner_of(ready());
    if (self && other && other->follows(*self)) {
      GCOORD_TRY_STATUS(remove_tree(ready()));
    } else if (self && other && self->follows(*other)) {
      GCOORD_TRY(kept_now, keep(self->identity.cluster));
    } else {
      return blocked(ready() + " is neither the directory before nor after this one; move it away");
    }
  }
  GCOORD_TRY_STATUS(remove_tree(making()));
  GCOORD_TRY_STATUS(remove_tree(snapshot()));
  GCOORD_TRY_STATUS(remove_tree(snapshot() + ".part"));
  return kept_now;
}

Status DirectorySwap::complete() {
  return move(making(), ready());
}

Status DirectorySwap::exchange() {
  if (::renameat2(AT_FDCWD, ready().c_str(), AT_FDCWD, directory_.c_str(), RENAME_EXCHANGE) == 0) {
    return sync_parent();
  }
  const int error = errno;
  const bool mounted = error == EBUSY || error == EXDEV;
  return blocked(directory_ + " cannot be exchanged for " + ready() + ": " + std::strerror(error) +
                 (mounted ? "; a mount point cannot be moved: copy the directory into a folder of "
                            "that file system, and name the copy"
                          : "; copy the directory to a file system that can exchange directories, "
                            "as ext4, xfs and btrfs can, and name the copy"));
}

Result<std::string> DirectorySwap::keep(ClusterId cluster) {
  const std::string path = kept(cluster);
  if (ledger::is_taken(path)) {
    return blocked(path + " exists already; move it away");
  }
  GCOORD_TRY_STATUS(move(ready(), path));
  return path;
}

Status DirectorySwap::move(const std::string& from, const std::string& to) const {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return blocked(from + " cannot be moved to " + to + ": " + std::strerror(errno));
  }
  return sync_parent();
}

Status DirectorySwap::sync_parent() const {
  const std::string parent = std::filesystem::path(directory_).parent_path().string();
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(parent.empty() ? "." : parent));
  return disk->sync_directory();
}

}  // namespace gcoord::server
