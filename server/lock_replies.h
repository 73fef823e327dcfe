// From what the lock service decided to what a client is told: reply slots and error numbers.
//
// Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "locks/lock_cpu.h"
#include "locks/lock_query.h"
#include "locks/lock_reply.h"
#include "rpc/error_codes.h"
#include "rpc/lock_messages.h"
#include "rpc/request.h"

namespace gcoord::server {

// The error that a lock code stands for; None for the codes that are successes.
rpc::ErrorCode error_of(locks::LockCode code);

// What is said of a token to a client that does not know of broken holds: whether the lock is held
// under it, under another, or by nobody. On the thread that owns the tables.
rpc::CheckVerdict plain_verdict(const locks::LockCpu& tables, const locks::TokenCheck& check);

// A lock as it is told to clients, less what only a leader knows: how long its holder's session
// still lives, and since when others wait.
rpc::LockRow row_of(const locks::HeldLock& lock);

// A reply with the error's canonical code and number.
rpc::ReplySlot error_reply(const rpc::RequestSlot& request, rpc::ErrorCode error);

// "Ask there": NotLeader with the hint, or NoLeader when no leader is known.
rpc::ReplySlot not_leader_reply(const rpc::RequestSlot& request, NodeId leader);

// Why a proposal or read did not happen, as the engine says it (server/service.h).
rpc::ReplySlot engine_refusal(const rpc::RequestSlot& request, const Status& status, NodeId leader);

struct DecisionContext {
  Term term;                 // Of the leader that answers.
  std::uint32_t ttl_ms = 0;  // Left to the session.
};

// The answer to a command that was applied.
rpc::ReplySlot decision_reply(const rpc::RequestSlot& request,
                              const locks::LockReply& decision,
                              const DecisionContext& context);

// The answer to a cancel: Ok when the acquire leaves nothing behind, AcquireGranted with its token
// when it had been granted before; with AlreadyHeld when the session had held the lock before that.
rpc::ReplySlot cancel_reply(const rpc::RequestSlot& request,
                            const locks::LockReply& decision,
                            const DecisionContext& context);

// A success that also says at which log index it was decided, if the request asked for that.
rpc::ReplySlot indexed(rpc::ReplySlot reply, const rpc::RequestSlot& request, LogIndex index);

// The answer to a SessionGrant. A node's own ids are given out once, so whoever comes with one that
// is registered already asks again; of an id that a client chose nobody can tell.
rpc::ReplySlot grant_reply(const rpc::RequestSlot& request, const locks::LockReply& decision);

// The answer to an acquire whose wait ended.
rpc::ReplySlot event_reply(const rpc::RequestSlot& request,
                           const locks::LockEvent& event,
                           const DecisionContext& context);

}  // namespace gcoord::server
