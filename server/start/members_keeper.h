// The members that a running node goes by, kept in its data directory before they count.
//
// What the log of shard 0 says may be older than what the directory has, for a moment after a
// start: the newest view counts, and majorities are asked of the older voters, too. Addresses are
// those by which this node reaches the others (address_hints.h). One thread.
#pragma once

#include "common/status.h"
#include "ledger/disk/disk.h"
#include "server/interfaces/cluster_members.h"
#include "server/start/address_hints.h"
#include "server/start/kept_members.h"
#include "server/start/node_start.h"

#include <vector>

namespace gcoord::server {

class MembersKeeper {
 public:
  // `disk`: the data directory; outlives it. `start`: of that directory.
  MembersKeeper(ledger::Disk& disk, const NodeStart& start);

  // What the node goes by, with the addresses that count here; epoch 0 before view 1.
  const ClusterMembers& members() const { return members_; }

  // The log says this of the members; with epoch 0 it says nothing. Whether the node goes by
  // something else from here on, which is durable then; on a full disk it counts all the same, and
  // is kept when there is space. Failures: those of write_kept_members.
  Result<bool> take(const ClusterMembers& said);

  // This node has left, by a view that it goes by. Failures: the same.
  Status mark_removed();

  // The epoch up to which the directory has them.
  std::uint64_t kept_epoch() const { return kept_epoch_; }

  // Whether something is to be written yet; retry() tries again. Failures: the same.
  bool unkept() const { return unkept_; }

  Status retry();

 private:
  Status keep();
  void settle_addresses();

  ledger::Disk& disk_;
  std::vector<PeerHint> given_;
  KeptMembers kept_;
  AddressHints hints_;
  ClusterMembers members_;
  bool unkept_;
  std::uint64_t kept_epoch_;
};

}  // namespace gcoord::server
