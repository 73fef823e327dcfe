// The registration of a session in one shard, as every replica of the shard keeps it.
//
// A session is registered in a shard by its first command there and stays so until its end was
// carried out by the machines of the shard (session_end.h). Its record links the sessions of the
// shard, the requests whose replies are kept (request_window.h), and what it holds. Rows are
// numbers of one node: two replicas with equal states may use different ones.
//
// Plain structs; host and device.
#pragma once

#include "common/hd.h"
#include "common/ids.h"

#include <cstdint>

namespace gcoord::sessions {

// Number of a session's registration in the session pool of one node. 0 means "none". Never leaves
// the node: equal states of two replicas may use different rows.
using SessionRow = StrongId<struct SessionRowTag, std::uint32_t>;

// Number of a kept request in the request pool of one node. 0 means "none".
using RequestRow = StrongId<struct RequestRowTag, std::uint32_t>;

// Number of something that a session holds, in a pool of the machine that keeps it: of locks the
// row of a lock. 0 means "none".
using HeldRow = StrongId<struct HeldRowTag, std::uint32_t>;

// The shard of a free row.
inline constexpr ShardId kNoShard{0xffff'ffffu};

// Requests of one session that one shard remembers, waits included: the exactly-once window of
// RIFL (Lee et al., SOSP 2015), and the bound of every loop over them. A power of two.
inline constexpr std::uint32_t kSessionRequestsMax = 64;

// How far a sequence may run ahead of acked_below. Only sanity: a wait of months keeps acked_below
// low while the session works on, and a span of 2^31 never stops it.
inline constexpr std::uint64_t kSequenceAheadMax = std::uint64_t{1} << 31;

// Sequences from here on are no client's: a machine gives them to requests that came from another
// shard, until their sessions ask again.
inline constexpr std::uint64_t kImportedSequence = std::uint64_t{1} << 63;

GCOORD_HD constexpr bool is_imported(RequestSequence sequence) {
  return sequence.value >= kImportedSequence;
}

enum class SessionPhase : std::uint8_t {
  Live = 0,
  Dying = 1,  // Its end was decided; what it holds is released over several commands.
  // The same of one whose time ran out: what has a delay stays until that is over.
  Failed = 2,
  // No client's: what keeps the records of a machine that belong to nobody.
  Keeper = 3,
};

// The id of a shard's keeper. No command may speak for it.
inline constexpr SessionId kKeeperSession{~std::uint64_t{0}};

// A session's registration in one shard. Two sectors of a device's memory.
struct alignas(16) SessionRecord {
  SessionId session;  // 0 in a row that is free.
  RequestSequence acked_below{1};
  RequestSequence forgotten_below{1};  // Sequences below it that have no record are not run.
  ShardId shard = kNoShard;
  std::uint32_t serial = 0;
  std::uint32_t ttl_ms = 0;
  SessionRow shard_next;  // List of the shard's sessions, newest first.
  SessionRow shard_previous;
  HeldRow hold_first;  // List of what it holds here, newest grant first.
  std::uint32_t hold_count = 0;
  // List of its requests, by the time of their latest answer; of a failed one the machine's own.
  RequestRow request_oldest;
  RequestRow request_newest;
  std::uint8_t request_count = 0;  // At most kSessionRequestsMax.
  SessionPhase phase = SessionPhase::Live;
};

static_assert(sizeof(SessionRecord) == 64);
static_assert(kSessionRequestsMax <= 0xff);

// What a command did to the registration of its session; at most one per command. The driver keeps
// the volatile session clock in step with it.
enum class RegistrationChange : std::uint8_t {
  None,
  Added,
  Dying,
  Removed,
  Delaying,  // It ended, but for what stays until its delay is over.
};

}  // namespace gcoord::sessions
