#include "chaos/sim/sim_checker.h"

namespace gcoord::chaos {

using consensus::scenario::RaftBreach;
using consensus::scenario::RaftHistory;

void SimChecker::report(const std::string& invariant,
                        std::uint32_t shard,
                        const std::string& what) {
  if (violation_.empty()) {
    violation_ = invariant + " broken on shard " + std::to_string(shard) + ": " + what;
  }
}

void SimChecker::judge(std::uint32_t shard, const std::optional<RaftBreach>& breach) {
  if (breach.has_value()) {
    report(number_of(breach->invariant) + " " + std::string(name_of(breach->invariant)),
           shard,
           breach->sentence);
  }
}

LogIndex SimChecker::on_elected(std::uint32_t shard, RaftLeader leader, LogIndex last) {
  ++elections_;
  judge(shard, shards_[shard].on_elected(leader));
  judge(shard, shards_[shard].on_elected_log(leader, last));
  return shards_[shard].owed(leader.term);
}

void SimChecker::on_leader_entry(std::uint32_t shard,
                                 RaftLeader leader,
                                 LogIndex index,
                                 std::uint64_t chain) {
  judge(shard, shards_[shard].on_elected_entry(leader, index, chain));
}

void SimChecker::on_vote_sent(std::uint32_t shard, const RaftVote& vote) {
  judge(shard, shards_[shard].on_vote(vote));
}

void SimChecker::on_entry(std::uint32_t shard, LogIndex index, const SimEntry& entry) {
  judge(shard, shards_[shard].on_log({index, entry.term}, entry.chain));
}

void SimChecker::on_commit(std::uint32_t shard, LogIndex index, Term term) {
  shards_[shard].on_commit(term, index);
}

void SimChecker::on_apply(std::uint32_t shard, NodeId node, LogIndex index, std::uint64_t chain) {
  judge(shard, shards_[shard].on_apply(node, index, chain));
}

std::uint64_t SimChecker::applied_total() const {
  std::uint64_t total = 0;
  for (const RaftHistory& shard : shards_) {
    total += shard.known_count();
  }
  return total;
}

void SimChecker::on_leases(std::uint32_t shard,
                           std::span<const consensus::scenario::LeaseHolder> holders) {
  judge(shard, shards_[shard].on_leases(holders));
}

void SimChecker::on_read(std::uint32_t shard, const consensus::scenario::AnsweredRead& read) {
  judge(shard, RaftHistory::on_read(read));
}

}  // namespace gcoord::chaos
