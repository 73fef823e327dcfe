// Payloads of LockGetAt: a lock as it was when its shard's log had come to an index.
//
// A decided entry never changes, so every node gives the same answer to the same question, at any
// time, or says why it gives none: PastCompacted, PastFuture, PastTooLong, PastUnsupported. A node
// that has not come to the index and does not lead the shard names who does.
//
// Decoding is bounded. Pure functions; thread-safe. Views in decoded values point into the payload.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/lock_messages.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// u64 index, name (the rest). Index 0 is before the first entry.
struct PastQuery {
  LogIndex index;
  std::string_view name;
};

std::vector<std::byte> encode_past_query(const PastQuery& query);
Result<PastQuery> decode_past_query(std::span<const std::byte> payload);

// u32 shard, u64 index, u8 present, then a row with details if it is 1. What was left of a
// session's time at an index nobody knows, so ttl_left_ms is 0; waiters are counted, not listed.
struct PastReply {
  ShardId shard;
  LogIndex index;        // As asked.
  bool present = false;  // The lock was held, or delayed, or waited for.
  LockRow row;
};

std::vector<std::byte> encode_past_reply(const PastReply& reply);
Result<PastReply> decode_past_reply(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
