#include "client/dispatch/withdrawals.h"

#include "protocol/lock_messages.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace gcoord::client {

Withdrawals::Withdrawals(const ClientOptions& options,
                         NodeSet& nodes,
                         LockPlaces& places,
                         Submit submit)
    : options_(options), nodes_(nodes), places_(places), submit_(std::move(submit)) {}

void Withdrawals::take_back(const Operation& acquire) {
  auto cancel = std::make_unique<Operation>();
  cancel->slot.kind = protocol::RequestKind::LockCancel;
  cancel->slot.shard = acquire.slot.shard;
  if (acquire.slot.has(protocol::RequestFlag::Moved)) {
    cancel->slot.set(protocol::RequestFlag::Moved);
  }
  cancel->name_hash = acquire.name_hash;
  cancel->slot.session = acquire.slot.session;
  cancel->slot.sequence = acquire.slot.sequence;
  cancel->payload = acquire.name();
  cancel->session = acquire.session;
  // After the TTL without an answer the session is over anyway, and the lock with it.
  cancel->deadline = options_.clock->now() + std::chrono::milliseconds{acquire.session->ttl_ms};
  const auto session = acquire.session;
  const std::string name = cancel->payload;
  // What the callback needs of the operation that it is of.
  Operation like;
  like.slot = cancel->slot;
  like.session = session;
  like.name_hash = cancel->name_hash;
  like.deadline = cancel->deadline;
  like.takes_back = acquire.may_leave_place();
  cancel->callback = [this, like = std::move(like), name](const Answer& answer) {
    on_cancelled(like, name, answer);
  };
  submit_(std::move(cancel));
}

void Withdrawals::on_cancelled(const Operation& cancel,
                               const std::string& name,
                               const Answer& answer) {
  const auto code = static_cast<protocol::ErrorCode>(answer.status.detail());
  if (code == protocol::ErrorCode::AcquireGranted) {
    if (!answer.slot.has(protocol::ReplyFlag::AlreadyHeld)) {
      release_late(cancel, name, answer.slot.token);
    }  // Else the lock was the session's before and stays so.
    return;
  }
  const bool moved = code == protocol::ErrorCode::LockMoved;
  if (moved && answer.slot.extra < nodes_.cluster()->shard_count) {
    places_.learn(cancel.name_hash, ShardId{static_cast<std::uint32_t>(answer.slot.extra)});
  }
  // That nothing waited there under this number does not say that nothing waits, or will: the place
  // of a wait that moved comes under another number, and perhaps after the cancel.
  const bool answered = answer.slot.kind == protocol::RequestKind::LockCancel;
  const bool lives =
      code != protocol::ErrorCode::SessionExpired && code != protocol::ErrorCode::SessionClosed;
  if (answered && lives && (moved || cancel.takes_back)) {
    take_back_moved(cancel, name);
  }
}

void Withdrawals::release_late(const Operation& cancel,
                               const std::string& name,
                               std::uint64_t token) {
  if (!cancel.session->offices.leave_unless_led(name, token)) {
    return;
  }
  // A later acquire may have been told of this hold: its Lock is not valid from now on.
  cancel.session->held.end(name, token);
  auto release = std::make_unique<Operation>();
  release->slot.kind = protocol::RequestKind::LockRelease;
  release->slot.shard = places_.home(cancel.name_hash).value;
  release->slot.session = cancel.slot.session;
  release->slot.token = token;
  release->name_hash = cancel.name_hash;
  release->payload = name;
  release->session = cancel.session;
  // The first of several holds is none that is held again.
  release->counted = cancel.session->counts_holds.load(std::memory_order_relaxed);
  release->deadline = cancel.deadline;
  submit_(std::move(release));
}

// The wait went with its lock. Whoever asks for the lock there has the wait's place, and gives it
// up when its own time is over, which is at once.
void Withdrawals::take_back_moved(const Operation& given_up, const std::string& name) {
  const TimePoint now = options_.clock->now();
  auto acquire = std::make_unique<Operation>();
  acquire->slot.kind = protocol::RequestKind::LockAcquire;
  acquire->slot.shard = places_.home(given_up.name_hash).value;
  acquire->slot.session = given_up.slot.session;
  acquire->slot.ttl_ms = given_up.session->ttl_ms;
  acquire->slot.set(protocol::RequestFlag::Wait);
  acquire->name_hash = given_up.name_hash;
  acquire->payload = name;
  acquire->session = given_up.session;
  acquire->takes_back = true;
  acquire->wait_until = now;
  acquire->deadline = now + std::chrono::milliseconds{given_up.session->ttl_ms};
  Operation like;
  like.slot = acquire->slot;
  like.session = acquire->session;
  like.name_hash = acquire->name_hash;
  like.deadline = acquire->deadline;
  acquire->callback = [this, like = std::move(like), name](const Answer& answer) {
    if (answer.status.ok() && !answer.slot.has(protocol::ReplyFlag::AlreadyHeld)) {
      release_late(like, name, answer.slot.token);
    }
  };
  submit_(std::move(acquire));
}

}  // namespace gcoord::client
