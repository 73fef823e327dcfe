// Follower of the signed part of the cluster log, by which the table of heads learns what a
// majority has signed.
//
// A leaf is in the log before anybody has signed it, and may stay so for long while a majority is
// away. Who lets go of a shard's entries asks what is signed, since a proof leads from such a head
// to later ones only while the entries behind it are kept. One thread.
#pragma once

#include "common/status.h"
#include "ledger/heads/published_heads.h"
#include "ledger/merkle/tree_reader.h"

#include <cstdint>

namespace gcoord::server {

class SignedLeaves {
 public:
  // Of a log that is signed already when it begins, the newest `scanned_max` leaves are read.
  explicit SignedLeaves(std::uint64_t scanned_max) : scanned_max_(scanned_max) {}

  // Tells `heads` of a bounded number of leaves below `signed_size`, which the log has. Whether
  // there are more. Failures: the log's, which are final.
  Result<bool> advance(const ledger::TreeReader& log,
                       std::uint64_t signed_size,
                       PublishedHeads& heads);

 private:
  const std::uint64_t scanned_max_;
  std::uint64_t next_ = 0;  // Leaves below it were told, or are not to be.
};

}  // namespace gcoord::server
