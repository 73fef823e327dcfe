// Payloads of requests about rendezvous (kinds 125 to 127), and what their answers say.
//
// A join is a request in its session's exactly-once window and is answered when the round is
// complete, or when its deadline has passed. A look (RendezvousGet) answers at once, or waits until
// something has changed since the version that the client knows. Decoding is bounded and trusts no
// count. Pure functions; thread-safe.
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

// The bounds of rendezvous; membership/rendezvous knows the same numbers.
inline constexpr std::size_t kRendezvousNameBytesMax = 256;
inline constexpr std::size_t kRendezvousPayloadBytesMax = 512;
inline constexpr std::uint32_t kRendezvousMembersMax = 256;
inline constexpr std::uint32_t kRendezvousLastCallMsMax = 86'400'000;  // As long as a wait may be.

// RendezvousJoin: u32 members at least, u32 at most, u32 last call in milliseconds, u16 name bytes,
// name, payload (the rest). Views into the payload.
struct RendezvousJoin {
  std::uint32_t members_min = 0;
  std::uint32_t members_max = 0;
  std::uint32_t last_call_ms = 0;
  std::string_view name;
  std::string_view payload;
};

std::vector<std::byte> encode_rendezvous_join(const RendezvousJoin& join);
Result<RendezvousJoin> decode_rendezvous_join(std::span<const std::byte> payload);

struct RendezvousMemberRow {
  SessionId session;
  std::string payload;

  friend bool operator==(const RendezvousMemberRow& a, const RendezvousMemberRow& b) = default;
};

// The answer to RendezvousJoin: the members of the round, by rank.
//
// u32 members, members x {u64 session, u16 payload bytes, payload}
std::vector<std::byte> encode_rendezvous_round(const std::vector<RendezvousMemberRow>& members);
Result<std::vector<RendezvousMemberRow>> decode_rendezvous_round(
    std::span<const std::byte> payload);

// RendezvousGet: u64 version that the client knows, 0: none; name (the rest).
struct RendezvousQuery {
  std::uint64_t version = 0;
  std::string_view name;
};

std::vector<std::byte> encode_rendezvous_query(const RendezvousQuery& query);
Result<RendezvousQuery> decode_rendezvous_query(std::span<const std::byte> payload);

// The answer to RendezvousGet.
//
// u64 version, u64 round, u64 alive, u32 size, u32 present, u32 waiting, u32 members at least, u32
// at most, u32 last call in milliseconds, u8 1 while the last call runs
struct RendezvousState {
  std::uint64_t version = 0;  // Another one after each change; 1: nobody is there.
  std::uint64_t round = 0;    // The last one; 0: none that anybody is in.
  std::uint64_t alive = 0;    // Bit r: the member of rank r of the round is in; ranks below 64.
  std::uint32_t size = 0;     // Members that the round had.
  std::uint32_t present = 0;  // Of these, who have not come again, left or ended.
  std::uint32_t waiting = 0;  // Sessions that wait for the next round.
  std::uint32_t members_min = 0;
  std::uint32_t members_max = 0;
  std::uint32_t last_call_ms = 0;
  bool last_call = false;

  friend bool operator==(const RendezvousState& a, const RendezvousState& b) = default;
};

std::vector<std::byte> encode_rendezvous_state(const RendezvousState& state);
Result<RendezvousState> decode_rendezvous_state(std::span<const std::byte> payload);

// Also for clients, before they send. None for a name, bounds or a payload within the limits.
ErrorCode check_rendezvous_name(std::string_view name);
ErrorCode check_rendezvous_join(const RendezvousJoin& join);

// The fields of a request of these kinds; protocol/validate.h leaves them to this.
ErrorCode check_rendezvous_request(const RequestSlot& slot,
                                   std::span<const std::byte> payload,
                                   const RequestLimits& limits);

}  // namespace gcoord::protocol
