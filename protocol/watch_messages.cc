#include "protocol/watch_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/validate.h"

namespace gcoord::protocol {
namespace {

// Bits of an event's flags. Never renumber.
constexpr std::uint8_t kSameName = 1;  // As the event before it in the block; no name follows.
constexpr std::uint8_t kHasValue = 2;
constexpr std::uint8_t kBeforeKnown = 4;
constexpr std::uint8_t kBeforeHold = 8;  // Of Granted: token and session follow.
constexpr std::uint8_t kBeforeValue = 16;
constexpr std::uint8_t kBeforeSame = 32;  // Of Granted: as of the event before it in the block.
constexpr std::uint8_t kEventFlags =
    kSameName | kHasValue | kBeforeKnown | kBeforeHold | kBeforeValue | kBeforeSame;

// Bit of a progress's flags.
constexpr std::uint8_t kLast = 1;

constexpr std::size_t kRevisionBytes = 12;

void put_revisions(ByteWriter& writer, std::span<const ShardRevision> revisions) {
  GCOORD_ASSERT(revisions.size() <= kWatchShardsMax);
  writer.integer(static_cast<std::uint32_t>(revisions.size()));
  for (const ShardRevision& each : revisions) {
    writer.integer(each.shard.value);
    writer.integer(each.revision.value);
  }
}

std::vector<ShardRevision> take_revisions(ByteReader& reader) {
  std::vector<ShardRevision> revisions(reader.count(kRevisionBytes, kWatchShardsMax));
  for (ShardRevision& each : revisions) {
    each.shard = ShardId{reader.integer<std::uint32_t>()};
    each.revision = LogIndex{reader.integer<std::uint64_t>()};
  }
  return revisions;
}

ErrorCode check_query(const WatchQuery& query) {
  if ((query.kinds & ~kWatchKindsKnown) != 0) {
    return ErrorCode::WatchInvalid;
  }
  for (const ShardRevision& each : query.from) {
    if (each.revision.value == 0) {
      return ErrorCode::WatchInvalid;
    }
  }
  switch (query.target) {
    case WatchTarget::Name:
      return query.session.value == 0 ? check_name(query.text) : ErrorCode::WatchInvalid;
    case WatchTarget::Prefix:
      return query.session.value == 0 ? check_prefix(query.text) : ErrorCode::WatchInvalid;
    case WatchTarget::Session:
      if (query.session.value == 0) {
        return ErrorCode::SessionZero;
      }
      return query.text.empty() ? ErrorCode::None : ErrorCode::WatchInvalid;
  }
  return ErrorCode::WatchInvalid;
}

bool kind_known(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(WatchEventKind::Granted) &&
         kind <= static_cast<std::uint8_t>(WatchEventKind::Left);
}

bool has(std::uint8_t flags, std::uint8_t flag) {
  return (flags & flag) != 0;
}

// Whether an event of this kind may say so of what was held before it.
bool before_sound(WatchEventKind kind, std::uint8_t flags, const WatchBlock& block) {
  const bool hold = has(flags, kBeforeHold);
  const bool same = has(flags, kBeforeSame);
  const bool value = has(flags, kBeforeValue);
  if (!has(flags, kBeforeKnown)) {
    return !hold && !same && !value;
  }
  if (tells_own_hold(kind)) {
    return !hold && !same;
  }
  if (kind != WatchEventKind::Granted) {
    return !hold && !same && !value;
  }
  if (same) {
    return !hold && !value && !block.events.empty() &&
           block.events.back().previous.before == WatchBefore::Hold;
  }
  return hold || !value;
}

// Of flags that are sound.
WatchPrevious take_previous(ByteReader& reader,
                            const WatchEvent& event,
                            std::uint8_t flags,
                            const WatchBlock& block) {
  if (has(flags, kBeforeSame)) {
    return block.events.back().previous;
  }
  WatchPrevious previous;
  if (!has(flags, kBeforeKnown)) {
    return previous;
  }
  previous.before = WatchBefore::Nothing;
  if (tells_own_hold(event.kind)) {
    previous.before = WatchBefore::Hold;
    previous.token = event.token;
    previous.session = event.session;
  } else if (has(flags, kBeforeHold)) {
    previous.before = WatchBefore::Hold;
    previous.token = FencingToken{reader.integer<std::uint64_t>()};
    previous.session = SessionId{reader.integer<std::uint64_t>()};
  }
  if (has(flags, kBeforeValue)) {
    previous.value = reader.text(kNoteBytesMax);
  }
  return previous;
}

// Of the event behind the one at `before`, if there is one.
std::uint8_t before_flags(const WatchEvent& event, const WatchEvent* before) {
  const WatchPrevious& previous = event.previous;
  if (previous.before == WatchBefore::Unknown) {
    return 0;
  }
  if (previous.before == WatchBefore::Nothing) {
    return kBeforeKnown;
  }
  const bool granted = event.kind == WatchEventKind::Granted;
  if (granted && before != nullptr && before->previous == previous) {
    return kBeforeKnown | kBeforeSame;
  }
  return static_cast<std::uint8_t>(kBeforeKnown | (granted ? kBeforeHold : 0) |
                                   (previous.value.empty() ? 0 : kBeforeValue));
}

void put_event(ByteWriter& writer, const WatchEvent& event, const WatchEvent* before) {
  GCOORD_ASSERT(event.previous.before != WatchBefore::Hold ||
                event.kind == WatchEventKind::Granted || tells_own_hold(event.kind));
  GCOORD_ASSERT(event.previous.before != WatchBefore::Nothing || !tells_own_hold(event.kind));
  const std::uint8_t flags = static_cast<std::uint8_t>(
      (before != nullptr && before->name == event.name ? kSameName : 0) |
      (event.value.empty() ? 0 : kHasValue) | before_flags(event, before));
  writer.integer(static_cast<std::uint8_t>(event.kind));
  writer.integer(flags);
  writer.integer(event.token.value);
  writer.integer(event.session.value);
  if (!has(flags, kSameName)) {
    writer.text(event.name);
  }
  if (has(flags, kHasValue)) {
    writer.text(event.value);
  }
  if (has(flags, kBeforeHold)) {
    writer.integer(event.previous.token.value);
    writer.integer(event.previous.session.value);
  }
  if (has(flags, kBeforeValue)) {
    writer.text(event.previous.value);
  }
}

// False for what is no event.
bool take_event(ByteReader& reader, WatchBlock& block) {
  WatchEvent event;
  const auto kind = reader.integer<std::uint8_t>();
  const auto flags = reader.integer<std::uint8_t>();
  event.token = FencingToken{reader.integer<std::uint64_t>()};
  event.session = SessionId{reader.integer<std::uint64_t>()};
  const bool same = has(flags, kSameName);
  if (!kind_known(kind) || (flags & ~kEventFlags) != 0 || (same && block.events.empty())) {
    return false;
  }
  event.kind = static_cast<WatchEventKind>(kind);
  if (!before_sound(event.kind, flags, block)) {
    return false;
  }
  event.name = same ? block.events.back().name : std::string{reader.text(kNameBytesMax)};
  if (has(flags, kHasValue)) {
    event.value = reader.text(kNoteBytesMax);
  }
  event.previous = take_previous(reader, event, flags, block);
  block.events.push_back(std::move(event));
  return reader.ok();
}

bool take_block(ByteReader& reader, WatchMessage& message) {
  WatchBlock block;
  block.shard = ShardId{reader.integer<std::uint32_t>()};
  block.revision = LogIndex{reader.integer<std::uint64_t>()};
  const auto count = reader.integer<std::uint16_t>();
  for (std::uint16_t k = 0; k < count; ++k) {
    if (!take_event(reader, block)) {
      return false;
    }
  }
  message.blocks.push_back(std::move(block));
  return reader.ok() && count != 0;
}

}  // namespace

std::string_view watch_event_name(WatchEventKind kind) {
  switch (kind) {
    case WatchEventKind::Granted:
      return "granted";
    case WatchEventKind::Released:
      return "released";
    case WatchEventKind::Expired:
      return "expired";
    case WatchEventKind::Broken:
      return "broken";
    case WatchEventKind::ValueChanged:
      return "value_changed";
    case WatchEventKind::Waiting:
      return "waiting";
    case WatchEventKind::Left:
      return "left";
  }
  return "unknown";
}

std::vector<std::byte> encode_watch_query(const WatchQuery& query) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(query.target));
  writer.integer(query.kinds);
  writer.integer(std::uint16_t{0});
  writer.integer(query.shard_first.value);
  writer.integer(query.shard_count);
  writer.integer(query.progress_ms);
  writer.integer(query.session.value);
  writer.text(query.text);
  put_revisions(writer, query.from);
  return out;
}

