// The place that a new data directory takes from an old one, and what a process that died on the
// way leaves beside it.
//
//   DIR.force-snapshot  what the old directory holds, while the new one is made of it
//   DIR.force-making    the new directory, not complete; of no use to anybody
//   DIR.force-ready     the new one, complete; from the exchange on, the old one
//   DIR.before-force-N  the old one, kept; N is the new cluster's id
//
// The exchange is one step of the file system (renameat2 with RENAME_EXCHANGE), so DIR is the old
// directory or the new one at every moment. Which of the two DIR.force-ready is, the directories
// say themselves: the new one names the old one's cluster (ledger/directory/former_file.h). One
// thread; the caller has the lock of DIR.
#pragma once

#include "common/ids.h"
#include "common/status.h"

#include <optional>
#include <string>

namespace gcoord::server {

class DirectorySwap {
 public:
  // `directory`: behind links.
  explicit DirectorySwap(const std::string& directory);

  std::string snapshot() const { return directory_ + ".force-snapshot"; }

  std::string making() const { return directory_ + ".force-making"; }

  std::string ready() const { return directory_ + ".force-ready"; }

  std::string kept(ClusterId cluster) const;

  // Ends what a process that died has begun: removes what is of no use and, after an exchange,
  // keeps the old directory under its name, which is returned. Failures: ForceBlocked where
  // something else has one of the names, the disk's.
  Result<std::optional<std::string>> settle();

  // The new directory, in making(), is complete and durable.
  Status complete();

  // ready() becomes the directory, and the directory ready(). ForceBlocked where the file system
  // cannot do that; the directory is the old one then.
  Status exchange();

  // Keeps the old directory, after the exchange, for a cluster that is now `cluster`; returns
  // where.
  Result<std::string> keep(ClusterId cluster);

 private:
  Status sync_parent() const;
  Status move(const std::string& from, const std::string& to) const;

  std::string directory_;
};

}  // namespace gcoord::server
