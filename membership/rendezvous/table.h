// The rendezvous of one node: who waits for the next round of a name, and who is in the last one.
//
// A rendezvous gathers sessions. Once members_min wait, a last call runs; when it ends, or when
// members_max wait, the round is complete: everybody who waited, up to members_max, is in it with a
// rank and sees the same members and payloads. Members of the round before come first, in the order
// of their ranks, then the others as they came; who has no rank waits on.
//
// No round begins while somebody of the round before is still in it. A member is in until it comes
// again, leaves, or its session ends; so newcomers wait until the members, who see that somebody
// waits, come again. So there are never two rounds of a name whose members both go on.
//
// Time is no part of this: the end of a last call is a command, which names the call and does
// nothing when that call is not running any more. What is applied is a function of the shard's
// commands alone: the caller gives it commands of live sessions that are no retries, and tells it
// which sessions ended, in log order per shard. Applying never fails. Host only; one thread.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "common/status.h"
#include "membership/alive/word.h"
#include "membership/rendezvous/command.h"
#include "membership/rendezvous/reply.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gcoord::membership {

struct RendezvousWaiter {
  SessionId session;
  std::uint64_t sequence = 0;  // Of the request by which it came.
  std::string payload;
};

// A member of the last round; its index is the rank.
struct RendezvousMember {
  SessionId session;
  std::uint64_t sequence = 0;
  bool present = false;  // It has not come again, left or ended since.
  std::string payload;
};

struct Rendezvous {
  std::string name;
  RendezvousBounds bounds{};                // Of those who wait; of nobody's when nobody does.
  std::uint64_t version = 0;                // Another one after each change.
  std::uint64_t call = 0;                   // The last call that runs; 0: none.
  std::uint64_t round = 0;                  // The last one; 0: there was none.
  std::vector<RendezvousWaiter> waiting{};  // As they came.
  std::vector<RendezvousMember> members{};  // Of the last round, by rank.

  std::uint32_t present() const;

  // Who of the last round is in it.
  AliveWord alive() const;
};

// Of one shard.
struct RendezvousShard {
  // Versions, calls and rounds are drawn from it: none comes twice. From 2 on.
  std::uint64_t number_last = 1;
  std::uint64_t state_hash = 0;  // Chain over commands and answers; 0: there were none.
};

struct RendezvousUsage {
  std::uint64_t rendezvous = 0;
  std::uint64_t waiting = 0;
  std::uint64_t members = 0;  // Places of last rounds.
};

class RendezvousTable {
 public:
  using ByName = std::map<std::pair<std::uint64_t, std::uint64_t>, Rendezvous>;  // By its hash.

  // Applies one command.
  RendezvousReply apply(ShardId shard, const RendezvousCommand& command);

  // The wait of this session under this request has run out of time.
  RendezvousReply withdraw(ShardId shard, NameHash name, const RendezvousWaiter& waiter);

  // The last call of this number has run its time.
  RendezvousReply end_call(ShardId shard, NameHash name, std::uint64_t call);

  // These sessions ended in one entry.
  void end_sessions(ShardId shard, std::span<const SessionId> sessions);

  // What the latest of these four changed, in order.
  const std::vector<NameHash>& changed() const { return changed_; }

  bool has_session(ShardId shard, SessionId session) const;

  // nullptr: nobody waits for it or is in a round of it. Valid until the next change.
  const Rendezvous* find(ShardId shard, NameHash name) const;

  // Of a shard, in the order of their hashes; nullptr: none.
  const ByName* of_shard(ShardId shard) const;

  std::uint64_t state_hash(ShardId shard) const { return shard_of(shard).state_hash; }

  // Appends the shard's state: canonical, empty where there were no commands.
  void serialize(ShardId shard, std::vector<std::byte>& bytes) const;

  // Replaces the shard's state; on DataLoss the shard is empty. Empty bytes are the initial state.
  Status deserialize(ShardId shard, std::span<const std::byte> bytes);

  const RendezvousUsage& usage() const { return usage_; }

  // Whether this node has ever held a command of a rendezvous, in this life or in its state.
  bool used() const { return used_; }

 private:
  struct Spot {
    ShardId shard;
    NameHash name;
  };

  using SessionKey = std::pair<std::uint32_t, std::uint64_t>;

  RendezvousShard shard_of(ShardId shard) const;
  RendezvousReply arrive(ShardId shard, const RendezvousCommand& command);
  RendezvousReply leave(ShardId shard, const RendezvousCommand& command);
  bool remove(Rendezvous& each, SessionId session);
  void settle(ShardId shard, NameHash name);
  void complete(ShardId shard, Rendezvous& each);
  void note(const Spot& spot, const Rendezvous& each, int sign);
  void extend_chain(ShardId shard, std::uint64_t word);
  void drop(ShardId shard);

  std::unordered_map<std::uint32_t, ByName> names_;  // By shard.
  std::unordered_map<std::uint32_t, RendezvousShard> shards_;
  // Where each session waits or is in a round, and how often.
  std::map<SessionKey, std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>> sessions_;
  RendezvousUsage usage_;
  std::vector<NameHash> changed_;
  bool used_ = false;
};

}  // namespace gcoord::membership
