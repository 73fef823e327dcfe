// The judge of a simulated run: what Raft promises, checked against everything that every node ever
// did.
//
// The numbers are those of docs/internals/faults.md: I1 Election Safety, I2 One Vote, I4 Log
// Matching, I5 Leader Completeness, I6 State Machine Safety, I7 monotone, I12 leases. The first
// violation is kept; later ones are consequences.
#pragma once

#include "chaos/sim/sim_entry.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace gcoord::chaos {

class SimChecker {
 public:
  explicit SimChecker(std::uint32_t shard_count) : shards_(shard_count) {}

  bool violated() const { return !violation_.empty(); }

  const std::string& violation() const { return violation_; }

  void report(const std::string& invariant, std::uint32_t shard, const std::string& what);

  // A node was elected. Returns up to where its log must hold what is decided: everything that was
  // known to be decided in an earlier term (I1, I5). A leader of an old term that learns late of
  // its election owes nothing to later ones.
  LogIndex on_elected(std::uint32_t shard, NodeId node, Term term, LogIndex last);
  void on_leader_entry(std::uint32_t shard, LogIndex index, std::uint64_t chain);

  // A granted vote left a node (I2). `life` tells voters of one node apart that share no memory.
  void on_vote_sent(
      std::uint32_t shard, NodeId voter, Incarnation life, Term term, NodeId candidate);

  // An entry came into a log (I4).
  void on_entry(std::uint32_t shard, LogIndex index, const SimEntry& entry);

  // A node in `term` knows that everything up to `index` is decided.
  void on_commit(std::uint32_t shard, LogIndex index, Term term);

  // A node applied the entry at `index` (I6).
  void on_apply(std::uint32_t shard, LogIndex index, std::uint64_t chain);

  // At one moment, `holders` nodes hold a lease; the holder knows `commit` (I12).
  void on_leases(std::uint32_t shard, std::uint32_t holders, LogIndex commit);

  // A read round that was opened when `committed_then` was decided may answer at read_index (I9's
  // precondition).
  void on_read(std::uint32_t shard, LogIndex read_index, LogIndex committed_then);

  // Newest decided index that any node ever knew.
  LogIndex committed(std::uint32_t shard) const { return shards_[shard].committed; }

  std::uint64_t applied_total() const { return applied_total_; }

  std::uint64_t elections() const { return elections_; }

 private:
  struct ShardFacts {
    LogIndex committed;
    std::map<std::uint64_t, LogIndex> committed_in;  // By the term of who knew it first.
    std::map<std::uint64_t, NodeId> leader_of_term;
    // (voter, life, term)
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, NodeId> vote;
    std::map<std::tuple<std::uint64_t, std::uint64_t>, std::uint64_t> chain;  // (index, term)
    std::map<std::uint64_t, std::uint64_t> applied;                           // index -> chain
  };

  std::vector<ShardFacts> shards_;
  std::string violation_;
  std::uint64_t applied_total_ = 0;
  std::uint64_t elections_ = 0;
};

}  // namespace gcoord::chaos
