#include "chaos/sim/sim_checker.h"

namespace gcoord::chaos {

void SimChecker::report(const std::string& invariant,
                        std::uint32_t shard,
                        const std::string& what) {
  if (violation_.empty()) {
    violation_ = invariant + " broken on shard " + std::to_string(shard) + ": " + what;
  }
}

LogIndex SimChecker::on_elected(std::uint32_t shard, NodeId node, Term term, LogIndex last) {
  ++elections_;
  ShardFacts& facts = shards_[shard];
  // The same node twice counts too: a leader that restarts may not lead on in its old term.
  if (!facts.leader_of_term.emplace(term.value, node).second) {
    report("I1 Election Safety", shard, "two elections won in term " + std::to_string(term.value));
  }
  LogIndex owed;
  for (const auto& [known_in, index] : facts.committed_in) {
    owed = known_in < term.value ? max_id(owed, index) : owed;
  }
  if (last < owed) {
    report("I5 Leader Completeness",
           shard,
           "the log of the leader of term " + std::to_string(term.value) + " ends early");
  }
  return owed;
}

void SimChecker::on_leader_entry(std::uint32_t shard, LogIndex index, std::uint64_t chain) {
  const auto applied = shards_[shard].applied.find(index.value);
  if (applied != shards_[shard].applied.end() && applied->second != chain) {
    report("I5 Leader Completeness",
           shard,
           "a leader holds another entry at " + std::to_string(index.value));
  }
}

void SimChecker::on_vote_sent(
    std::uint32_t shard, NodeId voter, Incarnation life, Term term, NodeId candidate) {
  const auto [known, added] =
      shards_[shard].vote.emplace(std::tuple(voter.value, life.value, term.value), candidate);
  if (!added && known->second != candidate) {
    report("I2 One Vote",
           shard,
           "node " + std::to_string(voter.value) + " voted twice in " + std::to_string(term.value));
  }
}

void SimChecker::on_entry(std::uint32_t shard, LogIndex index, const SimEntry& entry) {
  const auto [known, added] =
      shards_[shard].chain.emplace(std::tuple(index.value, entry.term.value), entry.chain);
  if (!added && known->second != entry.chain) {
    report("I4 Log Matching",
           shard,
           "two logs differ at (" + std::to_string(index.value) + ", " +
               std::to_string(entry.term.value) + ")");
  }
}

void SimChecker::on_commit(std::uint32_t shard, LogIndex index, Term term) {
  ShardFacts& facts = shards_[shard];
  if (index > facts.committed) {
    facts.committed = index;
    facts.committed_in[term.value] = index;
  }
}

void SimChecker::on_apply(std::uint32_t shard, LogIndex index, std::uint64_t chain) {
  const auto [known, added] = shards_[shard].applied.emplace(index.value, chain);
  applied_total_ += added ? 1 : 0;
  if (!added && known->second != chain) {
    report("I6 State Machine Safety", shard, "two states at index " + std::to_string(index.value));
  }
}

void SimChecker::on_leases(std::uint32_t shard, std::uint32_t holders, LogIndex commit) {
  if (holders > 1) {
    report("I12 Lease", shard, std::to_string(holders) + " nodes hold the lease");
  }
  if (holders == 1 && commit < shards_[shard].committed) {
    report("I12 Lease",
           shard,
           "the holder does not know index " + std::to_string(shards_[shard].committed.value));
  }
}

void SimChecker::on_read(std::uint32_t shard, LogIndex read_index, LogIndex committed_then) {
  if (read_index < committed_then) {
    report("I9 Linearizability",
           shard,
           "a read at " + std::to_string(read_index.value) + " misses index " +
               std::to_string(committed_then.value));
  }
}

}  // namespace gcoord::chaos
