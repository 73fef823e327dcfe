// GroupRequest and GroupWithdraw: commands to the groups of a shard, as they stand in its log.
//
// Groups (membership/groups) are a machine of their own beside the locks. Its sessions and their
// windows of requests are those of the shard, which this machine keeps. So a request to a group is
// a command here: it registers the session, has a place in the window, and answers LockCode::
// GroupTaken when it is new; what it does to its group is the other machine's to say, and is kept
// with the window's record (LockCpu::keep_group_reply).
//
//   GroupRequest   kind 1, flags 1, acked 4, session 8, sequence 8, [ttl_ms 4 if kRegister], name
//                  bytes 2, name, and what is asked (membership/groups/command.h)
//   GroupWithdraw  kind 1, flags 1 (GroupWithdrawFlag), session 8, sequence 8, generation of the
//                  barrier 8 (as the command's token), name
//
// Encoding and decoding are host only and thread-safe.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "common/status.h"
#include "locks/commands/command.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::locks {

// The longest name of a group, and of what is asked of one. The groups know the same numbers.
inline constexpr std::uint32_t kGroupNameBytesMax = 256;
inline constexpr std::uint32_t kGroupBodyBytesMax = 2 + 64 + 512;

GCOORD_HD constexpr bool is_group_kind(LockCommandKind kind) {
  return kind == LockCommandKind::GroupRequest || kind == LockCommandKind::GroupWithdraw;
}

// `text` is the name and right behind it what is asked; it outlives the command.
struct GroupFields {
  SessionId session;
  RequestSequence sequence;
  RequestSequence acked_below{1};
  std::uint32_t ttl_ms = 0;  // 0: it does not register the session.
  std::uint16_t name_bytes = 0;
  std::string_view text;
};

LockCommand make_group_request(const GroupFields& fields);

// Never renumber: they are in logs. Without one it is of a barrier.
enum GroupWithdrawFlag : std::uint8_t {
  kWithdrawRendezvous = 1,  // The session waits for a rendezvous, and its time has run out.
  // The last call of a rendezvous, whose number is the generation, has run its time. The session is
  // one of those that wait for it.
  kWithdrawLastCall = 2,
};

// The arrival of a session at a barrier, or at a rendezvous.
struct GroupArrivalFields {
  SessionId session;
  RequestSequence sequence;      // Of the request by which it arrived.
  std::uint64_t generation = 0;  // Of the barrier.
  std::string_view name;         // Of the group; it outlives the command.
  std::uint8_t flags = 0;        // Of GroupWithdrawFlag, at most one.
};

// It is taken back.
LockCommand make_group_withdraw(const GroupArrivalFields& arrival);

// Of a GroupRequest: what is asked. Of a GroupWithdraw the barrier's generation.
std::string_view group_body(const LockCommand& command);

inline std::uint64_t group_generation(const LockCommand& command) {
  return command.token.value;
}

// As encode() and decode() of command.h; the bytes begin behind the kind.
std::size_t encode_group(const LockCommand& command, std::vector<std::byte>& out);
Result<LockCommand> decode_group(LockCommandKind kind, std::span<const std::byte> bytes);

}  // namespace gcoord::locks
