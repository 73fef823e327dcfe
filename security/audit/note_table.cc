#include "security/audit/note_table.h"

#include "common/assert.h"
#include "common/bytes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gcoord::security {

NoteTable::NoteTable(std::uint32_t shard_count)
    : shard_max_(
          std::max(kNotesOfNodeMax / std::max<std::size_t>(shard_count, 1), kNotesOfShardMin)),
      shards_(shard_count) {}

void NoteTable::note(ShardId shard, const AuditNote& note, std::uint64_t time_ms) {
  GCOORD_ASSERT(note.kind == NoteKind::Session);
  Shard& place = shards_[shard.value];
  if (const auto found = place.by_session.find(note.number); found != place.by_session.end()) {
    found->second->origin = note.origin;
    return;
  }
  if (place.by_session.size() == shard_max_) {
    end(shard, place.oldest_first.front().session);
  }
  place.oldest_first.push_back({SessionId{note.number}, time_ms, note.origin});
  place.by_session.emplace(note.number, std::prev(place.oldest_first.end()));
  ++size_;
}

void NoteTable::end(ShardId shard, SessionId session) {
  Shard& place = shards_[shard.value];
  if (const auto found = place.by_session.find(session.value); found != place.by_session.end()) {
    place.oldest_first.erase(found->second);
    place.by_session.erase(found);
    --size_;
  }
}

const KnownOrigin* NoteTable::find(ShardId shard, SessionId session) const {
  const Shard& place = shards_[shard.value];
  const auto found = place.by_session.find(session.value);
  return found == place.by_session.end() ? nullptr : &*found->second;
}

void NoteTable::serialize(ShardId shard, std::vector<std::byte>& bytes) const {
  if (is_empty(shard)) {
    return;
  }
  ByteWriter writer{bytes};
  const Origins& origins = shards_[shard.value].oldest_first;
  writer.integer(static_cast<std::uint32_t>(origins.size()));
  for (const KnownOrigin& each : origins) {
    writer.integer(each.session.value);
    writer.integer(each.since_ms);
    encode_origin(each.origin, bytes);
  }
}

bool NoteTable::parse(std::span<const std::byte> bytes, Shard& shard) const {
  if (bytes.empty()) {
    return true;
  }
  constexpr std::size_t kFixedBytes = 16;
  if (bytes.size() < sizeof(std::uint32_t)) {
    return false;
  }
  const auto count = load<std::uint32_t>(bytes.data());
  bytes = bytes.subspan(sizeof(std::uint32_t));
  if (count == 0 || count > shard_max_) {
    return false;
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    if (bytes.size() < kFixedBytes) {
      return false;
    }
    KnownOrigin known{
        SessionId{load<std::uint64_t>(bytes.data())}, load<std::uint64_t>(bytes.data() + 8), {}};
    bytes = bytes.subspan(kFixedBytes);
    auto origin = read_origin(bytes);
    if (!origin || known.session.value == 0) {
      return false;
    }
    known.origin = *std::move(origin);
    const std::uint64_t session = known.session.value;
    shard.oldest_first.push_back(std::move(known));
    if (!shard.by_session.emplace(session, std::prev(shard.oldest_first.end())).second) {
      return false;
    }
  }
  return bytes.empty();
}

bool NoteTable::install(ShardId shard, std::span<const std::byte> bytes) {
  Shard parsed;
  if (!parse(bytes, parsed)) {
    return false;
  }
  Shard& place = shards_[shard.value];
  size_ += parsed.by_session.size();
  size_ -= place.by_session.size();
  place = std::move(parsed);
  return true;
}

bool NoteTable::plausible(std::span<const std::byte> bytes) const {
  Shard parsed;
  return parse(bytes, parsed);
}

}  // namespace gcoord::security
