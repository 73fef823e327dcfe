#include "client/credentials/connection_login.h"

#include "client/net/failure.h"
#include "common/random.h"
#include "common/wipe.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gcoord::client {
namespace {

// A renewal that could not be, or was refused for now, is tried again after this; and a node that
// believes a login for a moment only is not shown it all the time.
constexpr TimePoint kRenewalPause = std::chrono::milliseconds{500};
constexpr TimePoint kThrottledPause = std::chrono::seconds{5};

// Apart from the numbers of all other requests of a connection.
constexpr std::uint64_t kRequestIds = std::uint64_t{1} << 62;

// A node that answers none of these is not waited for in older ones.
constexpr std::size_t kPendingMax = 4;

}  // namespace

bool is_login(const protocol::ReplySlot& slot) {
  return slot.kind == protocol::RequestKind::Authenticate;
}

// From 55 to 75 hundredths of the time: nodes renew tokens from half their time on.
TimePoint ConnectionLogin::renewal_after(TimePoint life, const Login::Shown& shown) const {
  const std::uint64_t draw = mix64(seed_ + shown.turn) % 20;
  return std::max(kRenewalPause, life * static_cast<int>(55 + draw) / 100);
}

void ConnectionLogin::show(Connection& connection, Login::Proof proof) {
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::Authenticate;
  slot.request_id = kRequestIds | shown_count_++;
  connection.send(slot, proof.payload);
  gcoord::wipe(proof.payload);
  if (pending_.size() == kPendingMax) {
    pending_.erase(pending_.begin());
  }
  pending_.push_back({slot.request_id, proof.shown});
}

bool ConnectionLogin::awaits_password() const {
  return std::ranges::any_of(pending_,
                             [](const Pending& each) { return each.shown.by_password(); });
}

Login::Outcome ConnectionLogin::take(const Answer& answer, Login& login) {
  const auto pending = std::ranges::find(pending_, answer.slot.request_id, &Pending::request_id);
  if (pending == pending_.end()) {
    return {.status = numbered(protocol::ErrorCode::ReplyMalformed, "answers what was not shown")};
  }
  const Login::Shown shown = pending->shown;
  pending_.erase(pending);
  const Login::Outcome outcome = login.take({answer.slot, answer.payload, answer.now, shown});
  renew_at_ = outcome.status.ok() && outcome.life != TimePoint{}
                  ? answer.now + renewal_after(outcome.life, shown)
                  : kTimeNever;
  return outcome;
}

void ConnectionLogin::take_renewal(const Answer& answer, Login& login) {
  const Login::Outcome outcome = take(answer, login);
  const auto code = static_cast<protocol::ErrorCode>(outcome.status.detail());
  if (outcome.again) {
    renew_at_ = answer.now;
  } else if (code == protocol::ErrorCode::AuthenticationThrottled) {
    renew_at_ = answer.now + kThrottledPause;  // Others of this address may have erred.
  } else if (!outcome.status.ok() && protocol::is_passing(code)) {
    renew_at_ = answer.now + kRenewalPause;
  }
}

std::optional<Login::Proof> ConnectionLogin::renewal(const Connection& connection,
                                                     const Login& login,
                                                     TimePoint now) {
  renew_at_ = now + kRenewalPause;
  auto proof = login.next(connection.privacy());
  return proof.ok() ? std::optional(std::move(proof).value()) : std::nullopt;
}

void ConnectionLogin::renew(Connection& connection, Login::Proof proof, TimePoint until) {
  show(connection, std::move(proof));
  renew_at_ = until;
  connection.flush();
}

}  // namespace gcoord::client
