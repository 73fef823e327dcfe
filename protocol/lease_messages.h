// Payloads of SessionShow and SessionList: what a node knows of sessions, and of a lease's keys.
//
// A session that was granted (SessionGrant) is registered in its home shard and lives there for its
// TTL whether it holds a lock or not: that is what other systems call a lease, and its locks are
// the lease's keys. A session that only ever acquired locks is registered where these are, and has
// no home. Each node knows all registrations, as far as its replicas have applied; how much time is
// left is certain of shards that it leads.
//
// Decoding is bounded and never trusts a count. Pure functions; thread-safe. Views in decoded
// values point into the payload.
#pragma once

#include "common/ids.h"
#include "common/random.h"
#include "common/status.h"
#include "protocol/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Ids below it are chosen by clients, ids above it by nodes, whose number is in the upper bits.
inline constexpr std::uint64_t kSessionIdChosenEnd = std::uint64_t{1} << 48;

// Stands in replies for a session that the client may not see. No node gives it out.
inline constexpr SessionId kHiddenSession{~std::uint64_t{0}};

// Names of a session's locks that one reply shows.
inline constexpr std::uint32_t kSessionKeysMax = 800;

// Rows of one page.
inline constexpr std::uint32_t kSessionRowsMax = 10'000;

// Where a granted session is registered. Part of the protocol: client and node compute the same.
inline ShardId home_shard(SessionId session, std::uint32_t shard_count) {
  return ShardId{static_cast<std::uint32_t>(mix64(session.value) % shard_count)};
}

// One session. 32 bytes as it travels: u64 session, u32 ttl, u32 remaining, u32 registrations,
// u32 locks, u32 flags (1: has a home), u32 zero.
struct SessionRow {
  SessionId session;
  std::uint32_t ttl_ms = 0;        // As granted; of several registrations the shortest.
  std::uint32_t remaining_ms = 0;  // Of the same the least.
  std::uint32_t registration_count = 0;
  std::uint32_t lock_count = 0;
  bool granted = false;  // Has a home.
};

// Reply of SessionShow: the row, u32 count, then {u16 bytes, name} each; fewer names than locks
// when they do not fit. A session that is gone has no registration.
struct SessionDetails {
  SessionRow row;
  std::vector<std::string> keys;
};

std::vector<std::byte> encode_session(const SessionDetails& details);
Result<SessionDetails> decode_session(std::span<const std::byte> payload);

// Which sessions a list is about. Never renumber.
enum class SessionFilter : std::uint8_t {
  All = 0,
  Holding = 1,  // At least one lock.
  Idle = 2,     // None.
};

// u8 filter, u8 count only, u16 zero, u32 limit, u32 remaining_below_ms, u32 cursor
struct SessionQuery {
  SessionFilter filter = SessionFilter::All;
  bool count_only = false;
  std::uint32_t limit = 1000;                      // 1 to kSessionRowsMax.
  std::uint32_t remaining_below_ms = 0xffff'ffff;  // Only those with less time left.
  std::uint32_t cursor = 0;                        // Of the last page of the same node; 0: begin.
};

std::vector<std::byte> encode_session_query(const SessionQuery& query);
Result<SessionQuery> decode_session_query(std::span<const std::byte> payload);

// u32 next cursor (0: no more on this node), u32 count, u32 rows, then rows. A node lists the
// sessions whose home it leads, and of those without a home the ones whose first shard it leads;
// `count` is of this page, rows are left out of a count.
struct SessionPage {
  std::uint32_t next_cursor = 0;
  std::uint32_t count = 0;
  std::vector<SessionRow> rows;
};

std::vector<std::byte> encode_session_page(const SessionPage& page);
Result<SessionPage> decode_session_page(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
