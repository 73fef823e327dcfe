// Breaks of locks by force, what sessions lost by them, and the ends of delays.
#include "common/name_hash.h"
#include "rpc/force_messages.h"
#include "server/lock_service.h"

#include <algorithm>

namespace gcoord::server {

using rpc::ErrorCode;

namespace {

// Proposals of 26 bytes a tick; see kExpiriesPerPassMax (session_expiry.h).
constexpr std::size_t kDelaysPerTickMax = 1024;

}  // namespace

// The log entry says who broke the lock and why; that is how the ledger comes to know.
void LockService::on_break(ConnectionId connection,
                           const rpc::RequestSlot& request,
                           std::span<const std::byte> payload) {
  const auto decoded = rpc::decode_break(payload);
  GCOORD_ASSERT(decoded.ok());  // check_request() did the same.
  const rpc::LockBreak& wanted = decoded.value();
  std::string text{wanted.name};
  text.append(wanted.who).append(wanted.reason);
  const locks::LockCommand command =
      locks::make_break_lock({.token = FencingToken{request.token},
                              .all = wanted.all,
                              .name_bytes = static_cast<std::uint16_t>(wanted.name.size()),
                              .who_bytes = static_cast<std::uint8_t>(wanted.who.size()),
                              .text = text});
  if (!engine_->takes(command)) {
    return send_error(connection, request, ErrorCode::BreakUnsupported);
  }
  submit(connection, request, place_of(request, command.name_hash), command);
}

// Of what this node has applied, leader or not: what was lost stays lost.
void LockService::on_losses(ConnectionId connection, const rpc::RequestSlot& request) {
  std::vector<rpc::LossEntry> losses;
  for (locks::LostLock& lost : locks_.losses(SessionId{request.session})) {
    if (losses.size() < rpc::kLossesMax) {
      losses.push_back({lost.token, lost.broken_at, lost.shard, std::move(lost.name)});
    }
  }
  send(connection, rpc::reply_to(request), rpc::encode_losses(losses));
}

void LockService::end_due_delays() {
  if (now_ < locks_.delays().next_deadline()) {
    return;
  }
  delays_.resize(kDelaysPerTickMax);
  delays_.resize(locks_.delays().due(now_, delays_));
  for (const locks::DelayedLock& due : delays_) {
    if (!leads(due.shard) || !engine_->view(due.shard).lease) {
      locks_.delays().on_refused(due.shard, due.token, now_ + 1);
      continue;
    }
    Pending pending;
    pending.kind = PendingKind::Delay;
    pending.request.shard = due.shard.value;
    pending.request.token = due.token.value;
    propose(due.shard, locks::make_end_delay(due.name_hash, due.token), pending);
  }
}

}  // namespace gcoord::server
