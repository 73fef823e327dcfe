// Messages of a watch: the request, events, and progress.
//
// A WatchOpen is answered many times under its request id. An Ok reply has one of two payloads,
// told apart by the first byte; an error ends the watch, and says in `shard` and `extra` from which
// revision on there are events, with WatchCompacted.
//
//   1 events    u8 1, u8 zero, u16 zero, then blocks: u32 shard, u64 revision, u16 count, events:
//               u8 kind, u8 flags, u64 token, u64 session, [u16 bytes, name], [u16 bytes, value],
//               [u64 token, u64 session of what was held before], [u16 bytes, its value]
//   2 progress  u8 2, u8 flags, u16 zero, u32 count, count x {u32 shard, u64 revision}
//
// A revision is the index of an entry in its shard's log. A block has all events of one entry that
// the watch is about. Blocks of one shard come in the order of revisions, each once. Progress says
// that everything up to a revision was sent before it; the first one begins the watch.
// docs/adr/0040 has the reasons. Decoders trust nothing. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Revisions that one request or one message of progress lists: 12 bytes each, in a frame.
inline constexpr std::uint32_t kWatchShardsMax = 65'536;

// Never renumber.
enum class WatchTarget : std::uint8_t {
  Name = 1,
  Prefix = 2,   // Of names; an empty one stands for all.
  Session = 3,  // What it holds and waits for.
};

// Never renumber. docs/reference/services.md says what each of them has.
enum class WatchEventKind : std::uint8_t {
  Granted = 1,       // The session holds the name under the token.
  Released = 2,      // It gave the name back, or closed its session.
  Expired = 3,       // Its session ran out.
  Broken = 4,        // An operator took the name from it.
  ValueChanged = 5,  // The holder left another value with the name.
  Waiting = 6,       // Only with RequestFlag::WatchQueue: the session stands in line.
  Left = 7,          // The same: it does so no more, and was not granted the name.
};

std::string_view watch_event_name(WatchEventKind kind);

// Of WatchQuery::kinds.
constexpr std::uint8_t watch_kind_bit(WatchEventKind kind) {
  return static_cast<std::uint8_t>(1u << (static_cast<unsigned>(kind) - 1));
}

inline constexpr std::uint8_t kWatchKindsKnown = 0x7f;

// What is known of what was held before an event. Never renumber.
enum class WatchBefore : std::uint8_t {
  Unknown = 0,  // The watch did not ask with RequestFlag::WatchPrevious, or nobody knows.
  Nothing = 1,  // The event took no hold's place: the name was free for it, or it is of a waiter.
  Hold = 2,
};

// The hold that an event ended or changed, as it was; of Granted, the one whose place it took: that
// ended in the same entry, or came from another shard with its lock and goes on.
struct WatchPrevious {
  WatchBefore before = WatchBefore::Unknown;
  FencingToken token;
  SessionId session;
  std::string value;

  bool operator==(const WatchPrevious&) const = default;
};

constexpr bool ends_hold(WatchEventKind kind) {
  return kind == WatchEventKind::Released || kind == WatchEventKind::Expired ||
         kind == WatchEventKind::Broken;
}

// Such an event's WatchPrevious, where it is known, is a Hold of the event's token and session.
constexpr bool tells_own_hold(WatchEventKind kind) {
  return ends_hold(kind) || kind == WatchEventKind::ValueChanged;
}

struct WatchEvent {
  WatchEventKind kind{};
  std::string name;
  FencingToken token;  // Of the hold that the event is about; 0 of a waiter.
  SessionId session;
  std::string value;  // Of Granted and ValueChanged: the holder's note.
  WatchPrevious previous{};

  bool operator==(const WatchEvent&) const = default;
};

struct ShardRevision {
  ShardId shard;
  LogIndex revision;

  bool operator==(const ShardRevision&) const = default;
};

// The payload of a WatchOpen:
// u8 target, u8 kinds, u16 zero, u32 first shard, u32 shard count, u32 progress_ms, u64 session,
// u16 bytes, text, u32 count, count x {u32 shard, u64 revision}
struct WatchQuery {
  WatchTarget target = WatchTarget::Name;
  std::string text;  // The name or the prefix.
  SessionId session;
  // Only events of these kinds, whatever RequestFlag::WatchQueue says; 0: that says it. Nodes
  // without Feature::WatchKinds take 0 alone.
  std::uint8_t kinds = 0;
  ShardId shard_first;              // Of a prefix or a session: only these shards,
  std::uint32_t shard_count = 0;    // or with 0 all.
  std::uint32_t progress_ms = 0;    // Progress is told about so often; 0: when asked.
  std::vector<ShardRevision> from;  // The first revision wanted; other shards: from now on.
};

std::vector<std::byte> encode_watch_query(const WatchQuery& query);

// WatchInvalid for what has the form and no meaning, the errors of check_name() for the name.
Result<WatchQuery> decode_watch_query(std::span<const std::byte> payload);

// The events of one entry that a watch is about.
struct WatchBlock {
  ShardId shard;
  LogIndex revision;
  std::vector<WatchEvent> events;

  bool operator==(const WatchBlock&) const = default;
};

// Never renumber: the first byte of a payload.
enum class WatchMessageKind : std::uint8_t { Events = 1, Progress = 2 };

struct WatchProgressPart {
  bool last = false;  // The watch has begun, or the answer to what was asked is whole.
  std::vector<ShardRevision> revisions;
};

// The head of a payload of events; blocks are appended to it.
void begin_watch_events(std::vector<std::byte>& payload);
// What no frame holds the caller leaves out: nearly every command's events fit one.
void append_watch_block(std::vector<std::byte>& payload, const WatchBlock& block);
std::vector<std::byte> encode_watch_progress(const WatchProgressPart& progress);

// Nothing for what is no message.
struct WatchMessage {
  WatchMessageKind kind{};
  std::vector<WatchBlock> blocks;
  WatchProgressPart progress;
};

Result<WatchMessage> decode_watch_message(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
