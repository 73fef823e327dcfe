#include "server/resident/trace/sightings.h"

namespace gcoord::server {

std::string_view sighting_cause_name(SightingCause cause) {
  switch (cause) {
    case SightingCause::Leader:
      return "leader-seen";
    case SightingCause::Applied:
      return "applied";
    case SightingCause::Stored:
      return "stored";
  }
  return "unknown";
}

TurnSightings::TurnSightings(Options options)
    : options_(std::move(options)), known_(options_.shard_count) {}

void TurnSightings::on_leader(ShardId shard, const LeaderWord& word) {
  Known& known = known_[shard.value];
  if (word.term < known.term) {
    return;
  }
  known.term = word.term;
  known.leader = word.leader;
  known.role = word.role;
  options_.write(sighting_of(shard, SightingCause::Leader));
}

void TurnSightings::on_applied(ShardId shard,
                               LogIndex applied,
                               std::optional<std::uint64_t> state_hash) {
  known_[shard.value].applied = applied;
  TurnSighting said = sighting_of(shard, SightingCause::Applied);
  said.state_hash = state_hash;
  options_.write(said);
}

// Rows request a write for each entry, too: the vote of a term is said once.
void TurnSightings::on_stored(ShardId shard, Term term, NodeId vote) {
  Known& known = known_[shard.value];
  if (vote == NodeId{} || term <= known.voted_in) {
    return;
  }
  known.voted_in = term;
  if (term < known.term) {
    return;
  }
  if (term > known.term) {
    known.term = term;
    known.leader = NodeId{};
    known.role = consensus::Role::Follower;
  }
  TurnSighting said = sighting_of(shard, SightingCause::Stored);
  said.vote = vote;
  options_.write(said);
}

TurnSighting TurnSightings::sighting_of(ShardId shard, SightingCause cause) const {
  const Known& known = known_[shard.value];
  return {.node = options_.node,
          .shard = shard,
          .tick = options_.now(),
          .cause = cause,
          .term = known.term,
          .leader = known.leader,
          .role = known.role,
          .applied = known.applied};
}

}  // namespace gcoord::server
