#include "server/lock_service/lock_requests.h"

#include "common/name_hash.h"
#include "protocol/force_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/move_messages.h"
#include "protocol/validate.h"

#include <string>

namespace gcoord::server {

namespace {

// What protocol/validate.h admits, locks::encode() must be able to write.
static_assert(protocol::kSequenceAheadMax == locks::kSequenceAheadMax);
static_assert(protocol::kNameBytesMax == locks::kNameBytesMax);
static_assert(protocol::kSessionReserved == locks::kKeeperSession.value);
static_assert(protocol::kSessionIdChosenEnd == sessions::kChosenSessionEnd);
static_assert(protocol::kTtlMsMax == locks::kTtlMsMax);
static_assert(protocol::kNoteBytesMax == locks::kNoteBytesMax);
static_assert(protocol::kHoldersMax == locks::kHoldersMax);
static_assert(protocol::kDelayMsMax == locks::kDelayMsMax);
static_assert(protocol::kBreakWhoBytesMax == locks::kBreakWhoBytesMax);
static_assert(static_cast<std::uint8_t>(protocol::HoldFlag::Reentrant) == locks::kHoldReentrant);
static_assert(static_cast<std::uint8_t>(protocol::HoldFlag::Shared) == locks::kHoldShared);
static_assert(static_cast<std::uint8_t>(protocol::HoldFlag::Downgrade) == locks::kHoldDowngrade);
static_assert(static_cast<std::uint8_t>(protocol::HoldFlag::Ranked) == locks::kHoldRanked);

using protocol::ErrorCode;

}  // namespace

void LockRequests::acquire(const ClientRequest& request) {
  const locks::LockCommand command = request.lock_command();
  env_.submitter.submit(request, env_.locator.shard_for(request.slot, command.name_hash), command);
}

void LockRequests::hold(const ClientRequest& request) {
  const auto decoded = protocol::decode_hold(request.payload);
  GCOORD_ASSERT(decoded.ok());  // check_request() did the same.
  const protocol::LockHold& hold = decoded.value();
  const protocol::LockAcquire acquire = protocol::acquire_from_slot(request.slot);
  const locks::LockCommand command =
      locks::make_acquire_hold({.acquire = {acquire.caller.session,
                                            acquire.caller.sequence,
                                            acquire.caller.acked_below,
                                            hold.name,
                                            acquire.wait_ms != 0,
                                            acquire.ttl_ms},
                                .ask = {.flags = hold.flags,
                                        .permits = hold.permits,
                                        .limit = hold.limit,
                                        .delay_ms = hold.delay_ms},
                                .text = {hold.name.data(), hold.name.size() + hold.note.size()}});
  if (!env_.log.takes(command)) {
    return env_.replies.refuse(request, ErrorCode::HoldsUnsupported);
  }
  env_.submitter.submit(request, env_.locator.shard_for(request.slot, command.name_hash), command);
}

void LockRequests::release(const ClientRequest& request) {
  const locks::LockCommand command = request.lock_command();
  env_.submitter.submit(request, env_.locator.shard_for(request.slot, command.name_hash), command);
}

void LockRequests::cancel(const ClientRequest& request) {
  const protocol::Caller caller = protocol::caller_of(request.slot);
  const locks::LockCommand command =
      locks::make_cancel_wait(caller.session, caller.sequence, false);
  const NameHash hash = hash_name(request.text());
  const ShardId shard = env_.locator.shard_for(request.slot, hash);
  // Else the wait would come with the lock after it was given up, and be granted to nobody.
  if (env_.leaders.leads(shard) && env_.locator.is_arriving(request.slot, shard, hash)) {
    return env_.replies.refuse(request, ErrorCode::LockMoving);
  }
  env_.submitter.submit(request, shard, command);
}

void LockRequests::break_lock(const ClientRequest& request) {
  const auto decoded = protocol::decode_break(request.payload);
  GCOORD_ASSERT(decoded.ok());  // check_request() did the same.
  const protocol::LockBreak& wanted = decoded.value();
  const std::string proven =
      security::author_text(env_.replies.principal(request.connection), locks::kBreakWhoBytesMax);
  const std::string_view who = proven.empty() ? wanted.who : std::string_view{proven};
  std::string text{wanted.name};
  text.append(who).append(wanted.reason);
  const locks::LockCommand command =
      locks::make_break_lock({.token = FencingToken{request.slot.token},
                              .all = wanted.all,
                              .proven = !proven.empty() && env_.proves_authors(),
                              .name_bytes = static_cast<std::uint16_t>(wanted.name.size()),
                              .who_bytes = static_cast<std::uint8_t>(who.size()),
                              .text = text});
  if (!env_.log.takes(command)) {
    return env_.replies.refuse(request, ErrorCode::BreakUnsupported);
  }
  env_.submitter.submit(request, env_.locator.shard_for(request.slot, command.name_hash), command);
}

void LockRequests::move(const ClientRequest& request) {
  if (!env_.log.abilities().moves) {
    return env_.replies.refuse(request, ErrorCode::MoveUnsupported);
  }
  const auto move = protocol::decode_move(request.payload);
  GCOORD_ASSERT(move.ok());  // check_request() did the same.
  const ShardId shard = env_.locator.shard_for(request.slot, hash_name(move.value().name));
  if (!env_.leaders.leads(shard)) {
    return env_.replies.redirect(request, env_.leaders.leader(shard));
  }
  if (!env_.space.takes_more()) {
    return env_.replies.refuse(request, ErrorCode::DiskLow);
  }
  env_.moves.on_request(
      request.connection, request.slot, shard, move.value().to, move.value().name);
}

}  // namespace gcoord::server
