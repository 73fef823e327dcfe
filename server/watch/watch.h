// Watch of one client: what it is about, and how far it has come.
#pragma once

#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/watch/judge.h"
#include "server/watch/record.h"
#include "server/watch/replay.h"
#include "server/watch/target.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

namespace gcoord::server {

enum class WatchStage : std::uint8_t { Replaying, Behind, Live };

// Where one goes on: in the shard that a move brings the lock to.
struct FollowTurn {
  ShardId shard;
  std::uint32_t number = 0;
};

struct Watch {
  std::uint64_t number = 0;
  protocol::ConnectionId connection;
  protocol::RequestSlot request;  // Its WatchOpen.
  WatchTargetState* target = nullptr;
  WatchStage stage = WatchStage::Behind;
  std::uint64_t cursor = 0;     // Of the record to be sent next; of no use while Live.
  std::uint64_t told = 0;       // While Live: the newest message of its target that it was sent.
  std::uint64_t opened_at = 0;  // The ring's end then: before it only what `from` names is sent.
  std::map<std::uint32_t, std::uint64_t> from;          // By shard, as long as it matters.
  std::deque<std::shared_ptr<WatchReplayJob>> replays;  // The first one is under way.
  std::uint32_t move_number = 0;   // Of one that follows: the newest move it came by; 0: none.
  std::uint64_t misses = 0;        // The newest snapshot when it began in its shards (WatchMisses).
  std::uint64_t judged_epoch = 0;  // Of the judge when it gave the verdict (judging.h).
  WatchVerdict verdict;
  bool progress_wanted = false;
  std::uint32_t progress_ms = 0;
  std::uint64_t progress_at_ms = 0;
  std::size_t place = 0;  // In its target's `live`, or in the list of the others (WatchLineup).

  // Whether the record is not from before what the watch was opened for.
  bool wants(const WatchRecord& record) const;

  // Whether the lock was away when the watch goes on in this shard: what comes first is its return,
  // so what there is to be told before that happened elsewhere.
  bool was_away(const WatchMove& move) const;

  // Where the watch is to go on that has come to a record with a move, or nothing if it stays.
  std::optional<FollowTurn> turn_at(const WatchMove& move) const;
};

}  // namespace gcoord::server
