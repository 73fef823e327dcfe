// This node's copy of the cluster log: its leaves come from the entries of shard 0 or, where these
// were skipped by a snapshot, from other nodes with a proof.
//
// The copy is trusted up to the size at which its root was the ordered one. Where the others have
// pruned the leaves that are missing here, the copy begins anew where theirs do. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/notes/cluster_horizon.h"
#include "ledger/notes/shard_head.h"
#include "ledger/publication/head_audit.h"
#include "ledger/publication/log_signing.h"
#include "ledger/publication/publication_base.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::server {

class ClusterLogCopy {
 public:
  // Leaves that are read at start; heads of shards that are not among them are published again.
  static constexpr std::uint64_t kScannedMax = std::uint64_t{4} << 20;

  // All outlive it.
  ClusterLogCopy(PublicationBase& base, HeadAudit& audit, LogSigning& signing)
      : base_(base), audit_(audit), signing_(signing) {}

  // Once, before anything else: reads the newest leaves.
  Status start();

  // False: the publication has failed.
  bool append(std::span<const ledger::ShardHead> leaves);

  // Requests missing leaves, and compares the copy with the order.
  void advance();

  // Leaves that are known to be the ordered ones.
  std::uint64_t trusted() const { return trusted_; }

  // Messages. False: dropped.
  bool on(NodeId from, const LeavesQuery& message);
  bool on(const LeavesMessage& message);
  bool on(const BeginMessage& message);

 private:
  void fetch();
  void trust();
  void send_horizon(NodeId to, std::uint64_t target);
  void begin_at(const ledger::ClusterHorizon& horizon);

  PublicationBase& base_;
  HeadAudit& audit_;
  LogSigning& signing_;
  std::uint64_t trusted_ = 0;
  std::size_t peer_ = 0;  // Asked for leaves last.
  std::uint64_t fetch_ms_ = 0;
  std::size_t horizons_heard_ = 0;  // Since leaves came.
};

}  // namespace gcoord::server
