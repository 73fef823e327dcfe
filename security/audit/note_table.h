// Origins of the sessions of a node's shards, as the notes in their logs say them.
//
// Replicated state: equal logs give equal tables on every node. By shard, and there by session; a
// session is in its home shard, whether or not it is registered there. A later note of the same
// session replaces its origin and keeps its beginning. The end of a session in its home shard
// removes it. Bounded: a node keeps kNotesOfNodeMax, an equal part of them for each shard and at
// least kNotesOfShardMin; the oldest goes first. What a table forgets still stands in the ledger.
// At most some 500 bytes each, so 64 MiB. One thread.
#pragma once

#include "common/ids.h"
#include "security/audit/note.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::security {

inline constexpr std::size_t kNotesOfNodeMax = 131'072;
inline constexpr std::size_t kNotesOfShardMin = 64;

struct KnownOrigin {
  SessionId session;
  std::uint64_t since_ms = 0;  // Unix time of its first note.
  ClientOrigin origin;
};

class NoteTable {
 public:
  explicit NoteTable(std::uint32_t shard_count);

  // A session's note that was applied in its shard, with the time of its record.
  void note(ShardId shard, const AuditNote& note, std::uint64_t time_ms);

  void end(ShardId shard, SessionId session);

  // nullptr: not known. Valid until the next change.
  const KnownOrigin* find(ShardId shard, SessionId session) const;

  bool is_empty(ShardId shard) const { return shards_[shard.value].oldest_first.empty(); }

  std::size_t size() const { return size_; }

  // Appends the shard's state; nothing of an empty one.
  void serialize(ShardId shard, std::vector<std::byte>& bytes) const;

  // Replaces it by what serialize() gave. False: the bytes are none of it, and nothing changes.
  bool install(ShardId shard, std::span<const std::byte> bytes);

  bool plausible(std::span<const std::byte> bytes) const;

 private:
  using Origins = std::list<KnownOrigin>;

  struct Shard {
    Origins oldest_first;
    std::unordered_map<std::uint64_t, Origins::iterator> by_session;
  };

  bool parse(std::span<const std::byte> bytes, Shard& shard) const;

  std::size_t shard_max_;
  std::vector<Shard> shards_;
  std::size_t size_ = 0;  // Of all shards.
};

}  // namespace gcoord::security
