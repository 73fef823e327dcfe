// Typed forms of the lock requests, and their list payloads.
//
// Requests that fit a slot are made by to_slot() and read back by from_slot(); the name is the
// payload, unchanged. Lists (batch check, lock rows, leader map) have explicit counts, are bounded
// by limits.h and are decoded without trusting any of them. Field checks are in validate.h.
// Pure functions; thread-safe. Views in decoded values point into the payload they came from.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Who asks, and where in the exactly-once window (RIFL, Lee et al., SOSP 2015).
struct Caller {
  SessionId session;
  RequestSequence sequence;
  RequestSequence acked_below;
};

struct LockAcquire {
  Caller caller;
  std::uint32_t wait_ms = 0;      // 0: try; kForeverMs: until granted or the session ends.
  std::uint32_t ttl_ms = 0;       // Registers the session in the shard on first use.
  std::uint32_t deadline_ms = 0;  // Only for a try: how long the answer is wanted.
};

// Bits of LockHold::flags. Never renumber; the lock tables know the same numbers.
enum class HoldFlag : std::uint8_t {
  Reentrant = 1,  // An acquire by the holder counts one hold more, up to `limit`.
  Shared = 2,     // Together with others: readers with limit 0, else up to `limit` permits.
  Downgrade = 4,  // With Shared: the session holds it alone and goes on as a reader.
  Ranked = 64,    // Alone, by a candidate of the rank `permits`, from 1 on.
};

// What an acquire asks for beyond a plain hold. Texts point into the payload.
//
// u8 flags, u8 permits, u16 limit, u16 delay_ms, u16 zero, u16 name bytes, name, note (the rest, at
// most kNoteBytesMax)
struct LockHold {
  std::uint8_t flags = 0;
  std::uint8_t permits = 0;  // Of a shared hold: at least 1, of a reader 1.
  // Of a reentrant hold: how many times it may be held, at least 1. Of a shared one: see Shared.
  std::uint16_t limit = 0;
  // Of a hold alone: how long nobody has the lock after its holder failed, at most kDelayMsMax.
  std::uint16_t delay_ms = 0;
  std::string_view name;
  std::string_view note;

  bool has(HoldFlag flag) const { return (flags & static_cast<std::uint8_t>(flag)) != 0; }
};

std::vector<std::byte> encode_hold(const LockHold& hold);
// Any bytes that have the form; whether somebody may ask so is check_hold()'s (validate.h). The
// note of the result stands right behind its name.
Result<LockHold> decode_hold(std::span<const std::byte> payload);

// Kind and fields of the same acquire with a LockHold as its payload.
RequestSlot to_hold_slot(const LockAcquire& acquire);

// The token is the one that the acquire was granted; the lock is freed only under it.
struct LockRelease {
  Caller caller;
  FencingToken token;
  bool by_token = false;  // RequestFlag::ByToken.
};

// Kind and fields; the sender adds request_id and shard. On the wire a waiting acquire is the flag
// Wait and deadline_ms = wait_ms.
RequestSlot to_slot(const LockAcquire& acquire);
RequestSlot to_slot(const LockRelease& release);
LockAcquire acquire_from_slot(const RequestSlot& slot);
LockRelease release_from_slot(const RequestSlot& slot);
Caller caller_of(const RequestSlot& slot);

// Payloads as text and back, without copying.
std::string_view text_of(std::span<const std::byte> payload);
std::span<const std::byte> bytes_of(std::string_view text);

// The answer to a token check. Never renumber.
enum class CheckVerdict : std::uint32_t {
  Valid = 1,      // The lock is held under this very token.
  Stale = 2,      // It is held under another token.
  Free = 3,       // Nobody holds it; the token is of the past.
  NotLeader = 4,  // In a batch: this node does not lead the name's shard. Ask another.
};

// One question of a batch; the name points into the payload or to the caller's own.
struct TokenCheck {
  std::string_view name;
  FencingToken token;
};

// u32 count, then {u64 token, u16 name bytes, name} each. Names are checked as by check_name().
std::vector<std::byte> encode_check_batch(std::span<const TokenCheck> checks);
Result<std::vector<TokenCheck>> decode_check_batch(std::span<const std::byte> payload);

// u32 count, then u32 verdict each, in the order asked.
std::vector<std::byte> encode_verdicts(std::span<const CheckVerdict> verdicts);
Result<std::vector<CheckVerdict>> decode_verdicts(std::span<const std::byte> payload);

// One session in a lock's queue; its place in the list is its place in the queue.
struct LockWaiter {
  SessionId session;
  RequestSequence sequence;
  std::uint32_t waited_ms = 0;  // As the answering leader measured it.
};

// One of those who hold a lock together.
struct LockHolder {
  SessionId session;
  FencingToken token;
  LogIndex acquired_index;
  std::uint32_t permits = 0;
};

// One lock that is held or waited for.
struct LockRow {
  std::string name;
  ShardId shard;
  SessionId holder;         // 0: free, and waited for only until the next entry is applied.
  FencingToken token;       // Of the present holder.
  LogIndex acquired_index;  // The log entry that granted it.
  std::uint32_t ttl_left_ms = 0;
  std::uint32_t waiter_count = 0;
  std::vector<LockWaiter> waiters;  // In queue order; only with RequestFlag::Waiters.

  // Only with RequestFlag::Details.
  std::uint32_t hold_count = 1;     // How many releases the holder owes.
  std::string note;                 // What the holder left for others to read.
  std::uint32_t permits_limit = 0;  // Of a lock that is held together; 0: it is held by one alone.
  std::vector<LockHolder> holders;  // Then: by their tokens. At most kHoldersMax.
};

std::vector<std::byte> encode_lock_row(const LockRow& row);
Result<LockRow> decode_lock_row(std::span<const std::byte> payload);

// The answer with RequestFlag::Details: the row, and behind it u32 hold count, u16 bytes, note,
// u32 permits limit, u32 count, count x {u64 session, u64 token, u64 acquired index, u32 permits}.
std::vector<std::byte> encode_lock_details(const LockRow& row);
Result<LockRow> decode_lock_details(std::span<const std::byte> payload);

// LockList answers for the shards that the asked node leads; a client walks the nodes.
struct ListQuery {
  std::string prefix;
  std::string cursor;         // Empty: from the beginning. Opaque to the client.
  std::uint32_t limit = 100;  // Rows of one page, 1 to kListRowsMax.
};

// Rows come in no order that means anything; every row fits the frame (encoded_bytes()).
struct ListPage {
  std::vector<LockRow> rows;
  std::string next_cursor;  // Empty: no more on this node.
};

std::vector<std::byte> encode_list_query(const ListQuery& query);
Result<ListQuery> decode_list_query(std::span<const std::byte> payload);

// Bytes that a row takes in a page, so that a node can stop before kPayloadBytesMax.
std::size_t encoded_bytes(const LockRow& row);
std::vector<std::byte> encode_list_page(const ListPage& page);
Result<ListPage> decode_list_page(std::span<const std::byte> payload);

// Shards first to first + count - 1; the node cuts off what is beyond the cluster's shards.
struct ShardRange {
  ShardId first;
  std::uint32_t count = 0;
};

std::vector<std::byte> encode_shard_range(const ShardRange& range);
Result<ShardRange> decode_shard_range(std::span<const std::byte> payload);

// leaders[i] leads shard first + i as the answering node believes; node 0: not known.
struct LeaderMap {
  ShardId first;
  std::vector<NodeId> leaders;
};

std::vector<std::byte> encode_leader_map(const LeaderMap& map);
Result<LeaderMap> decode_leader_map(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
