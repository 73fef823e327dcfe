// Payloads of elections beyond campaigning and resigning, which are acquires and releases.
//
// The leader changes what others read of it (ElectProclaim) and hands over (ElectTransfer), in its
// session's exactly-once window and under its token, which is the epoch. Anybody may look at the
// line (ElectCandidates) and ask the leader to hand over (ElectAsk): that changes nothing, and the
// leader reads it with the line, as long as the node that was asked remembers it. Decoding is
// bounded and trusts no count. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Candidates that one list names at most; with the longest values they fill half a frame.
inline constexpr std::uint32_t kCandidatesMax = 1'000;

// u16 name bytes, name, value (the rest, at most kNoteBytesMax). Views into the payload.
struct Proclamation {
  std::string_view name;
  std::string_view value;
};

std::vector<std::byte> encode_proclamation(const Proclamation& said);
Result<Proclamation> decode_proclamation(std::span<const std::byte> payload);

// u64 target session, name (the rest). A view into the payload.
struct Nomination {
  SessionId target;  // Who is to lead.
  std::string_view name;
};

std::vector<std::byte> encode_nomination(const Nomination& named);
Result<Nomination> decode_nomination(std::span<const std::byte> payload);

// One who waits to lead.
struct CandidateRow {
  SessionId session;
  RequestSequence sequence;     // Of its campaign: another one is another wait.
  std::uint32_t waited_ms = 0;  // As the answering leader of the shard measured it.
  std::uint8_t rank = 0;        // Its priority; 0: none.
  std::string value;
};

// Who leads, and the line behind.
//
// u64 leader session, u64 epoch, u32 ttl_left_ms, u64 wanted session, u32 waiter count, u16 bytes,
// value, u32 listed, listed x {u64 session, u64 sequence, u32 waited_ms, u8 rank, u16 bytes, value}
struct CandidateList {
  SessionId leader;
  FencingToken epoch;
  std::uint32_t ttl_left_ms = 0;
  SessionId wanted;  // Who was asked for as the next leader, of this one; 0: nobody.
  std::uint32_t waiter_count = 0;
  std::string value;
  std::vector<CandidateRow> candidates;  // In queue order, at most kCandidatesMax.
};

std::vector<std::byte> encode_candidates(const CandidateList& list);
Result<CandidateList> decode_candidates(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
