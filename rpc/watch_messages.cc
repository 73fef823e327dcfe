#include "rpc/watch_messages.h"

#include "rpc/byte_codec.h"
#include "rpc/error_codes.h"
#include "rpc/validate.h"

namespace gcoord::rpc {
namespace {

// Bits of an event's flags. Never renumber.
constexpr std::uint8_t kSameName = 1;  // As the event before it in the block; no name follows.
constexpr std::uint8_t kHasValue = 2;

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

// False for what is no event.
bool take_event(ByteReader& reader, WatchBlock& block) {
  WatchEvent event;
  const auto kind = reader.integer<std::uint8_t>();
  const auto flags = reader.integer<std::uint8_t>();
  event.token = FencingToken{reader.integer<std::uint64_t>()};
  event.session = SessionId{reader.integer<std::uint64_t>()};
  const bool same = (flags & kSameName) != 0;
  if (!kind_known(kind) || (flags & ~(kSameName | kHasValue)) != 0 ||
      (same && block.events.empty())) {
    return false;
  }
  event.kind = static_cast<WatchEventKind>(kind);
  event.name = same ? block.events.back().name : std::string{reader.text(kNameBytesMax)};
  if ((flags & kHasValue) != 0) {
    event.value = reader.text(kNoteBytesMax);
  }
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
  const std::string* before = nullptr;
  for (const WatchEvent& event : block.events) {
    const bool same = before != nullptr && *before == event.name;
    writer.integer(static_cast<std::uint8_t>(event.kind));
    writer.integer(
        static_cast<std::uint8_t>((same ? kSameName : 0) | (event.value.empty() ? 0 : kHasValue)));
    writer.integer(event.token.value);
    writer.integer(event.session.value);
    if (!same) {
      writer.text(event.name);
    }
    if (!event.value.empty()) {
      writer.text(event.value);
    }
    before = &event.name;
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

}  // namespace gcoord::rpc
