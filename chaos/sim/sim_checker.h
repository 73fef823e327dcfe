// The judge of a simulated run: what Raft promises, checked against everything that every node ever
// did.
//
// consensus/scenario/raft_history.h states I1, I2, I4, I5 and I6, with digests of logs for
// contents, I9 for read rounds and I12 (docs/internals/faults.md has the numbers). A row asserts I3
// and I7 itself after each step. The first violation is kept; later ones are consequences.
#pragma once

#include "chaos/sim/sim_entry.h"
#include "consensus/scenario/raft_history.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::chaos {

class SimChecker {
 public:
  using RaftLeader = consensus::scenario::RaftLeader;
  using RaftVote = consensus::scenario::RaftVote;

  explicit SimChecker(std::uint32_t shard_count) : shards_(shard_count) {}

  bool violated() const { return !violation_.empty(); }

  const std::string& violation() const { return violation_; }

  void report(const std::string& invariant, std::uint32_t shard, const std::string& what);

  // A node was elected. Returns up to where its log must hold what is decided: everything that was
  // known to be decided in an earlier term (I1, I5). A leader of an old term that learns late of
  // its election owes nothing to later ones.
  LogIndex on_elected(std::uint32_t shard, RaftLeader leader, LogIndex last);
  void on_leader_entry(std::uint32_t shard, RaftLeader leader, LogIndex index, std::uint64_t chain);

  // A granted vote left a node (I2).
  void on_vote_sent(std::uint32_t shard, const RaftVote& vote);

  // An entry came into a log (I4).
  void on_entry(std::uint32_t shard, LogIndex index, const SimEntry& entry);

  // A node in `term` knows that everything up to `index` is decided.
  void on_commit(std::uint32_t shard, LogIndex index, Term term);

  // A node applied the entry at `index` (I6).
  void on_apply(std::uint32_t shard, NodeId node, LogIndex index, std::uint64_t chain);

  // All nodes that hold the lease at one moment (I12).
  void on_leases(std::uint32_t shard, std::span<const consensus::scenario::LeaseHolder> holders);

  // A read round may answer (I9's precondition).
  void on_read(std::uint32_t shard, const consensus::scenario::AnsweredRead& read);

  // Newest decided index that any node ever knew.
  LogIndex committed(std::uint32_t shard) const { return shards_[shard].committed(); }

  // Indexes of all shards that any node applied.
  std::uint64_t applied_total() const;

  std::uint64_t elections() const { return elections_; }

 private:
  void judge(std::uint32_t shard, const std::optional<consensus::scenario::RaftBreach>& breach);

  std::vector<consensus::scenario::RaftHistory> shards_;
  std::string violation_;
  std::uint64_t elections_ = 0;
};

}  // namespace gcoord::chaos
