// From what the lock service decided to what a client is told: reply slots and error numbers.
//
// Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "locks/commands/reply.h"
#include "locks/cpu/lock_cpu.h"
#include "locks/state/query.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/request.h"

namespace gcoord::server {

// The error that a lock code stands for; None for the codes that are successes.
protocol::ErrorCode error_of(locks::LockCode code);

// What is said of a token to a client that does not know of broken holds: whether the lock is held
// under it, under another, or by nobody. On the thread that owns the tables.
protocol::CheckVerdict plain_verdict(const locks::LockCpu& tables, const locks::TokenCheck& check);

// A lock as it is told to clients, less what only a leader knows: how long its holder's session
// still lives, and since when others wait.
protocol::LockRow row_of(const locks::HeldLock& lock);

// A reply with the error's canonical code and number.
protocol::ReplySlot error_reply(const protocol::RequestSlot& request, protocol::ErrorCode error);

// "Ask there": NotLeader with the hint, or NoLeader when no leader is known.
protocol::ReplySlot not_leader_reply(const protocol::RequestSlot& request, NodeId leader);

// "The lock is in that shard now."
protocol::ReplySlot moved_reply(const protocol::RequestSlot& request, ShardId to);

// Why a proposal or read did not happen, as the engine says it (server/interfaces/state_machine.h).
protocol::ReplySlot engine_refusal(const protocol::RequestSlot& request,
                                   const Status& status,
                                   NodeId leader);

struct DecisionContext {
  Term term;                 // Of the leader that answers.
  std::uint32_t ttl_ms = 0;  // Left to the session.
};

// The answer to a command that was applied.
protocol::ReplySlot decision_reply(const protocol::RequestSlot& request,
                                   const locks::LockReply& decision,
                                   const DecisionContext& context);

// The answer to a cancel: Ok when the acquire leaves nothing behind, AcquireGranted with its token
// when it had been granted before; with AlreadyHeld when the session had held the lock before that.
protocol::ReplySlot cancel_reply(const protocol::RequestSlot& request,
                                 const locks::LockReply& decision,
                                 const DecisionContext& context);

// A success that also says at which log index it was decided, if the request asked for that.
protocol::ReplySlot indexed(protocol::ReplySlot reply,
                            const protocol::RequestSlot& request,
                            LogIndex index);

// The answer to a SessionGrant. A node's own ids are given out once, so whoever comes with one that
// is registered already asks again; of an id that a client chose nobody can tell.
protocol::ReplySlot grant_reply(const protocol::RequestSlot& request,
                                const locks::LockReply& decision);

// The answer to an acquire whose wait ended.
protocol::ReplySlot event_reply(const protocol::RequestSlot& request,
                                const locks::LockEvent& event,
                                const DecisionContext& context);

}  // namespace gcoord::server
