// Identity of a data directory, and the directories of peers that its node has met.
//
// One small file, `identity`, replaced atomically and checksummed. The directory id is drawn once
// when the file is created and never changes, so a directory that was wiped and made anew is told
// from the old one; the incarnation rises by one, durably, on every open, so an old image that
// comes back is told from its successor. A directory that takes the place of one that its node has
// lost gets the next generation (common/incarnation.h, docs/adr/0025). Works on any Disk. What is
// marked or remembered and cannot be written does not hold here either; where the disk is full
// (ResourceExhausted), it may be tried again. One thread at a time.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/disk/disk.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::ledger {

// A directory that was restored from a snapshot counts its starts on from above this number, and
// from as many above the newest start that the snapshot knew of (docs/adr/0035): for starts between
// the save and the loss. No other directory reaches it before all nodes of its cluster have met.
inline constexpr std::uint32_t kRestoredStart = 1u << 12;

// What the operator says this node is; checked against the file.
struct NodeIdentity {
  ClusterId cluster;
  NodeId node;
  std::uint32_t shard_count = 0;
  // False in memory mode: no log of record is written, and promises end with the process.
  bool keeps_log = true;
};

// The directory that a peer node was last known to use. A handshake refuses a peer with another
// directory id (its disk was replaced), or with a lower incarnation or a shorter log (an old image
// came back).
struct PeerIdentity {
  NodeId node;
  std::uint64_t directory_id = 0;
  Incarnation incarnation;    // The highest one ever met.
  std::uint64_t durable = 0;  // How far its log was last known to reach: lsn.
  // The number that this incarnation drew at its start; 0: not known. Two processes that claim one
  // incarnation ran on copies of one directory.
  std::uint64_t life = 0;

  friend bool operator==(const PeerIdentity& a, const PeerIdentity& b) = default;
};

class IdentityFile {
 public:
  // Opens or creates the file, and makes the next incarnation durable. random_id is used only when
  // the file is created: any number no other directory has; not 0. Failures: FailedPrecondition
  // with kDirectoryCluster, kDirectoryNode, kDirectoryShardCount, kDirectoryDurability or
  // kDirectoryFormat, DataLoss with kDirectoryIdentity, and the disk's own.
  static Result<std::unique_ptr<IdentityFile>> open(Disk& disk,
                                                    const NodeIdentity& expected,
                                                    std::uint64_t random_id);

  // Makes the file of a directory that is restored before its node's first start; the incarnations
  // of that node follow `before`. Durable on return. Failures: the disk's own.
  static Status create(Disk& disk,
                       const NodeIdentity& identity,
                       std::uint64_t random_id,
                       Incarnation before);

  // What an existing file says; no new incarnation. Failures: DataLoss with kDirectoryIdentity,
  // FailedPrecondition with kDirectoryFormat, the disk's own.
  static Result<std::unique_ptr<IdentityFile>> read(Disk& disk);

  const NodeIdentity& identity() const { return identity_; }

  std::uint64_t directory_id() const { return directory_id_; }

  // At least 1.
  Incarnation incarnation() const { return incarnation_; }

  // Whether a log of record was ever opened here. Until mark_in_use() is durable the node has made
  // no promise, and an empty log is as it should be; from then on a missing log is a loss.
  bool in_use() const { return in_use_; }

  Status mark_in_use();

  // Whether every node of the cluster has admitted this directory once. Before that, a directory
  // that replaces a lost one looks like one of a new cluster, and its node must not vote.
  bool established() const { return established_; }

  Status mark_established();

  // Makes this the directory that follows every one that is known of: the next generation after
  // `known`, the highest incarnation that a peer has met, and after its own; established, because
  // the cluster has decided without it, and rejoining. Durable on return; counts from the next
  // open. random_id as for open. Failures: FailedPrecondition with kDirectoryUsedUp, the disk's.
  Status take_over(Incarnation known, std::uint64_t random_id);

  // Makes this directory the next generation of itself, at once: some of what it keeps is to be
  // taken from the others again, and counts as forgotten with its promises; the rest counts as
  // before. Durable on return; before anything is said to a peer. random_id as for open. Failures:
  // FailedPrecondition with kDirectoryUsedUp, the disk's.
  Status begin_generation(std::uint64_t random_id);

  // The same for a new directory whose predecessor on this disk is damaged but could be read: its
  // peers are remembered, and whether its ledger is bounded.
  Status succeed(const IdentityFile& damaged, std::uint64_t random_id);

  // Whether the directory was made by create(): it holds what was decided before its first start.
  bool restored() const { return restored_; }

  // Whether the ledger in this directory is bounded unless an operator says otherwise. Directories
  // of releases before, and those that take their place (succeed), are not, for ever: nobody has
  // agreed that their node deletes any of it.
  bool ledger_bounded() const { return ledger_bounded_; }

  // Whether this node may have forgotten what it promised from an earlier directory, in some shard.
  bool rejoining() const { return rejoining_; }

  // It has been re-admitted everywhere; durable on return.
  Status mark_rejoined();

  // Notes a peer's directory, durably, before the caller relies on it. Replaces what was known of
  // the node; the caller has decided that it may. No write when nothing changed.
  Status remember_peer(const PeerIdentity& peer);

  // The same for all peers at once: the present list with news in it.
  Status remember_peers(const std::vector<PeerIdentity>& peers);

  // Ascending by node.
  const std::vector<PeerIdentity>& peers() const { return peers_; }

 private:
  explicit IdentityFile(Disk& disk) : disk_(disk) {}

  Status read_file();
  Status decode(std::span<const std::byte> bytes);
  Status check(const NodeIdentity& expected) const;
  Status rise_above(Incarnation known, std::uint64_t random_id);
  template <typename T>
  Status change(T& member, T value);
  Status persist();

  Disk& disk_;
  NodeIdentity identity_;
  std::uint64_t directory_id_ = 0;
  Incarnation incarnation_;
  bool in_use_ = false;
  bool established_ = false;
  bool rejoining_ = false;
  bool restored_ = false;
  bool ledger_bounded_ = false;
  std::vector<PeerIdentity> peers_;
};

}  // namespace gcoord::ledger
