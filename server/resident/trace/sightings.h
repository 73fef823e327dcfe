// Sightings of a resident node's rows by their host, for a trace: the parts of a transition that
// reach it, as they reach it.
//
// The device steps rows without its host. The host reads the newest word of the table of leaders
// (term, leader, role) and misses words in between. The device tells it every decided entry, with
// the hash of the state after it. In durable mode the host stores every term and vote before the
// device promises them.
// So a sighting says less than a transition of the host's turn (server/interfaces/replica_view.h),
// and what it does not say nobody may judge. What it says is so: the leader is that of the term,
// the hash is that of the state at `applied`, a vote is durable. Terms of a row never fall here: a
// word of the table that is older than a vote that was stored is left out (docs/adr/0165). One
// thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/shard_table.h"
#include "server/device_turn/leader_table.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

enum class SightingCause : std::uint8_t {
  Leader,   // The table says anew who leads.
  Applied,  // A decided entry was applied.
  Stored,   // A term and a vote are durable.
};

std::string_view sighting_cause_name(SightingCause cause);

struct TurnSighting {
  NodeId node;
  ShardId shard;
  Tick tick;
  SightingCause cause = SightingCause::Leader;
  Term term;    // 0: not known.
  NodeId vote;  // Of a stored one; 0: not said.
  NodeId leader;
  consensus::Role role = consensus::Role::Follower;
  LogIndex applied;                         // 0: not known.
  std::optional<std::uint64_t> state_hash;  // Of the locks' state at `applied`.
};

class TurnSightings {
 public:
  struct Options {
    NodeId node;
    std::uint32_t shard_count = 0;
    std::function<Tick()> now;
    std::function<std::uint64_t(ShardId)> hash_of;
    std::function<void(const TurnSighting&)> write;
  };

  explicit TurnSightings(Options options);

  void on_leader(ShardId shard, const LeaderWord& word);
  // No hash: none is known at this index.
  void on_applied(ShardId shard, LogIndex applied, std::optional<std::uint64_t> state_hash);
  // Once it is durable. `vote` is 0 where the row has voted for nobody in the term.
  void on_stored(ShardId shard, Term term, NodeId vote);

  // Of the locks of the host's copy, now.
  std::uint64_t hash_of(ShardId shard) const { return options_.hash_of(shard); }

 private:
  // What is known of the newest term of a row.
  struct Known {
    Term term;
    NodeId leader;
    consensus::Role role = consensus::Role::Follower;
    Term voted_in;     // The term whose vote was said.
    LogIndex applied;  // 0: nothing was applied in this life yet.
  };

  TurnSighting sighting_of(ShardId shard, SightingCause cause) const;

  Options options_;
  std::vector<Known> known_;  // By shard.
};

}  // namespace gcoord::server
