// Payloads of LockRead and LockReadList: reads that say how fresh their answer must be.
//
// A LockRead names up to kReadNamesMax locks of any shards, and one consistency for all of them.
// Its reply says of each shard up to which log index its state was applied, and how old it may be;
// then what was asked, in the order asked. A shard that could not be read says why, and its names
// have no answer. A LockReadList asks one node for a page of whatever it holds, led there or not.
//
// Decoding is bounded and never trusts a count. Pure functions; thread-safe. Views in decoded
// values point into the payload.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/error_codes.h"
#include "protocol/limits.h"
#include "protocol/lock_messages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// What the state that answers must have seen. Never renumber.
enum class ReadConsistency : std::uint8_t {
  Linearizable = 1,  // All that was acknowledged before; a round of the quorum says so (ReadIndex).
  Lease = 2,         // The same; while the leader's lease is valid it needs to ask nobody.
  Serializable = 3,  // Some state of the past, of any replica; the reply says how old at most.
  Bounded = 4,       // All that was acknowledged longer than staleness_ms ago, of any replica.
  Monotonic = 5,     // All up to the indexes of `after`, of any replica.
};

// What is asked of each name. Never renumber.
enum class ReadQuestion : std::uint8_t {
  Verdict = 1,  // Whether the lock is held under the token.
  Row = 2,      // The lock as LockGet with details describes it.
};

inline constexpr std::uint32_t kReadNamesMax = kCheckBatchMax;

// Shards that one request may name positions of, and that one reply may answer for.
inline constexpr std::uint32_t kReadShardsMax = kCheckBatchMax;

// Age of a state that was never compared with its leader's.
inline constexpr std::uint32_t kAgeUnknown = 0xffff'ffff;

// A place in one shard's log.
struct ShardPosition {
  ShardId shard;
  LogIndex index;

  bool operator==(const ShardPosition&) const = default;
};

struct ReadTerms {
  ReadConsistency consistency = ReadConsistency::Lease;
  std::uint32_t staleness_ms = 0;    // Of Bounded.
  std::vector<ShardPosition> after;  // Of Monotonic; shards that it leaves out may be of any age.
};

// u8 consistency, u8 question, u16 zero, u32 staleness_ms, u32 count {u32 shard, u64 index},
// u32 count {u64 token, u16 name bytes, name}. Tokens are 0 unless verdicts are asked for.
struct LockRead {
  ReadTerms terms;
  ReadQuestion question = ReadQuestion::Row;
  std::vector<TokenCheck> names;
};

std::vector<std::byte> encode_lock_read(const LockRead& read);
Result<LockRead> decode_lock_read(std::span<const std::byte> payload);

// Of one shard in a reply.
struct ShardAnswer {
  ShardId shard;
  ErrorCode error = ErrorCode::None;   // NotLeader, NoLeader, StalenessExceeded, IndexNotReached.
  NodeId leader;                       // Of NotLeader: whom to ask; 0: not known.
  LogIndex index;                      // The answer shows all up to here.
  std::uint32_t age_ms = kAgeUnknown;  // All that was acknowledged longer ago is in it.
};

// The answer for one name; none when its shard has an error, or when the reply was full.
struct NameAnswer {
  bool answered = false;
  CheckVerdict verdict = CheckVerdict::Free;
  bool present = false;  // Of a row: the lock is held.
  LockRow row;
};

// u8 question, u8[3] zero, u32 count {u32 shard, u32 error, u32 leader, u64 index, u32 age_ms},
// u32 count {u8 state, then a u32 verdict, or u32 bytes and a row with details}. State 0: not
// answered; 1: nothing is there; 2: an answer follows.
struct LockReadReply {
  ReadQuestion question = ReadQuestion::Row;
  std::vector<ShardAnswer> shards;  // By rising shard.
  std::vector<NameAnswer> names;
};

std::vector<std::byte> encode_lock_read_reply(const LockReadReply& reply);
Result<LockReadReply> decode_lock_read_reply(std::span<const std::byte> payload);

// The terms as above, then a ListQuery. The reply is a ListPage, and behind it the shards of its
// rows: u32 count {as above}.
struct LockReadList {
  ReadTerms terms;
  ListQuery query;
};

std::vector<std::byte> encode_read_list(const LockReadList& list);
Result<LockReadList> decode_read_list(std::span<const std::byte> payload);

// u32 bytes of the page, the page, then the shards.
struct LockReadPage {
  ListPage page;
  std::vector<ShardAnswer> shards;
};

std::vector<std::byte> encode_read_page(const LockReadPage& page);
Result<LockReadPage> decode_read_page(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
