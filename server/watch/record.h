// Record of one entry's changes: the form that the broker of watches keeps, and the events that it
// sends to a watch.
//
// Kept: changes of names, and whether the lock of a name left the shard or came there, which those
// go by who follow the name. Told: what of it a watch is about, as events.
#pragma once

#include "common/ids.h"
#include "protocol/watch_messages.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// What a command did to one name. The ring has many and few have a note, so what the holder leaves
// with the name and what it had left before share one string (docs/adr/0064).
struct WatchChange {
  // The first string is WatchEvent::value, the second was left by the hold that the change ended,
  // or by that which it is about.
  WatchChange(protocol::WatchEventKind change,
              std::string of,
              FencingToken hold,
              SessionId by,
              std::string_view value = {},
              std::string_view before = {});

  std::string_view value() const { return std::string_view{notes}.substr(0, value_bytes); }

  std::string_view before() const { return std::string_view{notes}.substr(value_bytes); }

  bool operator==(const WatchChange&) const = default;

  protocol::WatchEventKind kind;
  std::uint16_t value_bytes;  // Of `notes`; the rest is what was before.
  // Of Granted: how far before it in its record stands the end of the hold whose place it took; of
  // several that ended with the same command the last one's. 0: there was none.
  std::uint16_t replaces = 0;
  std::string name;
  FencingToken token;  // As in protocol::WatchEvent.
  SessionId session;
  std::string notes;
};

// What it is without notes, which no watch pays for (docs/adr/0064).
static_assert(sizeof(WatchChange) == 24 + 2 * sizeof(std::string));

// Both shards say the same number (locks/state/move.h).
struct WatchMove {
  std::string name;
  std::uint32_t number = 0;
  bool left = false;     // Or it came.
  ShardId other;         // Where it went to, or came from.
  FencingToken carried;  // Of one that came: its holder's; 0: nobody's.
};

// Lists of ends move nothing, so an entry moves one lock at most. Few do, so the rest pays a
// pointer.
struct WatchRecord {
  ShardId shard;
  LogIndex revision;
  std::vector<WatchChange> changes;
  std::shared_ptr<const WatchMove> move{};
};

// Of one entry, what one watch is about.
struct WatchNotice : protocol::WatchBlock {
  std::shared_ptr<const WatchMove> move{};

  bool empty() const { return events.empty() && !move; }
};

// About the bytes of memory that they take.
std::size_t memory_bytes(const WatchRecord& record);
std::size_t memory_bytes(const WatchNotice& told);

}  // namespace gcoord::server
