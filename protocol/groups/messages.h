// Payloads of requests about groups (kinds 120 to 124), and what their answers say.
//
// Joins, leaves, updates and arrivals at a barrier are requests in their session's exactly-once
// window, as acquires are. A look at a group (GroupGet) answers at once, or waits until the group
// has another view than the one that the client knows; so a client that looks again and again sees
// each view, in order. Decoding is bounded and trusts no count. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/error_codes.h"
#include "protocol/request.h"
#include "protocol/validate.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// The bounds of groups; the group tables know the same numbers.
inline constexpr std::size_t kGroupNameBytesMax = 256;
inline constexpr std::size_t kMemberIdBytesMax = 64;
inline constexpr std::size_t kMemberPayloadBytesMax = 512;
inline constexpr std::uint32_t kGroupMembersMax = 256;

// Changes that one answer lists; with the longest texts they fill two thirds of a frame.
inline constexpr std::uint32_t kGroupChangesMax = 1'024;

// GroupJoin: u16 name bytes, name, u16 id bytes, id, payload (the rest). Views into the payload.
struct GroupJoin {
  std::string_view name;
  std::string_view id;
  std::string_view payload;
};

std::vector<std::byte> encode_group_join(const GroupJoin& join);
Result<GroupJoin> decode_group_join(std::span<const std::byte> payload);

// GroupUpdate: u16 name bytes, name, payload (the rest).
struct GroupUpdate {
  std::string_view name;
  std::string_view payload;
};

std::vector<std::byte> encode_group_update(const GroupUpdate& update);
Result<GroupUpdate> decode_group_update(std::span<const std::byte> payload);

// GroupBarrier: u32 size, name (the rest).
struct GroupArrival {
  std::uint32_t size = 0;
  std::string_view name;
};

std::vector<std::byte> encode_group_arrival(const GroupArrival& arrival);
Result<GroupArrival> decode_group_arrival(std::span<const std::byte> payload);

// GroupGet: u64 epoch, u32 member count, name (the rest).
struct GroupQuery {
  std::uint64_t epoch = 0;         // Of the view that the client has; 0: it has none.
  std::uint32_t member_count = 0;  // In that view.
  std::string_view name;
};

std::vector<std::byte> encode_group_query(const GroupQuery& query);
Result<GroupQuery> decode_group_query(std::span<const std::byte> payload);

// Never renumber.
enum class GroupChangeKind : std::uint8_t { Joined = 1, Left = 2, Updated = 3 };

struct GroupChangeRow {
  std::uint64_t epoch = 0;  // Rows of one epoch are one view.
  GroupChangeKind kind{};
  SessionId session;
  std::string id;
  std::string payload;
};

// The answer to GroupGet: the whole view, each member as one that joined, by rank; or the changes
// since the view that the client has, in order. No rows and not whole: the deadline has passed and
// nothing changed.
//
// u8 whole, u64 epoch, u32 barrier size, u32 arrived, u32 rows, rows x {u64 epoch, u8 kind, u64
// session, u16 id bytes, id, u16 payload bytes, payload}
struct GroupAnswer {
  bool whole = false;
  std::uint64_t epoch = 0;
  std::uint32_t barrier_size = 0;  // 0: nobody waits at the barrier.
  std::uint32_t arrived = 0;
  std::vector<GroupChangeRow> rows;
};

std::vector<std::byte> encode_group_answer(const GroupAnswer& answer);
Result<GroupAnswer> decode_group_answer(std::span<const std::byte> payload);

// Also for clients, before they send. None for a name, an id, a payload or a size within bounds.
ErrorCode check_group_name(std::string_view name);
ErrorCode check_member_id(std::string_view id);
ErrorCode check_member_payload(std::string_view payload);
ErrorCode check_barrier_size(std::uint32_t size);

// The fields of a request of these kinds; protocol/validate.h leaves them to this.
ErrorCode check_group_request(const RequestSlot& slot,
                              std::span<const std::byte> payload,
                              const RequestLimits& limits);

}  // namespace gcoord::protocol
