// The bounds of the client protocol, in one place. docs/reference/wire_format.md repeats them for
// readers.
//
// They are part of the protocol: client and node check the same numbers, and a later version may
// only raise an upper bound together with a feature bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcoord::protocol {

// One cache line; docs/reference/wire_format.md has the slot and the header.
inline constexpr std::size_t kSlotBytes = 64;
inline constexpr std::size_t kFrameHeaderBytes = 32;

// Largest frame, header included. A reply to a keep-alive that misses 65,000 sessions fits (1 MB);
// a connection never needs more buffer than this, whatever the other side claims.
inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;

// What is left for payloads in a frame with one slot.
inline constexpr std::size_t kPayloadBytesMax = kFrameBytesMax - kFrameHeaderBytes - kSlotBytes;

// Sessions that hold one lock together. The lock tables know the same number.
inline constexpr std::uint32_t kHoldersMax = 64;

// Names of locks: UTF-8, as long as a path may reasonably be.
inline constexpr std::size_t kNameBytesMax = 1024;

// Bytes of a note that a holder leaves with its lock. The lock tables know the same number.
inline constexpr std::size_t kNoteBytesMax = 512;

// How long a lock may stay nobody's after its holder failed. The lock tables know the same number.
inline constexpr std::uint32_t kDelayMsMax = 60'000;

// Bytes of who breaks a lock; why is as long as a note. The lock tables know the same numbers.
inline constexpr std::size_t kBreakWhoBytesMax = 128;

// Losses that one answer names; the rest are told when these have been.
inline constexpr std::uint32_t kLossesMax = 512;

// A session lives at least a few heartbeats and at most a day without its client.
inline constexpr std::uint32_t kTtlMsMin = 100;
inline constexpr std::uint32_t kTtlMsMax = 24u * 60 * 60 * 1000;

// A bounded wait is at most a day; kForeverMs waits without bound.
inline constexpr std::uint32_t kWaitMsMax = 24u * 60 * 60 * 1000;
inline constexpr std::uint32_t kForeverMs = 0xffff'ffff;

// Requests of one session that one shard remembers, waits included: its completion records.
inline constexpr std::uint64_t kSequenceWindow = 64;

// Unanswered requests of one session in one shard that a client allows itself; the other half of
// the window keeps the replies of answered ones until acked_below passes them.
inline constexpr std::uint64_t kOutstandingMax = kSequenceWindow / 2;

// How far a sequence may be above acked_below. Only sanity: a wait of months keeps acked_below low
// while its session works on. The lock tables know the same number and the log stores the distance
// in 32 bits.
inline constexpr std::uint64_t kSequenceAheadMax = std::uint64_t{1} << 31;

// Entries of one batch, such that the longest reply still fits a frame: 16 bytes for a session.
inline constexpr std::uint32_t kKeepAliveSessionsMax = 65'000;
inline constexpr std::uint32_t kCheckBatchMax = 16'384;
inline constexpr std::uint32_t kLeaderMapShardsMax = 131'072;
inline constexpr std::uint32_t kListRowsMax = 1'000;

// An opaque cursor of LockList: a shard, a name and some slack.
inline constexpr std::size_t kCursorBytesMax = kNameBytesMax + 64;

// Nodes that a Welcome may list, and the bytes of one address ("host:port", host <= 253).
inline constexpr std::uint32_t kNodesMax = 64;
inline constexpr std::size_t kAddressBytesMax = 260;

// Shards of a cluster: as many as --shards allows. A client keeps a few bytes for each.
inline constexpr std::uint32_t kShardsMax = 1u << 24;

// Lengths of time in a Welcome: a tick and an election timeout are below a day by far.
inline constexpr std::uint32_t kPeriodMsMax = kTtlMsMax;

// Bytes of a node's words for a refusal that a client keeps; the rest is cut off.
inline constexpr std::size_t kReasonBytesMax = 1024;

}  // namespace gcoord::protocol