Result<WatchQuery> decode_watch_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  WatchQuery query;
  query.target = static_cast<WatchTarget>(reader.integer<std::uint8_t>());
  query.kinds = reader.integer<std::uint8_t>();
  const auto zeros = reader.integer<std::uint16_t>();
  query.shard_first = ShardId{reader.integer<std::uint32_t>()};
  query.shard_count = reader.integer<std::uint32_t>();
  query.progress_ms = reader.integer<std::uint32_t>();
  query.session = SessionId{reader.integer<std::uint64_t>()};
  query.text = reader.text(payload.size());
  query.from = take_revisions(reader);
  if (!reader.complete() || zeros != 0) {
    return make_error(ErrorCode::PayloadMalformed, "watch_open");
  }
  if (const ErrorCode code = check_query(query); code != ErrorCode::None) {
    return make_error(code, "watch_open");
  }
  return query;
}

void begin_watch_events(std::vector<std::byte>& payload) {
  ByteWriter writer{payload};
  writer.integer(static_cast<std::uint8_t>(WatchMessageKind::Events));
  writer.integer(std::uint8_t{0});
  writer.integer(std::uint16_t{0});
}

void append_watch_block(std::vector<std::byte>& payload, const WatchBlock& block) {
  GCOORD_ASSERT(!block.events.empty() && block.events.size() <= 0xffff);
  ByteWriter writer{payload};
  writer.integer(block.shard.value);
  writer.integer(block.revision.value);
  writer.integer(static_cast<std::uint16_t>(block.events.size()));
  const WatchEvent* before = nullptr;
  for (const WatchEvent& event : block.events) {
    put_event(writer, event, before);
    before = &event;
  }
}

std::vector<std::byte> encode_watch_progress(const WatchProgressPart& progress) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(WatchMessageKind::Progress));
  writer.integer(progress.last ? kLast : std::uint8_t{0});
  writer.integer(std::uint16_t{0});
  put_revisions(writer, progress.revisions);
  return out;
}

Result<WatchMessage> decode_watch_message(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  WatchMessage message;
  message.kind = static_cast<WatchMessageKind>(reader.integer<std::uint8_t>());
  const auto flags = reader.integer<std::uint8_t>();
  bool good = reader.integer<std::uint16_t>() == 0;
  if (message.kind == WatchMessageKind::Progress) {
    message.progress.last = flags == kLast;
    message.progress.revisions = take_revisions(reader);
    good = good && flags <= kLast;
  } else if (message.kind == WatchMessageKind::Events) {
    good = good && flags == 0;
    while (good && !reader.complete()) {
      good = take_block(reader, message);
    }
  } else {
    good = false;
  }
  if (!good || !reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "watch");
  }
  return message;
}

}  // namespace gcoord::protocol
