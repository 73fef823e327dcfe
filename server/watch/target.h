// Targets of watches, and the lookup of the watches that an event concerns.
//
// Watches of the same thing share a target, so an event is matched and encoded once for all of
// them. Finding the targets of an event costs one look-up by name, one by session, and one for each
// length of a watched prefix. One thread.
#pragma once

#include "protocol/watch_messages.h"
#include "server/watch/record.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

struct Watch;  // watch.h.

// What one watch or many are about.
struct WatchFilter {
  protocol::WatchTarget target = protocol::WatchTarget::Name;
  std::string text;
  SessionId session;
  bool queue = false;      // Who waits, too.
  std::uint8_t kinds = 0;  // Only these (protocol::watch_kind_bit), whatever `queue` says; 0: all.
  bool previous = false;   // With what was held before each event.
  bool follows = false;    // Of a name, in the one shard where its lock is now (watch_follow.cc).
  std::uint32_t arrival = 0;  // Nothing before the move of this number brings the lock; 0: all.
  ShardId shard_first;
  std::uint32_t shard_count = 0;

  bool covers(ShardId shard) const {
    return shard.value >= shard_first.value && shard.value - shard_first.value < shard_count;
  }

  bool wants(protocol::WatchEventKind kind) const;
  bool matches(protocol::WatchEventKind kind, std::string_view name, SessionId session) const;

  // The events of the record that it is about, and of a name that it follows the move; nothing when
  // there is none. Who holds a lock that comes was told of where it held it first, and is left out.
  WatchNotice filtered(const WatchRecord& record) const;

  auto key() const {
    return std::tuple(target,
                      text,
                      session.value,
                      queue,
                      kinds,
                      previous,
                      follows,
                      arrival,
                      shard_first.value,
                      shard_count);
  }
};

// A message that not all live watches of a target were sent (WatchFanout).
struct OwedMessage {
  std::vector<std::byte> bytes;
  std::uint64_t cursor = 0;  // Of the first record in it.
  bool closed = false;       // Somebody may have been sent it: it does not grow any more.
  bool is_end = false;       // No message: whoever comes to it reads on for itself.
};

struct WatchTargetState {
  WatchFilter filter;
  std::vector<Watch*> live;     // Those who have everything that was recorded, or are owed it.
  std::size_t watch_count = 0;  // Those and all others.
  std::uint64_t marked = 0;     // The last record that was matched, plus one.
  std::uint64_t misses = 0;     // The newest snapshot before which its watches stopped.

  // Of WatchFanout. Messages are numbered from 1; those up to told_all went to all.
  std::vector<OwedMessage> owed;  // Behind those, oldest first.
  std::uint64_t told_all = 0;
  std::uint64_t sweep_last = 0;  // The last message that this sweep sends.
  std::size_t sweep_left = 0;    // Of `live`, the first so many are yet to be visited.
  std::size_t owing_place = 0;   // While it owes something.

  std::uint64_t newest() const { return told_all + owed.size(); }
};

class WatchTargets {
 public:
  // The target of the filter, which is made if need be; drop() as often as add().
  WatchTargetState& add(const WatchFilter& filter);
  void drop(WatchTargetState& target);

  // Those that the record concerns, each once. `number` differs from record to record. Valid until
  // the next call.
  std::span<WatchTargetState* const> concerned(const WatchRecord& record, std::uint64_t number);

 private:
  struct TextHash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  using ByText =
      std::unordered_map<std::string, std::vector<WatchTargetState*>, TextHash, std::equal_to<>>;

  void look_up(const ByText& map, std::string_view text, std::uint64_t number);
  void mark(std::span<WatchTargetState* const> targets, std::uint64_t number);
  std::vector<WatchTargetState*>& place_of(const WatchFilter& filter);

  std::map<decltype(WatchFilter{}.key()), std::unique_ptr<WatchTargetState>> all_;
  ByText names_;
  ByText prefixes_;
  std::map<std::size_t, std::size_t> prefix_lengths_;  // With their count.
  std::unordered_map<std::uint64_t, std::vector<WatchTargetState*>> sessions_;
  std::vector<WatchTargetState*> concerned_;  // Kept warm.
};

}  // namespace gcoord::server
